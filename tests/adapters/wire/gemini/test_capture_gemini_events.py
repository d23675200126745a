"""The events that record an answer of Gemini's: their kinds, their order, the ids of calls."""

from typing import Any

import pytest

from onrecord.adapters.wire.blocks import UnnamedCalls
from onrecord.domain.content import Native
from onrecord.domain.events import (
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
)
from onrecord.projections.apis.gemini.server_tools import called
from tests.adapters.wire.gemini.gemini_streams import blocks, body, events
from tests.gemini_wire import JsonObject, call, said, signed, text, thought

CODE: JsonObject = {"executableCode": {"language": "PYTHON", "code": "print(6)"}}
RAN: JsonObject = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "6\n"}}
SEARCH: JsonObject = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1", "args": {}}}
FOUND: JsonObject = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1", "response": {}}}
IMAGE: JsonObject = {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}
SEARCHED: JsonObject = {
    "webSearchQueries": ["weather"],
    "groundingChunks": [{"web": {"uri": "https://a", "title": "A"}}],
}
FETCHED: JsonObject = {"urlMetadata": [{"retrievedUrl": "https://a"}]}


def recorded(*parts: JsonObject, stop: str = "STOP", **more: Any) -> list[Any]:
    return events(body(said(*parts, stop=stop, **more)))


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (text("a"), MessageRecorded),
        (text(""), MessageRecorded),
        (signed(text("")), MessageRecorded),
        (IMAGE, MessageRecorded),
        ({"fileData": {"fileUri": "https://a", "mimeType": "image/png"}}, MessageRecorded),
        (thought("Hm."), ReasoningRecorded),
        ({**IMAGE, "thought": True}, ReasoningRecorded),
        (signed(call()), ToolCallRecorded),
        (CODE, ServerToolCallRecorded),
        ({"executable_code": CODE["executableCode"]}, ServerToolCallRecorded),
        (SEARCH, ServerToolCallRecorded),
    ],
)
def test_a_part_is_an_event_of_its_kind(part: JsonObject, kind: type) -> None:
    event, *_ = recorded(part)
    assert type(event) is kind
    content: Any = getattr(event, "content", None)
    held = content[0] if isinstance(event, MessageRecorded) else content
    assert held == Native(api="gemini", value=part)


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({"hologram": {"frames": 1}}, "hologram"),
        (signed({"hologram": {}}), "hologram"),
        ({"thoughtSignature": "a", "hologram": 1}, "hologram"),
        ({"thoughtSignature": "a"}, "thoughtSignature"),
        ({"text": 7}, "text"),
        ({"functionCall": {}}, "functionCall"),
        ({"functionCall": {"name": ""}}, "functionCall"),
        ({"functionResponse": {"name": "a", "response": {}}}, "functionResponse"),
        (RAN, "codeExecutionResult"),
        ({}, ""),
    ],
)
def test_a_part_of_no_known_kind_is_kept_as_it_is(part: JsonObject, named: str) -> None:
    (event,) = recorded(part)
    assert isinstance(event, OpaqueRecorded)
    assert (event.type, event.content.value) == (named, part)


def test_a_call_without_an_id_gets_one_that_tells_equal_calls_apart() -> None:
    told = recorded(call("a", {"x": 1}), call("a", {"x": 1}), call("a", {"x": 2}))
    ids = UnnamedCalls()
    expected = [ids.call("a", {"x": number}) for number in (1, 1, 2)]
    assert [event.call_id for event in told] == expected
    assert {event.name for event in told} == {"a"}
    assert {event.awaited for event in told} == {True}


def test_a_call_keeps_its_own_id() -> None:
    (event,) = recorded(call("a", {}, id="fc_1"))
    assert event.call_id == "fc_1"


@pytest.mark.parametrize(
    "stop",
    [
        *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
        *("MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"),
    ],
)
def test_the_calls_of_a_broken_turn_are_not_awaited(stop: str) -> None:
    (event,) = recorded(call(), stop=stop)
    assert not event.awaited


@pytest.mark.parametrize("stop", ["STOP", "MAX_TOKENS", "CONTINUATION", "SOMETHING_NEW"])
def test_the_calls_of_any_other_turn_are_awaited(stop: str) -> None:
    (event,) = recorded(call(), stop=stop)
    assert event.awaited is True


def test_what_code_gave_belongs_to_the_last_code_that_has_not_given() -> None:
    told = recorded(CODE, CODE, RAN, RAN, text("6"))
    assert [event.call_id for event in told[2:4]] == [told[1].call_id, told[0].call_id]
    assert (told[0].name, told[0].call_id != told[1].call_id) == ("code_execution", True)


def test_a_tool_of_the_service_is_told_by_its_id_and_a_name_that_all_share() -> None:
    asked, given = recorded(SEARCH, FOUND)
    assert (asked.call_id, asked.name, given.call_id) == ("s1", "web_search", "s1")


def test_grounding_is_a_call_with_its_queries_and_a_result_with_all_of_it() -> None:
    told = recorded(text("Sunny."), groundingMetadata=SEARCHED, urlContextMetadata=FETCHED)
    said_first, asked, found, fetching, fetched = told
    assert isinstance(said_first, MessageRecorded)
    assert isinstance(asked, ServerToolCallRecorded)
    assert isinstance(found, ServerToolResultRecorded)
    assert [event.index for event in told] == [0, 1, 2, 3, 4]
    assert (asked.name, fetching.name) == ("web_search", "web_fetch")
    assert asked.content.value == {"groundingMetadata": {"webSearchQueries": ["weather"]}}
    assert found.content.value == {"groundingMetadata": SEARCHED}
    assert fetching.content.value == {"urlContextMetadata": {}}
    assert fetched.content.value == {"urlContextMetadata": FETCHED}
    assert (asked.call_id, fetching.call_id) == (found.call_id, fetched.call_id)
    assert asked.call_id != fetching.call_id


def test_grounding_without_queries_is_of_pages_that_were_read() -> None:
    asked, _ = recorded(groundingMetadata={"groundingChunks": []})
    assert (asked.name, asked.content.value) == ("web_fetch", {"groundingMetadata": {}})


def test_grounding_in_files_is_of_a_search_in_files_though_it_names_no_query() -> None:
    rested = {"groundingChunks": [{"retrievedContext": {"text": "said"}}]}
    asked, found = recorded(groundingMetadata=rested)
    assert (asked.name, found.content.value) == ("file_search", {"groundingMetadata": rested})
    read = called(asked.content.value)
    assert read is not None
    assert (read.name, read.arguments) == ("file_search", {})


def test_a_search_that_found_nothing_is_a_call_alone() -> None:
    (asked,) = recorded(groundingMetadata={"webSearchQueries": ["weather"]})
    assert isinstance(asked, ServerToolCallRecorded)


def test_nulls_order_big_integers_and_signatures_stay_as_they_came() -> None:
    odd = {
        "thoughtSignature": "+//+_-==",
        "functionCall": {"args": {"z": 10**40, "a": None}, "name": "x"},
    }
    assert [list(block) for block in blocks(body(said(odd)))] == [list(odd)]
    assert blocks(body(said(odd))) == [odd]


def test_what_the_model_read_holds_what_its_tools_did_and_what_it_wrote_its_thoughts() -> None:
    usage = {
        "promptTokenCount": 17,
        "toolUsePromptTokenCount": 102,
        "candidatesTokenCount": 241,
        "thoughtsTokenCount": 412,
        "totalTokenCount": 772,
    }
    told = body({**said(text("a")), "usageMetadata": usage})
    assert (told.input_tokens, told.output_tokens) == (119, 653)
    silent = body({**said(text("a")), "usageMetadata": {}})
    assert (silent.input_tokens, silent.output_tokens) == (None, None)
    absurd = body({**said(text("a")), "usageMetadata": {"promptTokenCount": 1.5}})
    assert absurd.input_tokens is None
