"""Which event each block of an answer becomes, and what closes it."""

import hashlib
import json
from uuid import UUID

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.anthropic.stream import MessageStream, closed, read_body
from onrecord.adapters.wire.api import attempt_failed
from onrecord.adapters.wire.blocks import AnswerBlock, Recording
from onrecord.domain.content import Blob, Native
from onrecord.domain.encoding import encode
from onrecord.domain.events import (
    CompactionRecorded,
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ResponseCompleted,
    ResponseInterrupted,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
    Unfinished,
)
from onrecord.domain.new_events import blobs_of
from tests.anthropic_wire import JsonObject, call, message, spelled, text
from tests.sent import events_of

API = "anthropic-messages"
RESPONSE, REQUEST, LINE = UUID(int=1), UUID(int=2), UUID(int=3)


def recorded(said: JsonObject, raw: bytes | None = None) -> Recording:
    answer = read_body(json.dumps(said).encode())
    return events_of(answer, response=RESPONSE, request=REQUEST, request_id="req_1", raw=raw)


def event_of(block: JsonObject) -> Event:
    return recorded(message(block))[0][0]


def native(block: JsonObject) -> Native:
    return Native(api=API, value=block)


def test_a_text_is_a_message_of_the_assistant() -> None:
    assert event_of(text()) == MessageRecorded(
        role="assistant", content=(native(text()),), response=RESPONSE, index=0
    )


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
    ],
)
def test_thinking_shown_or_not_is_reasoning(block: JsonObject) -> None:
    assert event_of(block) == ReasoningRecorded(response=RESPONSE, index=0, content=native(block))


@pytest.mark.parametrize(
    ("kind", "name", "shared"),
    [
        ("server_tool_use", "web_search", "web_search"),
        ("server_tool_use", "web_fetch", "web_fetch"),
        ("server_tool_use", "code_execution", "code_execution"),
        ("server_tool_use", "bash_code_execution", "code_execution"),
        ("server_tool_use", "text_editor_code_execution", "code_execution"),
        ("server_tool_use", "tool_search_tool_regex", "tool_search"),
        ("server_tool_use", "tool_search_tool_bm25", "tool_search"),
        ("server_tool_use", "advisor", "advisor"),
        ("server_tool_use", "of_next_year", "of_next_year"),
        ("mcp_tool_use", "look", "mcp"),
    ],
)
def test_a_call_of_the_providers_own_tool_has_the_name_that_all_apis_share(
    kind: str, name: str, shared: str
) -> None:
    block: JsonObject = {"type": kind, "id": "srv_1", "name": name, "input": {}}
    assert event_of(block) == ServerToolCallRecorded(
        response=RESPONSE, index=0, call_id="srv_1", name=shared, content=native(block)
    )


@pytest.mark.parametrize(
    "kind",
    [
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "mcp_tool_result",
        "advisor_tool_result",
        "tool_of_next_year_tool_result",
    ],
)
def test_what_the_providers_tool_gave_is_a_server_tool_result(kind: str) -> None:
    block: JsonObject = {"type": kind, "tool_use_id": "srv_1", "content": []}
    assert event_of(block) == ServerToolResultRecorded(
        response=RESPONSE, index=0, call_id="srv_1", content=native(block)
    )


def test_a_compaction_is_one() -> None:
    block = {"type": "compaction", "content": None}
    assert event_of(block) == CompactionRecorded(response=RESPONSE, index=0, content=native(block))


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"type": "fallback", "from": {}, "to": {}}, "fallback"),
        ({"type": "mcp_tool_listing", "tools": []}, "mcp_tool_listing"),
        ({"type": "container_upload", "file_id": "f"}, "container_upload"),
        ({"type": "hologram"}, "hologram"),
        ({"type": "tool_use", "id": 7, "name": "look"}, "tool_use"),
        ({"type": "tool_use", "id": "", "name": "look"}, "tool_use"),
        ({"type": "tool_use", "id": None, "name": "look"}, "tool_use"),
        ({"type": "server_tool_use", "id": "srv_1"}, "server_tool_use"),
        ({"type": "server_tool_use", "id": "", "name": "search"}, "server_tool_use"),
        ({"type": "web_search_tool_result", "tool_use_id": ""}, "web_search_tool_result"),
        ({"type": "web_search_tool_result"}, "web_search_tool_result"),
        ({"type": "tool_result", "tool_use_id": "t"}, "tool_result"),
        ({"type": None}, ""),
        ({}, ""),
    ],
)
def test_what_is_not_known_or_lacks_what_its_event_needs_is_opaque(
    block: JsonObject, kind: str
) -> None:
    assert event_of(block) == OpaqueRecorded(
        response=RESPONSE, index=0, type=kind, content=native(block)
    )


def test_blocks_stand_in_wire_order_and_the_closing_event_is_the_last() -> None:
    first, second, closing = recorded(message(text("a"), text("b")))[0]
    assert (first, second) == tuple(
        MessageRecorded(role="assistant", content=(native(text(t)),), response=RESPONSE, index=i)
        for i, t in enumerate("ab")
    )
    assert isinstance(closing, ResponseCompleted)


def awaited(said: JsonObject) -> list[bool]:
    return [event.awaited for event in recorded(said)[0] if isinstance(event, ToolCallRecorded)]


def test_results_are_awaited_of_calls_that_the_answer_stopped_for() -> None:
    said = message(call(1, a=1), call(2), stop_reason="tool_use")
    assert recorded(said)[0][0] == ToolCallRecorded(
        response=RESPONSE, index=0, call_id="toolu_1", name="look", content=native(call(1, a=1))
    )
    assert awaited(said) == [True, True]


def test_no_result_is_awaited_of_a_call_whose_model_declined_to_go_on() -> None:
    seam = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": None}
    said = message(call(1), seam, call(2), stop_reason="tool_use")
    assert awaited(said) == [False, True]


def test_a_call_beside_a_server_tool_in_flight_is_awaited() -> None:
    server: JsonObject = {
        "type": "server_tool_use",
        "id": "srv_1",
        "name": "web_search",
        "input": {},
    }
    assert awaited(message(server, call(), stop_reason="tool_use")) == [True]


@pytest.mark.parametrize(
    "stop_reason", ["pause_turn", "max_tokens", "refusal", "end_turn", "compaction"]
)
def test_no_result_is_awaited_where_the_answer_stopped_for_another_reason(stop_reason: str) -> None:
    assert awaited(message(call(), stop_reason=stop_reason)) == [False]


def test_no_result_is_awaited_of_a_call_in_a_stream_that_was_cut() -> None:
    stream = MessageStream()
    stream.feed(spelled(message(call(1, a=1), stop_reason="tool_use"))[:-30])
    events, _ = events_of(stream.finish(), response=RESPONSE)
    assert [event.awaited for event in events if isinstance(event, ToolCallRecorded)] == [False]
    assert isinstance(events[-1], ResponseInterrupted)


def test_a_complete_answer_is_closed_with_its_envelope() -> None:
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 50,
        "cache_read_input_tokens": 700,
        "output_tokens": 9,
    }
    said = message(stop_reason="refusal", usage=usage, stop_details={"type": "refusal"})
    envelope = {key: value for key, value in said.items() if key != "content"}
    assert recorded(said)[0] == (
        ResponseCompleted(
            response=RESPONSE,
            request=REQUEST,
            api=API,
            provider_id="msg_01Test",
            model="claude-sonnet-5",
            stop_reason="refusal",
            envelope=envelope,
            input_tokens=753,
            output_tokens=9,
            request_id="req_1",
        ),
    )


def test_a_call_that_the_limit_broke_off_belongs_to_the_end_of_its_answer() -> None:
    """Its input is not known, so it is no call: nobody may run it, and no result is awaited."""
    broken = Unfinished(index=1, value=call(), partial='{"a": ')
    answer = Answer(
        api=API,
        blocks=(AnswerBlock(0, text("Calling.")),),
        envelope={"stop_reason": "max_tokens"},
        unfinished=(broken,),
    )
    (said, closing), _ = events_of(closed(answer), response=RESPONSE, request=REQUEST)
    assert isinstance(said, MessageRecorded)
    assert isinstance(closing, ResponseCompleted)
    assert (closing.stop_reason, closing.unfinished) == ("max_tokens", (broken,))


def test_an_answer_that_was_cut_is_closed_with_what_is_known() -> None:
    stream = MessageStream()
    stream.feed(spelled(message(text("Hello, world."))).partition(b"content_block_stop")[0])
    answer = stream.finish("abandoned", "the caller left")
    (closing,), _ = events_of(answer, response=RESPONSE, request=REQUEST, line=LINE)
    assert isinstance(closing, ResponseInterrupted)
    assert (closing.reason, closing.detail) == ("abandoned", "the caller left")
    assert closing.unfinished == (Unfinished(index=0, value=text(""), partial="Hello, world."),)
    assert (closing.provider_id, closing.input_tokens, closing.line) == ("msg_01Test", 11, LINE)


@pytest.mark.parametrize(
    "usage",
    [
        *(None, [], {}, {"input_tokens": None, "output_tokens": True}),
        {"input_tokens": 10**30, "output_tokens": -1},
        {"input_tokens": 1, "cache_read_input_tokens": 2**53, "output_tokens": 1.5},
    ],
)
def test_counts_that_are_none_are_unknown(usage: object) -> None:
    closing = recorded(message(usage=usage))[0][-1]
    assert isinstance(closing, ResponseCompleted)
    assert (closing.input_tokens, closing.output_tokens) == (None, None)


@pytest.mark.parametrize(("told", "count"), [(12.0, 12), ("12", 12), ("1.5", None), ("", None)])
def test_counts_that_are_spelled_as_fractions_or_texts_are_counts(
    told: object, count: int | None
) -> None:
    closing = recorded(message(usage={"input_tokens": told, "output_tokens": told}))[0][-1]
    assert isinstance(closing, ResponseCompleted)
    assert (closing.input_tokens, closing.output_tokens) == (count, count)


def test_no_tokens_at_all_are_a_count() -> None:
    usage = {"input_tokens": 0, "cache_read_input_tokens": None, "output_tokens": 0}
    closing = recorded(message(usage=usage))[0][-1]
    assert isinstance(closing, ResponseCompleted)
    assert (closing.input_tokens, closing.output_tokens) == (0, 0)
    assert encode(closing) != encode(closing.model_copy(update={"output_tokens": None}))


def test_counts_that_make_too_much_together_are_the_most_that_can_be_counted() -> None:
    most = 2**53 - 1
    usage = {"input_tokens": most, "cache_read_input_tokens": most, "output_tokens": most}
    closing = recorded(message(usage=usage))[0][-1]
    assert isinstance(closing, ResponseCompleted)
    assert (closing.input_tokens, closing.output_tokens) == (most, most)


def test_the_raw_bytes_that_the_caller_gives_are_kept_with_the_closing_event() -> None:
    events, spilled = recorded(message(), raw=b"raw")
    digest = hashlib.sha256(b"raw").hexdigest()
    assert spilled == {digest: b"raw"}
    assert blobs_of(events[-1]) == (Blob(sha256=digest, size=3),)


def test_an_http_error_is_kept_as_it_came() -> None:
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    failed = attempt_failed(529, body, request=REQUEST)
    assert (failed.status, failed.reason) == (529, "overloaded_error")
    assert json.dumps(failed.error, separators=(",", ":")).encode() == body


def test_an_error_page_is_kept_as_text_its_beginning_only() -> None:
    failed = attempt_failed(502, b"<html>\xff" + b"x" * 100_000, request=REQUEST)
    assert isinstance(failed.error, str)
    assert failed.error.startswith("<html>\N{REPLACEMENT CHARACTER}x")
    assert len(failed.error) == 16 * 1024
    assert failed.reason is None
