"""Results of calls on their way into the log: each call has one, whatever its id is used for again.

Servers exist that number the calls of each answer from 0, so that an id names one call after the
other. A result says which of them it is of only where it must: where the id has a result already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol
from uuid import UUID

from hansard.adapters.writing import Done
from hansard.domain.errors import IdempotencyMismatch
from hansard.domain.events import Event, ToolCallRecorded, ToolResultRecorded
from hansard.domain.head import Head
from hansard.domain.log import Log, Recorded, RecordedEvent

_A_PAGE: Final = 256
_CALLS: Final = ("tool_call.recorded", "tool_result.recorded")


class Conversation(Protocol):
    """What is needed of a conversation to record a result; a `Stream` has it."""

    @property
    def backend(self) -> Log:
        """The log that it is in."""
        ...

    @property
    def conversation_id(self) -> UUID:
        """The conversation's id."""
        ...

    def head(self) -> Head:
        """Return where the conversation stands."""
        ...

    def append(self, *said: Event) -> Done:
        """Record events; IdempotencyMismatch where an id stands for other content."""
        ...


def record_result(talk: Conversation, result: ToolResultRecorded) -> Done:
    """Record a result; the same again changes nothing, another is an IdempotencyMismatch."""
    try:
        done = talk.append(result)
    except IdempotencyMismatch:
        apart = told_apart(talk.backend, talk.conversation_id, talk.head(), result)
        if apart.call is None:
            raise
        return talk.append(apart)
    if isinstance(done, Recorded):
        return done
    apart = told_apart(talk.backend, talk.conversation_id, talk.head(), result)
    return done if apart.call is None else talk.append(apart)


def told_apart(
    log: Log, conversation_id: UUID, head: Head, result: ToolResultRecorded
) -> ToolResultRecorded:
    """Return a result with the version of its call, where its id has named another call before."""
    call = head.open_calls.get(result.call_id)
    if call is None:
        call = _last_named(log, conversation_id, head.version, result.call_id)
    return result.model_copy(update={"call": call})


def _last_named(log: Log, conversation_id: UUID, version: int, call_id: str) -> int | None:
    """Return which call of an id was made or answered last; None if it is told by its id alone."""
    for recorded in _backwards(log, conversation_id, version):
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


def _backwards(log: Log, conversation_id: UUID, version: int) -> Iterator[RecordedEvent]:
    while version > 0:
        after = max(0, version - _A_PAGE)
        yield from reversed(list(log.read(conversation_id, after=after, until=version)))
        version = after
