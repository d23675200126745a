"""Which blocks of a request are new, for programs that keep their own history."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain import events
from onrecord.domain.content import Native, Text, ToolResult
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Prefix
from onrecord.projections.matching.align import align
from onrecord.projections.matching.recorded_units import RecordedUnit, recorded_units
from onrecord.projections.matching.units import (
    digest_of,
    digests_of,
    messages_of,
    pieces,
    unit_of_piece,
)
from tests.prefixes import prefix_of

API = "anthropic-messages"
RESPONSE = UUID(int=1)
ANSWER: JsonObject = {"type": "text", "text": "It says that all is well.", "citations": None}
CALL: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"id": 1}}


def native(value: JsonObject) -> Native:
    return Native(api=API, value=value)


def answered(*blocks: JsonObject) -> list[Event]:
    said = [
        events.MessageRecorded(
            role="assistant", content=(native(block),), response=RESPONSE, index=index
        )
        for index, block in enumerate(blocks)
    ]
    done = events.ResponseCompleted(response=RESPONSE, api="anthropic-messages", envelope={})
    return [*said, done]


def cut(*blocks: JsonObject) -> list[Event]:
    *said, _ = answered(*blocks)
    closing = events.ResponseInterrupted(response=RESPONSE, api="anthropic-messages", reason="cut")
    return [*said, closing]


def prompted(text: str) -> Event:
    return events.MessageRecorded(role="user", content=(Text(text=text),))


def gave(call_id: str, text: str = "found") -> Event:
    content = ToolResult(call_id=call_id, content=(Text(text=text),))
    return events.ToolResultRecorded(call_id=call_id, content=content)


def result(call_id: str, content: Any = "found") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def user(*content: Any) -> JsonObject:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else [*content]}


def assistant(*content: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": [*content]}


def new(recorded: list[Event], sent: list[JsonObject]) -> list[JsonObject] | None:
    """The messages that are new in a request, after what an earlier request had."""
    asked = pieces(sent)
    found = align([unit_of_piece(API, piece) for piece in asked], line(recorded))
    if found.how not in ("extends", "repeats"):
        return None
    return messages_of([asked[place] for place in found.new], sent)


def line(recorded: list[Event]) -> list[RecordedUnit]:
    return recorded_units(enumerate(recorded, 1))


def test_after_its_answer_only_the_next_prompt_is_new() -> None:
    sent = [assistant(ANSWER), user("More")]
    assert new(answered(ANSWER), sent) == [user("More")]


def test_what_is_recorded_already_is_not_new() -> None:
    recorded = [*answered(CALL), gave("toolu_1"), prompted("More")]
    sent = [assistant(CALL), user(result("toolu_1"), {"type": "text", "text": "More"})]
    assert new(recorded, sent) == []


def test_results_may_come_in_any_order_and_some_may_be_new() -> None:
    recorded = [*answered(CALL), gave("toolu_3"), gave("toolu_1")]
    sent = [assistant(CALL), user(result("toolu_1"), result("toolu_2"), result("toolu_3"))]
    assert new(recorded, sent) == [user(result("toolu_2"))]


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        (answered(ANSWER), [user("More")]),
        (answered(ANSWER), []),
        (answered(ANSWER, CALL), [assistant(ANSWER)]),
        (answered(ANSWER), [assistant({"type": "text", "text": "Something else"})]),
        ([*answered(ANSWER), prompted("More")], [assistant(ANSWER)]),
        ([*answered(ANSWER), prompted("More")], [assistant(ANSWER), user("Else")]),
        ([*answered(CALL), gave("toolu_1")], [assistant(CALL), user("Never mind")]),
        ([*answered(CALL), gave("toolu_1")], [assistant(CALL), user(result("toolu_1", "x"))]),
    ],
    ids=[
        "answer left out",
        "regenerated",
        "answer cut short",
        "answer rewritten",
        "prompt left out",
        "prompt rewritten",
        "result left out",
        "result rewritten",
    ],
)
def test_a_request_that_says_otherwise_does_not_go_on(
    recorded: list[Event], sent: list[JsonObject]
) -> None:
    assert new(recorded, sent) is None


def test_an_answer_that_did_not_come_whole_may_be_left_out() -> None:
    assert new(cut(ANSWER), [user("Again")]) == [user("Again")]
    assert new(cut(ANSWER), [assistant(ANSWER), user("Again")]) == [user("Again")]


THOUGHT: JsonObject = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SEARCH: JsonObject = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "s", "input": {}}
RESULTS: JsonObject = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
ODD: JsonObject = {"type": "hologram", "depth": 3}


@pytest.mark.parametrize(
    ("event", "block"),
    [
        (
            events.ReasoningRecorded(response=RESPONSE, index=0, content=native(THOUGHT)),
            THOUGHT,
        ),
        (
            events.ServerToolCallRecorded(
                response=RESPONSE, index=0, call_id="srvtoolu_1", name="s", content=native(SEARCH)
            ),
            SEARCH,
        ),
        (
            events.ServerToolResultRecorded(
                response=RESPONSE, index=0, call_id="srvtoolu_1", content=native(RESULTS)
            ),
            RESULTS,
        ),
        (
            events.OpaqueRecorded(response=RESPONSE, index=0, type="hologram", content=native(ODD)),
            ODD,
        ),
    ],
    ids=["reasoning", "call of the provider's", "its result", "block of no known kind"],
)
def test_what_programs_leave_out_of_an_answer_may_be_sent_or_left_out(
    event: Event, block: JsonObject
) -> None:
    recorded = [event, *answered(ANSWER)]
    assert new(recorded, [assistant(block, ANSWER), user("More")]) == [user("More")]
    assert new(recorded, [assistant(ANSWER), user("More")]) == [user("More")]


def test_what_a_program_made_up_after_a_cut_is_new() -> None:
    assert new(cut(ANSWER), [assistant(CALL)]) == [assistant(CALL)]


@pytest.mark.parametrize("ended", [answered(ANSWER), cut(ANSWER)])
def test_text_that_broke_off_is_not_new(ended: list[Event]) -> None:
    begun = events.Unfinished(index=1, value={"type": "text", "text": ""}, partial="And so")
    *said, closing = ended
    recorded = [*said, closing.model_copy(update={"unfinished": (begun,)})]
    so: JsonObject = {"type": "text", "text": "And so"}
    assert new(recorded, [assistant(ANSWER, so), user("Go on")]) == [user("Go on")]
    assert new(recorded, [assistant(ANSWER), user("Go on")]) == [user("Go on")]


def test_a_call_that_broke_off_may_stay_away_or_come_as_the_program_made_it_up() -> None:
    begun = events.Unfinished(index=1, value=CALL, partial='{"id": ')
    *said, done = answered(ANSWER)
    recorded = [*said, done.model_copy(update={"unfinished": (begun,)})]
    assert new(recorded, [assistant(ANSWER), user("Go on")]) == [user("Go on")]
    made_up = [assistant(CALL), user(result("toolu_1"))]
    assert new(recorded, [assistant(ANSWER, CALL), *made_up[1:]]) == made_up


def test_a_string_is_one_text_block_and_so_the_digests_say() -> None:
    sent = [user("Hello"), assistant(ANSWER), user({"type": "text", "text": "More"})]
    assert digest_of(pieces(sent)) == prefix_of(None, None, sent)
    assert digest_of(pieces(sent)[:1]) == prefix_of(None, None, sent[:1])
    assert digests_of(pieces(sent))[1] == prefix_of(None, None, sent[:1])
    assert digest_of(pieces(sent), Prefix("Be brief.")) == prefix_of("Be brief.", None, sent)


@given(st.lists(st.sampled_from(["a", "b", "toolu_1", "toolu_2"]), unique=True))
def test_what_a_program_sends_is_new_once(texts: list[str]) -> None:
    sent = [
        user(result(text) if text.startswith("toolu") else {"type": "text", "text": text})
        for text in texts
    ]
    assert new([], sent) == sent
    recorded = [
        gave(text) if text.startswith("toolu") else prompted(text) for text in reversed(texts)
    ]
    said = [text for text in texts if not text.startswith("toolu")]
    assert new(recorded, sent) == ([] if len(said) < 2 else None)


@pytest.mark.parametrize("message", [{"content": "x"}, {"role": "user", "content": ["x"]}])
def test_a_message_that_is_none_is_said_so(message: JsonObject) -> None:
    with pytest.raises(InvalidContent):
        pieces([message])
