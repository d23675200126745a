"""One step of a view: what it has not folded yet becomes rows, and what fails is told apart.

All conversations of a step are folded and written together. Where one of them fails, it is done
again alone, event by event, so that everything before the failing event is kept, and nothing of
the others is lost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Final, Protocol
from uuid import UUID

from onrecord.domain.errors import CorruptRecord, OnrecordError
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.view import Changes, EventBatch, Feed, Row, View

_CALLED: Final = sys.stdlib_module_names - {"__main__"} | {
    *("onrecord", "eventsourcing", "apsw", "psycopg", "psycopg_pool", "pydantic", "pydantic_core")
}
"""Packages whose lines are not told where a line of the program's own called them."""

_PLACE: Final = attrgetter("shard", "position")


class Refused(Exception):
    """The database refuses a value of a row or of a key; nothing was written or told.

    Its message is the name of the driver's error, which tells nothing of the value.
    """


class NotWritten(Exception):
    """A projection of one's own raised `error`; nothing that it wrote stays, the transaction goes on.

    `event` is the one that failed, where that is known: then those before it, and those behind it of
    other conversations, are tried together.
    """

    def __init__(self, error: Exception, event: RecordedEvent | None = None) -> None:
        """Keep what it raised, and at which event."""
        super().__init__(type(error).__name__)
        self.error, self.event = error, event


class Rows(Protocol):
    """The rows of views inside one transaction."""

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        """Return those of these conversations that wait behind a parked event."""
        ...

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        """Return the rows of these keys that are there, each with its `conversation_id`.

        Refused where the database refuses a value of a key; the transaction goes on.
        """
        ...

    def write(self, feed: Feed, changes: Changes) -> None:
        """Write changes, all or none; Refused where the database refuses a value.

        NotWritten where a projection of one's own, to which events are handed on, raises.
        """
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """An event that a view could not fold or write. `error` tells nothing of what was said."""

    tenant: UUID
    event: RecordedEvent
    kind: str
    error: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a view is about to fold, and the keys of the rows that it has to know for that.

    Of the batches in `doubtful` it could not say which rows it has to know.
    """

    batches: list[EventBatch]
    keys: list[Row]
    doubtful: list[EventBatch]


def step(feed: Feed, batches: Sequence[EventBatch], rows: Rows) -> list[Failure]:
    """Fold batches of events into rows, and return the first failure of each conversation that has one.

    What comes behind a failure, and behind an event that is parked already, is left out. Raises
    StorageError where the database itself fails.
    """
    return finish(feed, ask(feed, batches, rows), rows)


def ask(feed: Feed, batches: Sequence[EventBatch], rows: Rows) -> Lookup:
    """Do the first half of a step, so that the rows of several views can be asked for at once."""
    waiting = rows.blocked(feed, [batch.conversation_id for batch in batches])
    free = [batch for batch in batches if batch.conversation_id not in waiting]
    lookup = Lookup([], [], [])
    for batch in free:
        try:
            lookup.keys.extend(feed.view.wanted(batch))
        except Exception:  # noqa: BLE001 - whatever a view raises: its event is looked for alone
            lookup.doubtful.append(batch)
        else:
            lookup.batches.append(batch)
    return lookup


def finish(feed: Feed, lookup: Lookup, rows: Rows) -> list[Failure]:
    """Do the second half of a step: fold and write."""
    doubtful = lookup.doubtful
    try:
        if lookup.batches:
            folded, unfolded = _folded(feed, lookup, rows)
            rows.write(feed, _together(folded))
            doubtful = [*doubtful, *unfolded]
    except NotWritten as exc:
        if exc.event is not None:
            return _around(feed, lookup.batches, rows)
        doubtful = lookup.batches
    except Refused:
        doubtful = [*doubtful, *lookup.batches]
    failures = (_one_by_one(feed, batch, rows) for batch in doubtful)
    return [failure for failure in failures if failure is not None]


def _folded(feed: Feed, lookup: Lookup, rows: Rows) -> tuple[list[Changes], list[EventBatch]]:
    """Return the changes of the batches that fold, and the batches that do not."""
    known: dict[str, list[Row]] = {}
    for row in rows.known(feed, lookup.keys) if lookup.keys else ():
        known.setdefault(row["conversation_id"], []).append(row)
    folded: list[Changes] = []
    doubtful: list[EventBatch] = []
    for batch in lookup.batches:
        try:
            changes = feed.view.fold(batch, known.get(str(batch.conversation_id), ()))
        except Exception:  # noqa: BLE001 - whatever a fold raises: its event is looked for alone
            doubtful.append(batch)
        else:
            folded.append(changes)
    return folded, doubtful


def _around(feed: Feed, batches: Sequence[EventBatch], rows: Rows) -> list[Failure]:
    """Write in segments what fails as a whole: between events that fail nothing is tried alone.

    A segment that tells of no event is halved until the one that fails is alone.
    """
    tenants = {batch.conversation_id: batch.tenant for batch in batches}
    failures: dict[UUID, Failure] = {}
    segments = [sorted((event for batch in batches for event in batch.events), key=_PLACE)]
    while segments:
        segment = [event for event in segments.pop() if not _waits(event, failures)]
        if not segment:
            continue
        try:
            rows.write(feed, Changes(events=tuple(segment)))
        except NotWritten as exc:
            if exc.event is None and len(segment) > 1:
                half = len(segment) // 2
                segments += (segment[half:], segment[:half])
                continue
            event = exc.event or segment[0]
            tenant, at = tenants[event.conversation_id], segment.index(event)
            failures[event.conversation_id] = _failure_at(event, exc.error, tenant)
            segments += (segment[at + 1 :], segment[:at])
    return list(failures.values())


def _waits(event: RecordedEvent, failures: Mapping[UUID, Failure]) -> bool:
    failure = failures.get(event.conversation_id)
    return failure is not None and failure.event.version <= event.version


def _failure_at(event: RecordedEvent, error: Exception, tenant: UUID) -> Failure:
    return Failure(tenant, event, type(error).__name__, _told(error))


def _one_by_one(feed: Feed, batch: EventBatch, rows: Rows) -> Failure | None:
    for event in batch.events:
        why = _why_not(feed, replace(batch, events=(event,)), rows)
        if why is not None:
            return Failure(batch.tenant, event, type(why).__name__, _told(why))
    return None


def _why_not(feed: Feed, alone: EventBatch, rows: Rows) -> Exception | None:
    """Fold one event; return what the view raised, or that the database refuses what it made.

    An event whose bytes lie is a CorruptRecord, a StorageError too, but not the database's.
    """
    try:
        keys = feed.view.wanted(alone)
    except Exception as exc:  # noqa: BLE001 - whatever a view raises is told, and parked
        return exc
    try:
        known = rows.known(feed, keys) if keys else ()
    except Refused as exc:
        return exc
    try:
        changes = feed.view.fold(alone, known)
    except Exception as exc:  # noqa: BLE001 - whatever a view raises is told, and parked
        return exc
    try:
        rows.write(feed, changes)
    except NotWritten as exc:
        return exc.error
    except Refused as exc:
        return exc
    return None


def _together(folded: Sequence[Changes]) -> Changes:
    events = [event for changes in folded for event in changes.events]
    return Changes(
        tuple(row for changes in folded for row in changes.put),
        tuple(row for changes in folded for row in changes.drop),
        tuple(sorted(events, key=_PLACE)) if events else (),
    )


def _told(error: Exception) -> str:
    """Return what may be shown of an error: our own words, else only where it was raised.

    That is the innermost line of the program's own, where there is one: not of what it called.
    """
    if isinstance(error, OnrecordError):
        return str(error)
    if isinstance(error, Refused):
        return f"the database refuses a value: {error}"
    lines = list(walk_tb(error.__traceback__))
    if not lines:
        return type(error).__name__
    own = [line for line in lines if _is_of_a_program(line[0])]
    frame, number = (own or lines)[-1]
    return f"{type(error).__name__} at {Path(frame.f_code.co_filename).name}:{number}"


def _is_of_a_program(frame: FrameType) -> bool:
    """Whether a line is of a program's own: not ours, of Python's library, or of a driver."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package not in _CALLED and frame.f_code.co_filename.endswith(".py")


# What becomes of an event that a view cannot fold: when it is tried again, and when all stops.
#
# The event is parked and its conversation waits behind it, in that view alone; everything else
# goes on. A strict view has no holes: it stands still instead. Where event after event fails in
# the same way it is not they who are at fault, so the view is stopped before it parks the whole
# log: the circuit opens.

SECOND: Final = 1_000_000
"""Microseconds, the unit of every time here."""

LAST_ATTEMPT: Final = 7
"""How often an event is tried before it waits for a person: for a little over an hour in all."""

STRICT_ATTEMPTS: Final = 3
"""How often a strict view tries an event before it is stopped."""

CIRCUIT: Final = 20
"""How many conversations may be parked by one kind of error before the view is stopped."""


def retry_after(attempts: int) -> int | None:
    """Return how many microseconds after a failed attempt the next one is due; None is never.

    A second after the first, four times as long after each further one. `attempts` counts those
    that failed, from 1.
    """
    return None if attempts >= LAST_ATTEMPT else SECOND * 4 ** (attempts - 1)


def stands_still(view: View, attempts: int) -> bool:
    """Whether a strict view is stopped once an event has failed so often."""
    return view.strict and attempts >= STRICT_ATTEMPTS


def circuit_opens(conversations: int) -> bool:
    """Whether a view is stopped, so many of its conversations being parked by errors of one kind.

    Counted are those that were parked since the view was last resumed.
    """
    return conversations >= CIRCUIT


def why_it_stands_still(failure: Failure) -> str:
    """Return what is told of a strict view that was stopped at an event."""
    event = failure.event
    return (
        f"it has no holes and cannot fold event {event.version} ({event.type}) of conversation "
        f"{event.conversation_id}, at position {event.position} of shard {event.shard}: "
        f"{failure.error}. Mend what fails, then resume the view"
    )


def why_the_circuit_opened(kind: str, conversations: int) -> str:
    """Return what is told of a view that was stopped since many events failed alike."""
    return (
        f"{conversations} conversations are parked by errors of one kind, {kind}. Look at the "
        "parked events, mend what fails, then resume the view and retry them"
    )


# The events of a segment of a log, by conversation.

Owner = Callable[[UUID], UUID | None]
"""Tells whose a conversation is, by what a log keeps of that beside its headers."""


def event_batches(
    events: Iterable[RecordedEvent], view: View, owner: Owner | None = None
) -> list[EventBatch]:
    """Return what a view takes of these events, conversation by conversation, each in order."""
    return taken(by_conversation(events, owner), view)


def by_conversation(
    events: Iterable[RecordedEvent], owner: Owner | None = None
) -> list[EventBatch]:
    """Return these events conversation by conversation, each in order, before any view chooses.

    Where a header that would say whose they are cannot be read, `owner` is asked; CorruptRecord if
    that does not know either.
    """
    by_id: dict[UUID, list[RecordedEvent]] = {}
    for event in events:
        by_id.setdefault(event.conversation_id, []).append(event)
    return [
        EventBatch(_tenant(batch[0], owner), conversation_id, tuple(batch))
        for conversation_id, batch in by_id.items()
    ]


def taken(batches: Sequence[EventBatch], view: View) -> list[EventBatch]:
    """Return what a view takes of batches of events."""
    if not view.types:
        return list(batches)
    chosen: list[EventBatch] = []
    for batch in batches:
        events = tuple(event for event in batch.events if event.type in view.types)
        if events:
            chosen.append(
                batch if len(events) == len(batch.events) else replace(batch, events=events)
            )
    return chosen


def part_of(conversation_id: UUID, parts: int) -> int:
    """Return the part of its shard that a conversation belongs to, for ever: by its last byte.

    The last byte of every UUID that is made at random or by digest is evenly spread (RFC 9562).
    """
    return conversation_id.bytes[15] % parts


def _tenant(event: RecordedEvent, owner: Owner | None) -> UUID:
    try:
        return event.client_header().tenant
    except CorruptRecord:
        tenant = None if owner is None else owner(event.conversation_id)
        if tenant is None:
            raise
        return tenant
