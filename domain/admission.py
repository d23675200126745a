"""What a conversation takes next, and what can be done to it.

What it takes is one rule for whoever appends, imports or verifies. It is about order alone: a
conversation begins once, is a fork from its beginning on, and says nothing new once it is closed.
Answers that were under way as it was closed are recorded still.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Document, Native, Text, ToolResult
from onrecord.domain.encoding import NAMES, Erased, Unrecognised
from onrecord.domain.errors import ConversationClosed, InvalidContent, OnrecordError
from onrecord.domain.events import (
    ContentRedacted,
    ConversationForked,
    Event,
    HistoryCompacted,
    LineAdopted,
    RequestSent,
)
from onrecord.domain.head import Head, effect_of
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource, tools_digest

Need = Literal["first", "early", "open"]
"""What an event needs of its conversation: not to have begun, to be new, not to be closed."""

_NEEDS: Final[Mapping[type[Event], Need]] = {
    events.ConversationStarted: "first",
    events.ConversationForked: "early",
    events.ConversationEnded: "open",
    events.InstructionsSet: "open",
    events.ToolsDeclared: "open",
    events.MessageRecorded: "open",
    events.ToolCallRecorded: "open",
    events.ToolResultRecorded: "open",
    events.ToolResultRejected: "open",
    events.SignalReceived: "open",
    events.RequestSent: "open",
    events.LineAdopted: "open",
    events.HistoryCompacted: "open",
    events.ContextCarried: "open",
}
_OF_ANSWERS: Final = (events.MessageRecorded, events.ToolCallRecorded)
_WHY: Final[Mapping[Need, str]] = {
    "first": "the conversation has begun, and begins once: start another",
    "early": "only a new conversation can be a fork: choose another key",
    "open": "the conversation is closed: start another, or fork it",
}


def need_of(event: Event | Unrecognised | Erased) -> Need | None:
    """Return what an event needs; None where it comes at any time, or where nobody can tell."""
    match event:
        case Unrecognised():
            return None
        case Erased():
            shape = NAMES.get(event.type)
            return None if shape is None or shape in _OF_ANSWERS else _NEEDS.get(shape)
        case events.MessageRecorded() | events.ToolCallRecorded() if event.response is not None:
            return None
        case _:
            return _NEEDS.get(type(event))


def closes(event: Event | Unrecognised | Erased) -> bool:
    """Return whether an event closes its conversation: on a side branch it does not."""
    if isinstance(event, Erased):
        return NAMES.get(event.type) is events.ConversationEnded
    return effect_of(event).closes


class Standing(NamedTuple):
    """Where a conversation stands, as far as that decides about what it takes."""

    begun: bool = False
    version: int = 0
    closed: bool = False

    def takes(self, need: Need | None) -> bool:
        """Return whether an event that has this need can come next."""
        match need:
            case "first":
                return not self.begun
            case "early":
                return self.version <= 1
            case "open":
                return not self.closed
            case None:
                return True

    def after(self, *, closes: bool) -> Standing:
        """Return where it stands after the next event."""
        return Standing(True, self.version + 1, self.closed or closes)


@dataclass(frozen=True, slots=True)
class Refused:
    """The conversation does not take event number `ordinal` (from 0); nothing changed.

    What the event needs says why: `error_of`.
    """

    ordinal: int


def why_refused(need: Need | None) -> str:
    """Return why an event is refused whose need is not met, and what to do."""
    return _WHY[need or "open"]


def error_of(need: Need | None) -> OnrecordError:
    """Return the error for an event whose need is not met."""
    kind = ConversationClosed if need == "open" else InvalidContent
    return kind(why_refused(need))


# The versions that an event names: a reference that does not lie strictly before its event is
# none.
#
# One writer never records another kind, but an import, or a program that appends events of its
# own, may bring any number. So every fold asks `refers_back` before it follows one: then each
# step leads to an earlier event, and every read ends.

HIGHEST: Final = 2**63 - 1
"""The highest version that any log can count to."""


def refers_back(event: Event, version: int) -> bool:
    """Return whether what an event names lies before it, at `version`; else it changes nothing."""
    if not _is_in_order(event):
        return False
    return all(0 <= named < version for named in _named(event))


def must_refer_back(event: Event, version: int) -> None:
    """Raise InvalidContent for an event that would name itself, or what comes after it."""
    if refers_back(event, version):
        return
    named = ", ".join(str(each) if abs(each) <= HIGHEST else "a huge one" for each in _named(event))
    raise InvalidContent(
        f"an event at version {version} cannot refer to version {named}: name earlier ones, in order"
    )


def names_versions(event: Event) -> bool:
    """Return whether an event is of a kind that names versions of its own conversation."""
    return isinstance(event, LineAdopted | HistoryCompacted | ContentRedacted | RequestSent)


def _named(event: Event) -> Iterator[int]:
    """Yield the versions of its own conversation that an event names."""
    match event:
        case LineAdopted() | RequestSent():
            members = (event.after, event.as_of, event.begun)
            yield from (named for named in members if named is not None)
        case HistoryCompacted():
            yield event.until
        case ContentRedacted():
            yield event.version
        case _:
            return


def _is_in_order(event: Event) -> bool:
    """Return whether the members agree: a side branch begins behind the place that it left."""
    match event:
        case LineAdopted():
            is_of_side = event.begun is None or event.adopted is not None
            return is_of_side and (event.begun is None or event.after < event.begun)
        case RequestSent():
            return event.begun is None or event.after is None or event.after < event.begun
        case ConversationForked():
            return 1 <= event.version <= HIGHEST
        case _:
            return True


# What can be done to a conversation: decisions, from where it stands to what happens next.
#
# Each decision is a pure function from the head and its arguments to events. The record takes
# what happened, even what a provider would refuse; only what no record can hold is an error here.
# Late, unknown and repeated results are facts too: rendering deals with them, not the log.

CANCELLED = "Tool execution was canceled."
"""What a model is told in place of the result of a call that was given up; it is never stored."""


def start(head: Head, key: str) -> tuple[Event, ...]:
    """Begin the conversation, unless it has begun."""
    if not key.strip():
        raise InvalidContent("a conversation needs a key: give it a name that is not blank")
    return (events.ConversationStarted(key=key),) if head.version == 0 else ()


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
) -> tuple[events.ToolResultRecorded]:
    """Record what a tool gave; an empty content is a result too."""
    _must_be_open(head)
    _must_name_a_call(call_id)
    result = ToolResult(call_id=call_id, content=tuple(content), is_error=is_error)
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
