"""An A2A agent as a tool, from its card as the SDK or the wire has it."""

import json
from typing import Any

import pytest
from a2a.compat.v0_3 import types as old
from a2a.types import AgentCard
from google.protobuf import json_format  # type: ignore[import-untyped]  # it has no stubs

import onrecord
from onrecord.adapters.tools.a2a import parse_a2a_name
from onrecord.domain.errors import InvalidContent
from onrecord.projections.history.tool_names import OPENAI, name_for

CARD: dict[str, Any] = {
    "name": "Travel agent",
    "description": "Books Züge and nothing else.",
    "supportedInterfaces": [
        {
            "url": "https://travel.example/a2a",
            "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0",
        }
    ],
    "version": "1.4.2",
    "capabilities": {"streaming": True},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [
        {"id": "book", "name": "Book", "description": "Books a train.", "tags": ["trains"]},
    ],
}
CARD_03: dict[str, Any] = {
    "name": "Travel agent",
    "description": "Books trains.",
    "url": "https://travel.example/a2a",
    "version": "0.9",
    "protocolVersion": "0.3.0",
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [],
}


class TestTheTool:
    def test_is_described_by_the_card_itself(self) -> None:
        (tool,) = onrecord.agent_card(CARD, element="Travel_Agent").tools
        assert tool.description is not None
        about, card = tool.description.split("\n", 1)
        assert about == (
            "This tool allows interaction with the remote A2A agent represented by the following "
            "agent card:"
        )
        assert json.loads(card) == CARD
        assert "Züge" in card

    def test_takes_a_text_and_perhaps_what_it_belongs_to(self) -> None:
        (tool,) = onrecord.agent_card(CARD).tools
        schema = tool.input_schema
        assert schema["type"] == "object"
        assert list(schema["properties"]) == ["text", "taskId", "contextId", "referenceTaskIds"]
        assert schema["required"] == ["text"]
        assert schema["properties"]["referenceTaskIds"]["items"] == {"type": "string"}

    def test_is_named_by_its_element(self) -> None:
        (tool,) = onrecord.agent_card(CARD, element="Travel_Agent").tools
        assert tool.name == "A2A_Travel_Agent"

    @pytest.mark.parametrize(
        ("name", "spelled"),
        [
            ("Travel agent", "A2A_Travel_agent"),
            ("Reisebüro (Köln)", "A2A_Reiseb_ro_K_ln"),
            ("旅行", "A2A_agent"),
        ],
    )
    def test_is_named_by_the_agent_where_no_element_is_given(self, name: str, spelled: str) -> None:
        (tool,) = onrecord.agent_card({**CARD, "name": name}).tools
        assert tool.name == spelled
        assert name_for(spelled, OPENAI) == spelled

    @pytest.mark.parametrize("element", ["", "  "])
    def test_has_no_blank_name(self, element: str) -> None:
        with pytest.raises(InvalidContent, match="give `element=` one"):
            onrecord.agent_card(CARD, element=element)


class TestItsName:
    def test_gives_back_the_element(self) -> None:
        assert parse_a2a_name("A2A_Travel_Agent") == "Travel_Agent"

    @pytest.mark.parametrize("name", ["A2A_", "A2A", "", "MCP_x___y", "a2a_x", " A2A_x"])
    def test_must_be_longer_than_its_prefix(self, name: str) -> None:
        with pytest.raises(InvalidContent) as refused:
            parse_a2a_name(name)
        assert str(refused.value) == f"Invalid A2A tool call name: '{name}'"


class TestACard:
    def test_of_the_sdk_is_told_as_its_json(self) -> None:
        typed = json_format.ParseDict(CARD, AgentCard())
        assert onrecord.agent_card(typed) == onrecord.agent_card(CARD)

    def test_of_protocol_0_3_is_one_too(self) -> None:
        typed = old.AgentCard.model_validate(CARD_03)
        (tool,) = onrecord.agent_card(typed).tools
        assert tool.description is not None
        assert json.loads(tool.description.split("\n", 1)[1])["url"] == CARD_03["url"]
        assert onrecord.agent_card(CARD_03).source.version == "0.9"

    @pytest.mark.parametrize("card", [None, "a card", [CARD], 7])
    def test_is_an_object(self, card: object) -> None:
        with pytest.raises(InvalidContent, match="an agent's card is an AgentCard or its JSON"):
            onrecord.agent_card(card)

    @pytest.mark.parametrize("name", [None, "", " ", 7])
    def test_has_a_name(self, name: object) -> None:
        with pytest.raises(InvalidContent, match="has a `name`"):
            onrecord.agent_card({**CARD, "name": name})


class TestItsSource:
    def test_names_the_agent_and_its_version(self) -> None:
        source = onrecord.agent_card(CARD, element="Travel_Agent").source
        assert (source.origin, source.name, source.version) == ("a2a", "Travel agent", "1.4.2")
        assert source.tools == ("A2A_Travel_Agent",)

    def test_has_a_digest_of_the_card_whatever_the_order_of_its_members(self) -> None:
        turned = dict(reversed(CARD.items()))
        assert onrecord.agent_card(turned).source.sha256 == onrecord.agent_card(CARD).source.sha256
        later = {**CARD, "version": "1.4.3"}
        assert onrecord.agent_card(later).source.sha256 != onrecord.agent_card(CARD).source.sha256
