"""What a request says: its parts as they were spelled, its messages as events."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from onrecord.adapters.wire.anthropic.wire import read_request
from onrecord.adapters.wire.blocks import Recording
from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Text
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.events import (
    Event,
    InstructionsSet,
    MessageRecorded,
    ReasoningRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.jsontext import write
from onrecord.domain.new_events import blobs_of
from tests.anthropic_wire import JsonObject, call, text
from tests.sent import instructions, said, tools

API = "anthropic-messages"


def native(value: JsonObject) -> Native:
    return Native(api=API, value=value)


def ids() -> Iterator[UUID]:
    return (UUID(int=number) for number in range(1, 100))


def events(*messages: JsonObject, line: UUID | None = None) -> tuple[Event, ...]:
    return said(messages, responses=ids(), line=line)[0]


def user(content: object) -> JsonObject:
    return {"role": "user", "content": content}


def result(number: int = 1, **more: object) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", **more}


def test_a_request_is_read_as_it_was_spelled() -> None:
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 64,
        "stream": True,
        "system": [text("Be brief.")],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "messages": [user("Hello")],
        "container": None,
    }
    sent = read_request(write(body))
    assert sent.model == "claude-sonnet-5"
    assert (sent.system, sent.tools) == (body["system"], body["tools"])
    assert sent.messages == (user("Hello"),)
    assert write(sent.body) == write(body)


def test_what_a_request_leaves_out_is_absent() -> None:
    sent = read_request(b'{"messages": []}')
    assert sent.model is None
    assert (sent.system, sent.tools, sent.messages) == (None, None, ())


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", MalformedJson),
        (b"[]", MalformedJson),
        (b'{"messages": [], "messages": []}', MalformedJson),
        (b'{"messages": ' + b"[" * 250 + b"]" * 250 + b"}", MalformedJson),
        (b"{}", InvalidContent),
        (b'{"messages": "Hello"}', InvalidContent),
        (b'{"messages": ["Hello"]}', InvalidContent),
        (b'{"messages": [], "system": 7}', InvalidContent),
        (b'{"messages": [], "tools": {}}', InvalidContent),
    ],
)
def test_a_body_that_is_no_request_is_refused(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_request(body)


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Hello"},
        {"role": "tool", "content": "Hello"},
        {"role": "user", "content": {"type": "text"}},
        {"role": "assistant", "content": ["Hello"]},
    ],
)
def test_a_message_that_is_none_is_refused(message: JsonObject) -> None:
    with pytest.raises(InvalidContent):
        events(message)


@pytest.mark.parametrize("role", ["user", "system"])
def test_a_plain_string_is_plain_text(role: str) -> None:
    [event] = events({"role": role, "content": "Hello"})
    assert isinstance(event, MessageRecorded)
    assert (event.role, event.content) == (role, (Text(text="Hello"),))


def test_blocks_of_a_user_are_one_message_and_stay_native() -> None:
    blocks = [text("See:"), {"type": "image", "source": {"type": "url", "url": "https://x/y"}}]
    assert events(user(blocks)) == (
        MessageRecorded(role="user", content=tuple(map(native, blocks))),
    )


def test_each_result_is_an_event_and_what_is_said_after_them_a_message() -> None:
    content = [result(1, content="4", is_error=True), result(2), text("And now?")]
    assert events(user(content)) == (
        ToolResultRecorded(call_id="toolu_1", content=native(content[0]), is_error=True),
        ToolResultRecorded(call_id="toolu_2", content=native(content[1])),
        MessageRecorded(role="user", content=(native(text("And now?")),)),
    )


def test_what_is_said_between_results_stays_between_them() -> None:
    kinds = [type(event) for event in events(user([text(), result(1), text(), result(2)]))]
    assert kinds == [MessageRecorded, ToolResultRecorded, MessageRecorded, ToolResultRecorded]


@pytest.mark.parametrize("named", [{}, {"tool_use_id": ""}, {"tool_use_id": 7}])
def test_a_result_of_no_call_is_kept_as_it_was_said(named: JsonObject) -> None:
    orphan = {"type": "tool_result", "content": "4", **named}
    assert events(user([orphan])) == (MessageRecorded(role="user", content=(native(orphan),)),)


def test_a_foreign_answer_gets_one_response_of_its_own() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    first = {"role": "assistant", "content": [thinking, call()]}
    second = {"role": "assistant", "content": "Done."}
    assert events(first, user([result()]), second) == (
        ReasoningRecorded(response=UUID(int=1), index=0, content=native(thinking)),
        ToolCallRecorded(
            response=UUID(int=1), index=1, call_id="toolu_1", name="look", content=native(call())
        ),
        ToolResultRecorded(call_id="toolu_1", content=native(result())),
        MessageRecorded(
            role="assistant", content=(native(text("Done.")),), response=UUID(int=2), index=0
        ),
    )


def test_a_message_without_blocks_says_nothing() -> None:
    assert events(user([]), {"role": "assistant", "content": []}) == ()


def test_all_events_of_a_side_line_are_on_it() -> None:
    line = UUID(int=9)
    messages = [{"role": "assistant", "content": [call()]}, user([result(), text()]), user("x")]
    assert {event.line for event in events(*messages, line=line)} == {line}


def held(recording: Recording) -> list[Native]:
    found: list[Native] = []
    for event in recording[0]:
        match event:
            case MessageRecorded(content=content):
                found.extend(block for block in content if isinstance(block, Native))
            case (
                ToolResultRecorded(content=Native() as one)
                | InstructionsSet(content=Native() as one)
            ):
                found.append(one)
            case ToolsDeclared(tools=several):
                found.extend(tool for tool in several if isinstance(tool, Native))
            case _:
                pass
    return found


def test_long_strings_go_to_blobs_and_come_back() -> None:
    long = "x" * 100_000
    image = {"type": "image", "source": {"type": "base64", "data": long}}
    recording = said([user([image, result(1, content=long)])], responses=ids())
    assert [restore(one.value, recording[1]) for one in held(recording)] == [
        image,
        result(1, content=long),
    ]
    assert {blob.sha256 for event in recording[0] for blob in blobs_of(event)} == set(recording[1])


def test_instructions_are_text_or_the_apis_own_list() -> None:
    assert instructions("Be brief.") == ((InstructionsSet(content="Be brief."),), {})
    assert instructions(None) == ((InstructionsSet(content=""),), {})
    blocks = [{**text("Be brief."), "cache_control": {"type": "ephemeral"}}]
    assert instructions(blocks)[0] == (InstructionsSet(content=native({"system": blocks})),)


def test_tools_stay_as_they_were_spelled() -> None:
    definitions: list[JsonObject] = [
        {"name": "look", "input_schema": {}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    assert tools(definitions)[0] == (ToolsDeclared(tools=tuple(map(native, definitions))),)
    assert tools(None) == ((ToolsDeclared(tools=()),), {})


def test_long_and_look_alike_strings_of_instructions_and_tools_come_back() -> None:
    odd: JsonObject = {"name": "x" * 100_000, "$onrecord.blob": "no reference"}
    for recording, wanted in [
        (instructions([odd]), {"system": [odd]}),
        (tools([odd]), odd),
    ]:
        [one] = held(recording)
        assert restore(one.value, recording[1]) == wanted
