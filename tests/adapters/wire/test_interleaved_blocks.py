"""Blocks of an answer in an order that is easily lost: each goes back where it came."""

import json

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.projections.api import FOLDERS
from tests.adapters.wire.anthropic.anthropic_streams import answered
from tests.anthropic_wire import JsonObject, message, stream_events
from tests.sent import events_of

SEARCH: JsonObject = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "depots"},
}
FOUND_NOTHING: JsonObject = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [],
}
CALL: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "North"}}


def said(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def told(*blocks: JsonObject, stop: str) -> onrecord.Conversation:
    """A conversation with an answer of these blocks, as its stream was read."""
    chat = onrecord.connect("memory://").conversation("support/4711")
    chat.user("Is it open?")
    answer = answered(*stream_events(message(*blocks, stop_reason=stop)))
    assert [block.value for block in answer.blocks] == list(blocks)
    chat.log.append(*events_of(answer, response=uuid7())[0])
    return chat


def test_a_call_amid_a_providers_call_and_its_result_keeps_its_place() -> None:
    blocks = (said("First"), SEARCH, said("and"), CALL, said("then"), FOUND_NOTHING, said("so."))
    chat = told(*blocks, stop="tool_use")
    (call,) = chat.open_calls()
    assert call.id == "toolu_1"
    chat.tool_result("toolu_1", "open")
    _, answer, results = chat.request("anthropic-messages")["messages"]
    assert answer["content"] == list(blocks)
    assert [block["tool_use_id"] for block in results["content"]] == ["toolu_1"]


def test_what_a_providers_tool_gave_goes_back_though_it_is_empty() -> None:
    blocks = (SEARCH, FOUND_NOTHING, said("Nobody knows."))
    chat = told(*blocks, stop="end_turn")
    chat.user("Really?")
    assert chat.request("anthropic-messages")["messages"][1]["content"] == list(blocks)


@pytest.mark.parametrize("api", [api for api in FOLDERS if api != "anthropic-messages"])
def test_other_apis_are_told_in_words_of_what_is_not_theirs(api: str) -> None:
    chat = told(SEARCH, CALL, FOUND_NOTHING, said("Wait."), stop="tool_use")
    chat.tool_result("toolu_1", "open")
    sent = json.dumps(dict(chat.request(api)))
    assert sent.index("[web_search was used.]") < sent.index("Wait.")
    assert sent.count('"name": "look"') >= 1
    assert "srvtoolu_1" not in sent
