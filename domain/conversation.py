"""What can be done to a conversation: decisions, from where it stands to what happens next.

Each decision is a pure function from the head and its arguments to events. The record takes what
happened, even what a provider would refuse; only what no record can hold is an error here. Late,
unknown and repeated results are facts too: rendering deals with them, not the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from onrecord.domain import events, request_template
from onrecord.domain.admission import Standing, error_of
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import Event
from onrecord.domain.head import Head
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource, tools_digest

CANCELLED = "Tool execution was canceled."
"""What a model is told in place of the result of a call that was given up; it is never stored."""

PROGRAM = "onrecord"
"""The API of an answer that no provider gave, but a program of the caller's."""


def start(head: Head, key: str) -> tuple[Event, ...]:
    """Begin the conversation, unless it has begun."""
    if not key.strip():
        raise InvalidContent("a conversation needs a key: give it a name that is not blank")
    if head.version:
        return ()
    return (events.ConversationStarted(key=key, rules=request_template.RULES),)


def fork(head: Head, origin: UUID, version: int, reason: str | None = None) -> tuple[Event, ...]:
    """Go on from another conversation, as it stood at a version; only as the first thing done."""
    if not Standing(version=head.version).takes("early"):
        raise error_of("early")
    return (events.ConversationForked(origin=origin, version=version, reason=reason),)


def say(
    head: Head,
    content: Iterable[Text | Document | Native],
    *,
    message_id: str | None = None,
) -> tuple[Event, ...]:
    """Record what the user says: a prompt."""
    _must_be_open(head)
    blocks = tuple(content)
    if not blocks:
        raise InvalidContent("a message needs content: give it text or a document")
    return (events.MessageRecorded(role="user", content=blocks, message_id=message_id),)


def speak(
    head: Head,
    response: UUID,
    text: str | None,
    calls: Iterable[ToolCall],
    *,
    message_id: str | None = None,
) -> tuple[Event, ...]:
    """Record an answer that a program gives for the model: a text, then calls, as one response."""
    _must_be_open(head)
    blocks: list[Event] = []
    if text is not None:
        said = events.MessageRecorded(
            role="assistant",
            content=(Text(text=text),),
            message_id=message_id,
            response=response,
            index=0,
        )
        blocks.append(said)
    blocks += (
        events.ToolCallRecorded(
            response=response, index=index, call_id=call.id, name=call.name, content=call
        )
        for index, call in enumerate(calls, len(blocks))
    )
    if not blocks:
        raise InvalidContent("an answer needs content: give it text or a call")
    return (*blocks, events.ResponseCompleted(response=response, api=PROGRAM, envelope={}))


def instruct(head: Head, content: str | Text | Native) -> tuple[Event, ...]:
    """Put other instructions in force."""
    _must_be_open(head)
    return (events.InstructionsSet(content=content),)


def declare_tools(
    head: Head,
    tools: Iterable[ToolDefinition | BuiltinTool | Native],
    sources: Iterable[ToolSource] = (),
) -> tuple[events.ToolsDeclared]:
    """Put other tools in force; no tools at all is a declaration too."""
    _must_be_open(head)
    declared = tuple(tools)
    digest = tools_digest(declared)
    return (events.ToolsDeclared(tools=declared, sources=tuple(sources), sha256=digest),)


def give_result(
    head: Head,
    call_id: str,
    content: Iterable[Text | Document],
    *,
    is_error: bool = False,
    is_json: bool = False,
) -> tuple[events.ToolResultRecorded]:
    """Record what a tool gave; an empty content is a result too.

    `is_json` says that the first text is the JSON of a value that is no text.
    """
    _must_be_open(head)
    _must_name_a_call(call_id)
    parts = tuple(content)
    result = ToolResult(call_id=call_id, content=parts, is_error=is_error, is_json=is_json)
    return (events.ToolResultRecorded(call_id=call_id, content=result, is_error=is_error),)


def cancel_call(head: Head, call_id: str) -> tuple[events.ToolResultRecorded]:
    """Record that a call was given up; what the model is told of that, requests say."""
    _must_be_open(head)
    _must_name_a_call(call_id)
    result = ToolResult(call_id=call_id, content=(), is_error=True)
    return (
        events.ToolResultRecorded(call_id=call_id, content=result, is_error=True, cancelled=True),
    )


def receive(
    head: Head,
    signals: Iterable[events.SignalReceived],
    given_up: Iterable[events.ToolResultRecorded] = (),
) -> tuple[Event, ...]:
    """Record signals behind the cancelled results of the calls that they interrupt.

    Where there are none they are such as wait, and open an exchange as a prompt does.
    """
    _must_be_open(head)
    results = tuple(given_up)
    interrupting = bool(results)
    received = (signal.model_copy(update={"interrupts": interrupting}) for signal in signals)
    return (*results, *received)


def go_back(head: Head, after: int, as_of: int | None = None) -> tuple[Event, ...]:
    """Let the main branch go on from what it was up to a version, as it stood at another."""
    _must_be_open(head)
    return (events.LineAdopted(after=after, as_of=as_of),)


def compact(head: Head, summary: str, until: int) -> tuple[Event, ...]:
    """Let a summary stand for all that was said up to a version."""
    _must_be_open(head)
    must_exist(head, until)
    if not summary.strip():
        raise InvalidContent("a summary needs words: say what was said")
    return (events.HistoryCompacted(summary=summary, until=until),)


def carry(head: Head) -> tuple[Event, ...]:
    """Let the calls of tools carry something else; what it is stands in the event's header."""
    _must_be_open(head)
    return (events.ContextCarried(),)


def redact(head: Head, version: int, reason: str | None = None) -> tuple[Event, ...]:
    """Leave the event at a version out of every view from here on."""
    must_exist(head, version)
    return (events.ContentRedacted(version=version, reason=reason),)


def annotate(head: Head, labels: dict[str, str], version: int | None = None) -> tuple[Event, ...]:
    """Put a remark beside an event, or beside the whole conversation, even a closed one."""
    if version is not None:
        must_exist(head, version)
    return (events.AnnotationAdded(labels=labels, version=version),)


def close(head: Head, reason: str | None = None) -> tuple[Event, ...]:
    """End the conversation, unless it has ended."""
    return () if head.closed else (events.ConversationEnded(reason=reason),)


def _must_be_open(head: Head) -> None:
    if head.closed:
        raise error_of("open")


def must_exist(head: Head, version: int) -> None:
    """Raise InvalidContent if the conversation has no event at a version."""
    if not 1 <= version <= head.version:
        raise InvalidContent(
            f"there is no event at version {version}: the conversation is at {head.version}"
        )


def _must_name_a_call(call_id: str) -> None:
    if not call_id:
        raise InvalidContent("a result needs the id of its call")
