"""A conversation as rows: what each event says, and what belongs together."""

from collections.abc import Sequence
from typing import Any, get_args
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from onrecord.domain import events
from onrecord.domain.content import Blob, Document, Native, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.events import Event
from onrecord.domain.items import ItemEvent
from onrecord.domain.log import RecordedEvent
from onrecord.domain.new_events import Stamp, draft
from onrecord.domain.request_template import Template
from onrecord.domain.tools import (
    ApprovalDecided,
    ApprovalRequested,
    ToolCallBegun,
    ToolDefinition,
)
from onrecord.projections.history.side_branches import WHY
from onrecord.projections.history.timeline import Row, timeline

API = "anthropic-messages"
RESPONSE = UUID("01932f1e-5d00-7000-8000-0000000000aa")
SIDE = UUID("01932f1e-5d00-7000-8000-0000000000bb")
TEMPLATE = Template(spans=(), sha256="00" * 32, size=1234)


def native(**value: Any) -> Native:
    return Native(api=API, value=value)


def recorded(event: Event, version: int = 1, *, exchange: int = 0) -> RecordedEvent:
    stamp = Stamp(
        event_id=uuid7(),
        occurred_at=0,
        salt=b"salt",
        tenant=UUID(int=0),
        conversation_id=UUID(int=1),
    )
    new = draft(event, stamp)
    return RecordedEvent(
        shard=0,
        position=version,
        conversation_id=UUID(int=1),
        version=version,
        exchange=exchange,
        event_id=new.event_id,
        type=new.type,
        schema_version=new.schema_version,
        recorded_at=7,
        header=new.header,
        digest=b"",
        leaf=b"",
        salt=new.salt,
        body=new.body,
    )


def rows(*happened: Event, side_lines: bool = False) -> list[Row]:
    numbered = (recorded(event, version) for version, event in enumerate(happened, 1))
    return list(timeline(numbered, side_lines=side_lines))


def told(*happened: Event) -> list[tuple[str, str, str]]:
    return [(row.speaker, row.kind, row.text) for row in rows(*happened)]


def call(call_id: str, name: str, *, awaited: bool = True) -> Event:
    content = ToolCall(id=call_id, name=name, arguments={"of": 1})
    return events.ToolCallRecorded(call_id=call_id, name=name, content=content, awaited=awaited)


def result(
    call_id: str, *content: Text | Document, is_error: bool = False, cancelled: bool = False
) -> Event:
    given = ToolResult(call_id=call_id, content=content)
    return events.ToolResultRecorded(
        call_id=call_id, content=given, is_error=is_error, cancelled=cancelled
    )


PDF = Document(media_type="application/pdf", name="a.pdf", blob=Blob(sha256="00", size=2048))
TOOLS = (ToolDefinition(name="look", input_schema={}), native(type="web_search_20250305"))

EACH: Sequence[tuple[Event, tuple[str, str, str]]] = (
    (events.ConversationStarted(key="k"), ("record", "started", "k")),
    (
        events.ConversationForked(origin=UUID(int=5), version=3, reason="again"),
        ("record", "forked", f"from {UUID(int=5)} as it stood at version 3: again"),
    ),
    (events.ConversationEnded(), ("record", "closed", "")),
    (events.InstructionsSet(content="Be kind."), ("system", "instructions", "Be kind.")),
    (
        events.InstructionsSet(content=native(text="Be kind.", type="text")),
        ("system", "instructions", "Be kind."),
    ),
    (events.ToolsDeclared(tools=TOOLS), ("system", "tools", "look, web_search_20250305")),
    (events.ToolsDeclared(tools=()), ("system", "tools", "none")),
    (
        events.MessageRecorded(role="user", content=(PDF,)),
        ("user", "document", "a.pdf, application/pdf, 2,048 bytes"),
    ),
    (
        events.MessageRecorded(role="assistant", content=(native(type="text", text="Hi"),)),
        ("assistant", "text", "Hi"),
    ),
    (
        events.MessageRecorded(
            role="user",
            content=(native(type="document", title="b.pdf", source={"media_type": "text/plain"}),),
        ),
        ("user", "document", "b.pdf, text/plain"),
    ),
    (
        events.ReasoningRecorded(
            response=RESPONSE,
            index=0,
            content=native(type="thinking", thinking="So", signature="x"),
        ),
        ("assistant", "thinking", "So"),
    ),
    (
        events.ReasoningRecorded(
            response=RESPONSE, index=0, content=native(type="redacted_thinking", data="x")
        ),
        ("assistant", "thinking", "sealed by the provider"),
    ),
    (
        events.ReasoningRecorded(response=RESPONSE, index=0, content=Reasoning(text="So")),
        ("assistant", "thinking", "So"),
    ),
    (call("c", "look"), ("assistant", "tool call", 'look {"of":1}')),
    (result("c", Text(text="red")), ("tool", "result", "red")),
    (result("c"), ("tool", "result", "nothing")),
    (
        events.ServerToolCallRecorded(
            response=RESPONSE,
            index=0,
            call_id="s",
            name="web_search",
            content=native(input={"q": 1}),
        ),
        ("assistant", "server call", 'web_search {"q":1}'),
    ),
    (
        events.ServerToolResultRecorded(
            response=RESPONSE,
            index=0,
            call_id="s",
            content=native(content=[{"title": "T", "url": "https://t.example"}]),
        ),
        ("provider", "result", "T <https://t.example>"),
    ),
    (
        events.CompactionRecorded(
            response=RESPONSE, index=0, content=native(type="compaction", content="In short")
        ),
        ("provider", "compaction", "In short"),
    ),
    (
        events.OpaqueRecorded(
            response=RESPONSE, index=0, type="dream", content=native(type="dream", of="sheep")
        ),
        ("assistant", "dream", '{"of":"sheep"}'),
    ),
    (
        events.DocumentExtracted(document=PDF),
        ("record", "extracted", "a.pdf, application/pdf, 2,048 bytes"),
    ),
    (
        events.RequestSent(api=API, endpoint="/v1/messages", model="m", template=TEMPLATE),
        ("record", "request", "1,234 bytes to m"),
    ),
    (
        events.AttemptFailed(request=RESPONSE, status=529, error={"type": "overloaded"}),
        ("record", "attempt", 'HTTP 529: {"type":"overloaded"}'),
    ),
    (
        events.AttemptFailed(request=RESPONSE, reason="connect"),
        ("record", "attempt", "no answer: connect"),
    ),
    (
        events.ResponseCompleted(
            response=RESPONSE,
            api=API,
            model="m",
            stop_reason="end_turn",
            envelope={},
            input_tokens=1500,
        ),
        ("record", "response", "end_turn, m, 1,500 tokens in, unknown out"),
    ),
    (
        events.LineAdopted(adopted=UUID(int=7), begun=6, after=4),
        (
            "record",
            "adopted",
            "goes on from version 4 with the line from version 6",
        ),
    ),
    (
        events.HistoryCompacted(summary="She asked for a refund.", until=9),
        (
            "record",
            "compacted",
            "stands for what was said up to version 9: She asked for a refund.",
        ),
    ),
    (
        events.ContentRedacted(version=4),
        ("record", "redacted", "version 4 is left out of every request from here on"),
    ),
    (
        events.ToolResultRejected(
            call_id="c",
            content=ToolResult(call_id="c", content=(Text(text="again"),)),
            reason="duplicate",
        ),
        ("tool", "result", "again"),
    ),
    (
        events.SignalReceived(content=(Text(text="The parcel moved."),), name="tracking"),
        ("outside", "signal tracking", "The parcel moved."),
    ),
    (
        events.ContextCarried(),
        ("record", "context", "what tool calls carry: onrecord context shows it"),
    ),
    (
        events.AnnotationAdded(labels={"rating": "5"}, version=2),
        ("record", "annotation", "on version 2: rating=5"),
    ),
    (
        ApprovalRequested(call_id="call_1", call=3, number=0, at=1),
        ("record", "approval", "call_1 waits for a person"),
    ),
    (
        ApprovalDecided(
            call_id="call_1", call=3, number=0, at=1, decision="denied", reason="too much"
        ),
        ("record", "denied", "call_1: too much"),
    ),
    (
        ToolCallBegun(call_id="call_1", call=3, number=0, at=1, until=2),
        ("record", "begun", "call_1"),
    ),
    (
        ToolCallBegun(call_id="call_1", call=3, number=1, at=2, until=3, renews=True),
        ("record", "begun", "call_1 goes on"),
    ),
    (
        ToolCallBegun(call_id="call_1", call=3, number=2, at=3, until=3, renews=True),
        ("record", "begun", "call_1 was left unfinished"),
    ),
)


@pytest.mark.parametrize(("event", "row"), EACH, ids=[type(event).__name__ for event, _ in EACH])
def test_an_event_says_what_it_is(event: Event, row: tuple[str, str, str]) -> None:
    assert told(event) == [row]


def test_every_event_has_a_row() -> None:
    shown = {type(event) for event, _ in EACH}
    elsewhere = {events.ResponseInterrupted, *get_args(ItemEvent)}
    assert set(get_args(Event)) - shown == elsewhere


def test_results_find_their_calls() -> None:
    second, first = rows(
        call("a", "look"),
        call("b", "listen"),
        result("b", Text(text="a bell")),
        result("a", Text(text="a wall"), PDF),
    )[2:4]
    assert (second.answers, second.text) == (2, "listen: a bell")
    assert (first.answers, first.text) == (1, "look: a wall")


def test_every_block_of_a_message_is_a_row_of_its_version() -> None:
    said = events.MessageRecorded(role="user", content=(PDF, Text(text="What?"), Text(text="So?")))
    assert [(row.version, row.kind) for row in rows(said)] == [
        (1, "document"),
        (1, "text"),
        (1, "text"),
    ]


def test_a_document_in_a_result_is_a_row_too() -> None:
    (row,) = rows(result("c", PDF))
    assert row.text == "a.pdf, application/pdf, 2,048 bytes"


@pytest.mark.parametrize(
    ("event", "mark"),
    [
        (result("c", is_error=True), "error"),
        (result("c", is_error=True, cancelled=True), "cancelled"),
        (call("c", "look", awaited=False), "interrupted"),
        (events.AttemptFailed(request=RESPONSE), "error"),
        (events.OpaqueRecorded(response=RESPONSE, index=0, type="x", content=native()), "opaque"),
    ],
)
def test_what_is_out_of_the_ordinary_is_marked(event: Event, mark: str) -> None:
    assert [row.marks for row in rows(event)] == [(mark,)]


def test_a_cut_answer_shows_what_came_and_why_it_ended() -> None:
    unfinished = events.Unfinished(index=1, value={"type": "text", "text": ""}, partial="Dear cu")
    cut = events.ResponseInterrupted(
        response=RESPONSE, api=API, reason="cut", detail="no end", unfinished=(unfinished,)
    )
    assert [(row.kind, row.text, row.marks) for row in rows(cut)] == [
        ("unfinished text", "Dear cu", ("interrupted",)),
        ("response", "cut: no end", ("interrupted",)),
    ]


def test_an_answer_that_stopped_amid_a_block_shows_it() -> None:
    begun = {"type": "tool_use", "id": "toolu_1", "name": "f"}
    unfinished = events.Unfinished(index=0, value=begun, partial='{"a"')
    done = events.ResponseCompleted(
        response=RESPONSE, api=API, envelope={}, unfinished=(unfinished,), stop_reason="max_tokens"
    )
    assert [(row.kind, row.text, row.marks) for row in rows(done)] == [
        ("unfinished tool_use", '{"a"', ("interrupted",)),
        ("response", f"max_tokens, {API}", ()),
    ]


def test_side_lines_are_shown_only_if_asked_for() -> None:
    aside = events.MessageRecorded(role="user", content=(Text(text="A title"),), line=SIDE)
    assert rows(aside) == []
    row, line = rows(aside, side_lines=True)
    assert (row.marks, row.line) == (("aside",), SIDE)
    assert line.text.startswith("branches (an edit, another answer")
    assert line.text.endswith("), 1 event, aside: the conversation never went on from it")


def test_erased_and_newer_events_are_shown_as_what_they_are() -> None:
    event = recorded(events.ConversationStarted(key="k"))
    erased = event._replace(salt=None, body=None)
    newer = event._replace(type="conversation.sung", body=b'{"la":"\xff"}')
    told = [(row.kind, row.text, row.marks) for row in timeline([erased, newer])]
    assert told == [
        ("conversation.started", "its content was erased", ("erased",)),
        ("conversation.sung", '{"la":"\\xff"}', ("unread",)),
    ]
    assert {row.speaker for row in timeline([erased, newer])} == {"record"}


def test_cleared_instructions_are_none() -> None:
    assert told(events.InstructionsSet(content="")) == [("system", "instructions", "none")]


@pytest.mark.parametrize(
    ("output", "text"),
    [("21C", "21C"), ([{"type": "input_text", "text": "21C"}], "21C"), ("", "nothing")],
)
def test_a_result_of_responses_is_told_by_its_output(output: Any, text: str) -> None:
    value = {"type": "function_call_output", "call_id": "c", "output": output}
    given = Native(api="openai-responses", value=value)
    assert rows(events.ToolResultRecorded(call_id="c", content=given))[0].text == text


def test_what_is_no_history_says_why() -> None:
    main = events.MessageRecorded(role="user", content=(Text(text="A"),))
    side = events.MessageRecorded(role="user", content=(Text(text="B"),), line=SIDE)
    happened = [
        recorded(main, 1),
        recorded(side, 2),
        recorded(events.LineAdopted(adopted=SIDE, begun=2, after=0), 3),
    ]
    shown = timeline(
        happened, side_lines=True, standing=lambda at, _: "given up" if at == 1 else None
    )
    assert [(row.marks, row.text) for row in shown] == [
        (("given up",), "A"),
        ((), "B"),
        ((), "goes on from the beginning with the line from version 2"),
        ((), f"branches ({WHY['branches']}), 1 event, history since version 3"),
    ]


def test_text_that_moved_into_a_blob_is_told_by_its_size() -> None:
    moved = native(type="text", text={"$onrecord.blob": "00", "size": 70_000})
    (row,) = rows(events.MessageRecorded(role="assistant", content=(moved,)))
    assert row.text == "70,000 bytes, held apart"
