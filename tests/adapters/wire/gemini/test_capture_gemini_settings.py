"""What a request to Gemini puts in force, what of it is secret, and where it goes."""

import json

import pytest

from onrecord.adapters.wire.gemini.wire import WIRE, read_request
from onrecord.adapters.wire.requests import WireRequest, instructions_set, tools_declared
from onrecord.adapters.wire.secrets import PLACEHOLDER, cut
from onrecord.adapters.wire.wires import endpoint_of
from onrecord.domain.content import Native
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from tests.gemini_wire import PATH, JsonObject, request, result, text, user

HELLO = user(text("Hello"))


def sent(**more: object) -> WireRequest:
    return read_request(json.dumps({**request(HELLO), **more}).encode(), PATH)


def instructed(name: str, system: JsonObject) -> WireRequest:
    return read_request(json.dumps({**request(HELLO), name: system}).encode(), PATH)


class TestInForce:
    @pytest.mark.parametrize("name", ["systemInstruction", "system_instruction"])
    @pytest.mark.parametrize("role", [{}, {"role": "user"}, {"role": "system"}])
    def test_instructions_of_one_text_are_that_text(self, name: str, role: JsonObject) -> None:
        asked = instructed(name, {"parts": [text("Be brief.")], **role})
        assert instructions_set(asked)[0] == (InstructionsSet(content="Be brief."),)

    @pytest.mark.parametrize(
        "system",
        [
            {"parts": [text("a"), text("b")]},
            {"parts": [text("a", partMetadata={})]},
            {"parts": [text("a")], "seal": 1},
            {"parts": []},
        ],
    )
    def test_all_others_stay_as_they_are(self, system: JsonObject) -> None:
        asked = sent(systemInstruction=system)
        (event,), _ = instructions_set(asked)
        value = {"systemInstruction": system}
        assert event == InstructionsSet(content=Native(api="gemini", value=value))

    def test_no_instructions_are_empty_ones(self) -> None:
        assert instructions_set(sent())[0] == (InstructionsSet(content=""),)

    def test_each_function_and_each_tool_of_the_service_is_a_tool(self) -> None:
        first: JsonObject = {"name": "a"}
        second: JsonObject = {"name": "b", "parameters": {"type": "OBJECT"}}
        declared: list[JsonObject] = [
            {"functionDeclarations": [first, second], "googleSearch": {}},
            {"codeExecution": {}},
            {"function_declarations": [first]},
        ]
        asked = sent(tools=declared)
        (event,), _ = tools_declared(asked)
        assert isinstance(event, ToolsDeclared)
        assert [tool.value for tool in event.tools if isinstance(tool, Native)] == [
            {"functionDeclarations": [first]},
            {"functionDeclarations": [second]},
            {"googleSearch": {}},
            {"codeExecution": {}},
            {"functionDeclarations": [first]},
        ]


class TestSecrets:
    def test_what_was_said_is_no_secret_and_keys_beside_it_are(self) -> None:
        asked = request(
            user(text("key=abc123"), result(response={"apiKey": "said"})),
            continuationToken="Abc",
            tools=[
                {"googleMaps": {"authConfig": {"apiKeyConfig": {"apiKeyString": "hidden"}}}},
                {
                    "functionDeclarations": [
                        {"name": "a", "parameters": {"apiKey": {"type": "STRING"}}}
                    ]
                },
                {"mcpServers": [{"streamableHttpTransport": {"headers": {"X-Team": "t"}}}]},
            ],
        )
        clean, places = cut(asked, WIRE, lambda secret: b"1")
        assert (clean["contents"], clean["continuationToken"]) == (asked["contents"], "Abc")
        assert clean["tools"][1] == asked["tools"][1]
        assert set(places) == {
            "/tools/0/googleMaps/authConfig/apiKeyConfig/apiKeyString",
            "/tools/2/mcpServers/0/streamableHttpTransport/headers/X-Team",
        }
        assert PLACEHOLDER in json.dumps(clean)


class TestEndpoints:
    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            ("/v1beta/models/a:generateContent", "turn"),
            ("/v1beta/models/a:streamGenerateContent", "turn"),
            ("/v1beta/tunedModels/a:generateContent", "turn"),
            ("/v1/projects/p/locations/l/endpoints/7:streamGenerateContent", "turn"),
            ("/v1/projects/p/locations/l/publishers/google/models/a:generateContent", "turn"),
            ("/v1beta/models/a:batchGenerateContent", "batch"),
        ],
    )
    def test_what_generates_content_is_a_turn(self, path: str, kind: str) -> None:
        assert endpoint_of("POST", path)[:2] == ("gemini", kind)

    @pytest.mark.parametrize(
        "path",
        [
            *("/v1beta/models/a:countTokens", "/v1beta/models/a:embedContent"),
            *("/v1beta/models/a:batchEmbedContents", "/v1beta/interactions"),
        ],
    )
    def test_what_does_not_is_none(self, path: str) -> None:
        assert endpoint_of("POST", path).kind == "none"
