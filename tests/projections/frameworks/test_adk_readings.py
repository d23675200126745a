"""Which events of ADK are turns: rewinds, summaries, answers that come twice, and what says nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.adk import read_item, read_items
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.framework import StreamItems
from onrecord.projections.frameworks.item_messages import Reading


def said(text: str, **members: Any) -> JsonObject:
    return {"author": "desk", "content": {"role": "model", "parts": [{"text": text}]}, **members}


def acted(*parts: JsonObject, **members: Any) -> JsonObject:
    return {"author": "desk", "content": {"role": "model", "parts": list(parts)}, **members}


def call(call_id: str, name: str = "track") -> JsonObject:
    return {"function_call": {"id": call_id, "name": name, "args": {"a_b": {"c_d": 1}}}}


def answer(call_id: str, at: str, name: str = "track") -> JsonObject:
    return {"function_response": {"id": call_id, "name": name, "response": {"at_depot": at}}}


def summary(start: float, end: float, text: str) -> JsonObject:
    content = {"role": "model", "parts": [{"text": text}]}
    times = {"start_timestamp": start, "end_timestamp": end}
    return {"timestamp": 99, "actions": {"compaction": {**times, "compacted_content": content}}}


def rewind(invocation: str) -> JsonObject:
    return {
        "actions": {"rewind_before_invocation_id": invocation},
        "invocation_id": "of the rewind",
    }


def read(*events: JsonObject) -> Reading:
    """Read events that were recorded at the versions from 2 on, a second after each other."""
    items = [
        HeldItem(version, {"timestamp": float(version), **event})
        for version, event in enumerate(events, start=2)
    ]
    return read_items(StreamItems(items))


def texts(reading: Reading) -> list[str]:
    """What each part says in short: a text, what a call is of, where an answer tells that it is."""
    return [_short(part) for each in reading.messages for part in each.value["parts"]]


def _short(part: JsonObject) -> str:
    match part:
        case {"functionCall": {"id": str(call_id)}}:
            return f"call {call_id}"
        case {"functionResponse": {"response": {"at_depot": str(at)}}}:
            return f"at {at}"
        case _:
            return str(part.get("text"))


def test_a_content_is_spelled_as_the_api_does_but_what_is_the_programs_own() -> None:
    blob = {"inline_data": {"data": "-_8=", "mime_type": "image/png"}}
    code = {"executable_code": {"code": "a_b", "language": "PYTHON"}}
    signed = {"text": "hm", "thought": True, "thought_signature": "-_8A"}
    (message,) = read(acted(call("1"), blob, code, signed)).messages
    assert message.versions == (2, 2, 2, 2)
    assert message.value == {
        "role": "model",
        "parts": [
            {"functionCall": {"id": "1", "name": "track", "args": {"a_b": {"c_d": 1}}}},
            {"inlineData": {"data": "+/8=", "mimeType": "image/png"}},
            {"executableCode": {"code": "a_b", "language": "PYTHON"}},
            {"text": "hm", "thought": True, "thoughtSignature": "+/8A"},
        ],
    }


def test_who_speaks_is_said_by_the_content_or_else_by_the_author() -> None:
    parts = [{"text": "x"}]
    reading = read(
        {"author": "desk", "content": {"role": "user", "parts": parts}},
        {"author": "user", "content": {"parts": parts}},
        {"author": "desk", "content": {"parts": parts}},
        {"author": "user", "input_transcription": {"text": "heard"}},
        {"author": "desk", "output_transcription": {"text": "spoken"}},
    )
    roles = [each.value["role"] for each in reading.messages]
    assert roles == ["user", "user", "model", "user", "model"]
    assert texts(reading)[3:] == ["heard", "spoken"]


NOTHING: list[JsonObject] = [
    {"author": "desk", "actions": {"state_delta": {"a": 1}}},
    {"author": "desk", "content": {"role": "model", "parts": []}},
    acted({"text": ""}, {"thought": True}),
    acted({"text": "only thought", "thought": True}),
    said("beside others", branch="both.one"),
    said("given away", isolation_scope="call-1"),
    acted(call("1", "adk_request_confirmation")),
    acted(answer("1", "x", "adk_request_credential")),
]


@pytest.mark.parametrize("event", NOTHING, ids=range(len(NOTHING)))
def test_what_the_agent_at_the_root_is_not_told_is_left_out_with_a_reason(
    event: JsonObject,
) -> None:
    reading = read(said("one"), event, said("two"))
    assert texts(reading) == ["one", "two"]
    assert [each.version for each in reading.unread] == [3]


def test_a_rewind_takes_invocations_back_and_counts_from_where_it_stands() -> None:
    events = [said(each, invocation_id=each) for each in "abc"]
    assert texts(read(*events, rewind("b"), said("d"))) == ["a", "d"]
    assert texts(read(*events, rewind("c"), said("d"), rewind("b"), said("e"))) == ["a", "e"]
    assert texts(read(*events, rewind("b"), said("d"), rewind("a"))) == []
    assert texts(read(*events, rewind("never"))) == ["a", "b", "c"]
    assert read(*events, rewind("b")).unread == ()


def test_a_summary_stands_for_the_events_of_its_time() -> None:
    events = [said(each) for each in "abcd"]
    assert texts(read(*events, summary(2, 4, "a to c"))) == ["a to c", "d"]
    assert texts(read(*events[:3], summary(2, 3, "a, b"), said("e"))) == ["a, b", "c", "e"]
    nested = (summary(2, 3, "a, b"), summary(2, 4, "a to c"))
    assert texts(read(*events, *nested)) == ["a to c", "d"]
    overlapping = (summary(2, 3, "a, b"), summary(3, 4, "b, c"))
    assert texts(read(*events, *overlapping)) == ["a, b", "b, c", "d"]
    again = (summary(2, 3, "first"), summary(2, 3, "second"))
    assert texts(read(*events, *again)) == ["second", "c", "d"]


def test_a_summary_that_was_rewound_stands_for_nothing() -> None:
    events = [said("a", invocation_id="a"), said("b", invocation_id="b")]
    compacted = {**summary(2, 3, "both"), "invocation_id": "b"}
    assert texts(read(*events, compacted, rewind("b"))) == ["a"]


def test_a_call_whose_answer_came_behind_a_summary_stays_with_it() -> None:
    reading = read(
        said("a"),
        acted(call("1"), call("2")),
        acted(answer("1", "unknown"), answer("2", "South")),
        summary(2, 4, "a, two calls"),
        acted(answer("1", "North"), role="user"),
    )
    assert texts(reading) == ["a, two calls", "call 1", "call 2", "at North", "at South"]


def test_the_last_answer_to_a_call_is_told_in_the_place_of_the_first() -> None:
    reading = read(
        acted(call("1")),
        acted(answer("1", "unknown")),
        said("Wait."),
        acted(answer("1", "North")),
        said("North."),
        acted(call("1")),
        acted(answer("1", "South")),
    )
    assert texts(reading) == ["call 1", "at North", "Wait.", "North.", "call 1", "at South"]
    assert reading.messages[1].versions == (5,)


def test_one_event_is_read_by_itself() -> None:
    speakers = [
        ("user", {"author": "user", "content": {"parts": [{"text": "a"}]}}),
        ("assistant", said("b", branch="both.one")),
        ("tool", acted(answer("1", "North"))),
        ("assistant", summary(1, 2, "c")),
    ]
    for speaker, event in speakers:
        contents = read_item(event)
        assert contents is not None
        assert (contents.api, contents.speaker, len(contents.blocks)) == ("gemini", speaker, 1)
    assert read_item({"author": "desk"}) is None
    assert read_item(acted(call("1", "adk_request_credential"))) is None


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True),
    st.lists(st.tuples(st.integers(2, 9), st.integers(2, 9)), max_size=4),
)
def test_each_event_is_told_itself_or_by_one_summary_at_least(
    names: list[str], times: list[tuple[int, int]]
) -> None:
    ranges = [(min(each), max(each)) for each in times]
    summaries = [summary(*each, f"{each}") for each in ranges]
    told = texts(read(*map(said, names), *summaries))
    for version, name in enumerate(names, start=2):
        stands = [f"{each}" for each in ranges if each[0] <= version <= each[1]]
        assert (name in told) == (not stands)
        assert not stands or any(each in told for each in stands)
