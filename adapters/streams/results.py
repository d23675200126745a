"""Results of calls on their way into the log: each call has one, whatever its id is used for again.

Servers exist that number the calls of each answer from 0, so that an id names one call after the
other. A result says which of them it is of only where it must: where the id has a result already.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, TypeAlias

from onrecord.adapters.streams.lineage import LineSegment, backwards
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain.errors import IdempotencyMismatch, VersionConflict
from onrecord.domain.events import (
    DocumentExtracted,
    Event,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolResultRejected,
)
from onrecord.domain.head import Head
from onrecord.domain.header import NO_METADATA
from onrecord.domain.log import Duplicate, Recorded

logger = logging.getLogger("onrecord")

Reason: TypeAlias = Literal["cancelled", "duplicate"]
"""Why a result is no part of the history."""

_TRIES: Final = 8
_LATELY: Final = 256
"""How many events are looked through for the call of a result that no open call awaits."""

_HAS_ONE: Final = "call %s has a result already (%s): the other one is kept beside the history"
_GIVEN: Final = ("tool_result.recorded", "tool_result.rejected")
_CALLS: Final = ("tool_call.recorded", "tool_result.recorded")


@dataclass(frozen=True, slots=True)
class Rejected:
    """The call had a result already: this one was kept at version `first`, beside the history.

    `reason` is `cancelled` where the call had been given up, else `duplicate`.
    """

    first: int
    last: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Unmatched:
    """The result is durable as `Recorded` has it, but no call of its id is open, or was lately.

    Its id may be misspelled, or of another conversation: look at `open_calls()`. Lately is among the
    last 256 events: how long the conversation is costs nothing.
    """

    first: int
    last: int
    position: int


ResultDone: TypeAlias = Done | Rejected | Unmatched
"""What became of a result."""


def record_result(
    stream: Stream,
    result: ToolResultRecorded,
    extracted: Sequence[DocumentExtracted] = (),
    *,
    metadata: Mapping[str, str] = NO_METADATA,
) -> ResultDone:
    """Record a result, and what was found in it; the same again changes nothing.

    Where the call has another result, this one is kept beside the history.
    """
    is_awaited = result.call_id in stream.head().open_calls
    done = _append(stream, result, extracted, metadata)
    if isinstance(done, Recorded):
        if is_awaited or was_called(stream, result.call_id, done.first - 1):
            return done
        return Unmatched(done.first, done.last, done.position)
    apart = with_call_version(stream, stream.head(), result)
    if apart.call is not None:
        done = _append(stream, apart, extracted, metadata)
    return _reject(stream, apart, metadata) if done is None else done


def was_called(stream: Stream, call_id: str, version: int) -> bool:
    """Whether a call lately had an id, on whatever line; one that was erased may have had any."""
    events = backwards(stream.backend, stream.lineages().whole(version))
    for recorded in islice(events, _LATELY):
        if recorded.type != "tool_call.recorded":
            continue
        match recorded.event():
            case ToolCallRecorded(call_id=named) if named != call_id:
                continue
            case _:
                return True
    return False


def _append(
    stream: Stream,
    result: ToolResultRecorded,
    extracted: Sequence[DocumentExtracted],
    metadata: Mapping[str, str],
) -> Done | None:
    """Return what was done; None where the call has another result.

    With the documents it is all or none, and they have no name to be known by: so the result is
    looked for alone.
    """
    tries: list[tuple[Event, ...]] = [(result, *extracted), (result,)]
    for events in tries if extracted else tries[:1]:
        with suppress(IdempotencyMismatch):
            return stream.append(*events, metadata=metadata)
    return None


def _reject(stream: Stream, result: ToolResultRecorded, metadata: Mapping[str, str]) -> ResultDone:
    """Keep a result beside the history; nothing changes where it is kept there already.

    It is looked for again where another writer was quicker: what it recorded may be the same.
    """
    for tries_left in reversed(range(_TRIES)):
        version = stream.head().version
        reason = _found_before(stream, result, version)
        if isinstance(reason, Duplicate):
            return reason
        rejected = ToolResultRejected(
            call_id=result.call_id, content=result.content, is_error=result.is_error, reason=reason
        )
        expected = version if tries_left else None
        with suppress(VersionConflict):
            done = stream.append(rejected, expected_version=expected, metadata=metadata)
            logger.warning(_HAS_ONE, result.call_id, reason)
            return Rejected(done.first, done.last, reason)
    raise AssertionError("the last try expects no version")


def _found_before(stream: Stream, result: ToolResultRecorded, version: int) -> Duplicate | Reason:
    """Return the result itself, kept before, or why it is no part of the history."""
    for recorded in backwards(stream.backend, (LineSegment(stream.conversation_id, version),)):
        if recorded.type not in _GIVEN:
            continue
        match recorded.event():
            case ToolResultRejected(line=None) as event if _is_same(event, result):
                return Duplicate(recorded.version, recorded.version)
            case ToolResultRecorded(line=None, call_id=named, call=call, cancelled=cancelled) if (
                named == result.call_id and call == result.call
            ):
                return "cancelled" if cancelled else "duplicate"
            case _:
                continue
    return "duplicate"


def _is_same(event: ToolResultRejected, result: ToolResultRecorded) -> bool:
    content = (event.call_id, event.content, event.is_error)
    return content == (result.call_id, result.content, result.is_error)


def with_call_version(stream: Stream, head: Head, result: ToolResultRecorded) -> ToolResultRecorded:
    """Return a result with the version of its call, where its id has named another call before."""
    call = head.open_calls.get(result.call_id)
    if call is None:
        call = _last_named(stream, head.version, result.call_id)
    return result.model_copy(update={"call": call})


def with_call_versions(
    stream: Stream, head: Head, events: Sequence[Event], first: int
) -> tuple[Event, ...]:
    """Return events whose results say which of the calls of their id they are of.

    They are to be recorded together, from version `first` on: an id may name several of their own
    calls, as where a program tells earlier rounds, and the ids are made of what the calls ask.
    """
    made: dict[str, int] = {}
    answered: set[str] = set()
    told: list[Event] = []
    for version, event in enumerate(events, first):
        if isinstance(event, ToolCallRecorded) and event.line is None:
            made[event.call_id] = version
        elif isinstance(event, ToolResultRecorded) and event.line is None:
            event = _with_call(stream, head, event, made, is_again=event.call_id in answered)
            answered.add(event.call_id)
        told.append(event)
    return tuple(told)


def _with_call(
    stream: Stream,
    head: Head,
    result: ToolResultRecorded,
    made: Mapping[str, int],
    *,
    is_again: bool,
) -> ToolResultRecorded:
    known = with_call_version(stream, head, result)
    if result.call_id not in made or (known.call is None and not is_again):
        return known
    return known.model_copy(update={"call": made[result.call_id]})


def _last_named(stream: Stream, version: int, call_id: str) -> int | None:
    """Return which call of an id was made or answered last; None if it is told by its id alone."""
    for recorded in backwards(stream.backend, (LineSegment(stream.conversation_id, version),)):
        if recorded.type not in _CALLS:
            continue
        match recorded.event():
            case ToolResultRecorded(line=None, call_id=named, call=call) if named == call_id:
                return call
            case ToolCallRecorded(line=None, call_id=named) if named == call_id:
                return recorded.version
            case _:
                continue
    return None
