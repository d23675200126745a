"""Ollama's answers, from their bytes: streamed or whole, they say the same."""

import json
from typing import Any

import pytest

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.ollama.stream import ChatStream
from onrecord.domain.encoding import encode
from onrecord.domain.events import (
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ResponseCompleted,
    ToolCallRecorded,
)
from tests.adapters.wire.attempts import JSON, attempted
from tests.damage import texts
from tests.ollama_wire import END, HEAD, JsonObject, call, last, line, spelled

LINES = {"content-type": "application/x-ndjson"}
THOUGHT = [line({"content": "", "thinking": "Look it "}), line({"content": "", "thinking": "up."})]
SAID = [line({"content": "I look"}), line({"content": " it up: æ"})]
CALLED = [line({"content": "", "tool_calls": [call("weather", at="Oslo")]})]
STREAM = [*THOUGHT, *SAID, *CALLED, *CALLED, last()]


def streamed(wire: bytes, size: int = 1 << 20) -> Answer:
    stream = ChatStream()
    for start in range(0, len(wire), size):
        stream.feed(wire[start : start + size])
    return stream.finish()


def test_an_answer_is_its_thinking_what_it_says_and_its_calls() -> None:
    events = attempted("ollama", [spelled(STREAM)], LINES).events
    kinds = [ReasoningRecorded, MessageRecorded, ToolCallRecorded, ToolCallRecorded]
    assert [type(event) for event in events] == [*kinds, ResponseCompleted]
    values: list[Any] = [
        *(event.content.model_dump()["value"] for event in (events[0], events[2])),  # type: ignore[union-attr]
    ]
    assert values == [{"thinking": "Look it up."}, call("weather", at="Oslo")]
    closing = events[-1]
    assert isinstance(closing, ResponseCompleted)
    assert closing.envelope == {**HEAD, "done": True, **END}
    assert closing.model == "qwen3"


def test_calls_without_an_id_get_one_that_is_made_of_them() -> None:
    first, second = (event for event in recorded(STREAM) if isinstance(event, ToolCallRecorded))
    assert first.call_id.startswith("weather-")
    assert second.call_id == f"{first.call_id}-2"


def test_a_call_keeps_the_id_that_the_server_gave() -> None:
    found = recorded([line({"content": "", "tool_calls": [call("f", "call_7")]}), last()])
    assert [event.call_id for event in found if isinstance(event, ToolCallRecorded)] == ["call_7"]


def test_a_call_of_nothing_is_opaque_and_awaits_nothing() -> None:
    found = recorded([line({"content": "", "tool_calls": [{"function": {"name": ""}}]}), last()])
    assert [type(event) for event in found[:-1]] == [MessageRecorded, OpaqueRecorded]


def test_the_last_line_ends_an_answer_though_no_line_end_follows() -> None:
    answer = streamed(spelled([*SAID, last()]).rstrip(b"\n"))
    assert answer.is_complete
    assert [block.value["content"] for block in answer.blocks] == ["I look it up: æ"]


def test_a_stream_that_is_not_named_one_is_read_as_a_body() -> None:
    events = attempted("ollama", [spelled(STREAM)], JSON).events
    assert isinstance(events[-1], ResponseCompleted)


def test_an_error_amid_the_answer_interrupts_it() -> None:
    """Ollama's docs/api/errors: a line {"error": ...} under status 200."""
    answer = streamed(spelled([*SAID, {"error": "an error was encountered while running"}]))
    assert (answer.interruption, answer.error) == (
        "error",
        "an error was encountered while running",
    )
    assert [part.value["content"] for part in answer.unfinished] == ["I look it up: æ"]


def test_calls_of_an_answer_that_broke_off_are_whole_but_await_nothing() -> None:
    found = recorded([*SAID, *CALLED])
    assert [event.awaited for event in found if isinstance(event, ToolCallRecorded)] == [False]


@pytest.mark.parametrize(
    "odd",
    [
        b"not json\n",
        b"[]\n",
        b"\n\n",
        b'{"message": "text", "done": true}\n',
        b'{"done": true}\n{"done": true}\n',
        b'{"done": true}\n{"message": {"role": "assistant", "content": "behind"}}',
        (
            b'{"message": {"role": "assistant", "content": 7}}\n'
            b'{"message": {"role": "assistant", "content": "after"}, "done": true}\n'
        ),
        b'{"message": {"role": "assistant", "content": [1]}, "done": true}\n',
        (
            b'{"message": {"role": "assistant", "content": "a"}}\n'
            b'{"message": {"role": "tool", "content": 7}, "done": true}\n'
        ),
    ],
)
def test_what_no_server_should_send_does_not_raise_and_is_kept(odd: bytes) -> None:
    closed = attempted("ollama", [odd], LINES)
    said = "".join(texts([json.loads(encode(event)) for event in closed.events], frozenset()))
    assert closed.raw == odd or all(text in said for text in texts(_objects(odd), frozenset()))


def recorded(lines: list[JsonObject]) -> list[Any]:
    return list(attempted("ollama", [spelled(lines)], LINES).events)


def _objects(wire: bytes) -> list[Any]:
    found: list[Any] = []
    for one in wire.splitlines():
        try:
            found.append(json.loads(one))
        except ValueError:
            continue
    return found
