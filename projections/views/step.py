"""One step of a view: what it has not folded yet becomes rows, and what fails is told apart.

All conversations of a step are folded and written together. Where one of them fails, it is done
again alone, event by event, so that everything before the failing event is kept, and nothing of
the others is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol
from uuid import UUID

from onrecord.domain.errors import CorruptRecord, OnrecordError
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.view import Changes, Feed, Passage, Row, View


class Refused(Exception):
    """The database refuses a value of a row or of a key; nothing was written or told.

    Its message is the name of the driver's error, which tells nothing of the value.
    """


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
        """Write changes, all or none; Refused where the database refuses a value."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """An event that a view could not fold or write. `error` tells nothing of what was said."""

    tenant: UUID
    event: RecordedEvent
    kind: str
    error: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a view is about to fold, and the keys of the rows that it has to know for that."""

    found: list[Passage]
    keys: list[Row]


def step(feed: Feed, found: Sequence[Passage], rows: Rows) -> list[Failure]:
    """Fold passages into rows, and return the first failure of each conversation that has one.

    What comes behind a failure, and behind an event that is parked already, is left out. Raises
    StorageError where the database itself fails.
    """
    return finish(feed, ask(feed, found, rows), rows)


def ask(feed: Feed, found: Sequence[Passage], rows: Rows) -> Asked:
    """Do the first half of a step, so that the rows of several views can be asked for at once."""
    held = rows.blocked(feed, [passage.conversation_id for passage in found])
    free = [passage for passage in found if passage.conversation_id not in held]
    keys: list[Row] = []
    for passage in free:
        keys += _wanted(feed, passage)
    return Asked(free, keys)


def finish(feed: Feed, asked: Asked, rows: Rows) -> list[Failure]:
    """Do the second half of a step: fold and write."""
    if not asked.found:
        return []
    try:
        folded, doubtful = _folded(feed, asked, rows)
        rows.write(feed, _together(folded))
    except Refused:
        doubtful = asked.found
    failures = (_one_by_one(feed, passage, rows) for passage in doubtful)
    return [failure for failure in failures if failure is not None]


def _folded(feed: Feed, asked: Asked, rows: Rows) -> tuple[list[Changes], list[Passage]]:
    """Return the changes of the passages that fold, and the passages that do not."""
    known: dict[str, list[Row]] = {}
    for row in rows.known(feed, asked.keys) if asked.keys else ():
        known.setdefault(row["conversation_id"], []).append(row)
    folded: list[Changes] = []
    doubtful: list[Passage] = []
    for passage in asked.found:
        try:
            changes = feed.view.fold(passage, known.get(str(passage.conversation_id), ()))
        except Exception:  # noqa: BLE001 - whatever a fold raises: its event is looked for alone
            doubtful.append(passage)
        else:
            folded.append(changes)
    return folded, doubtful


def _wanted(feed: Feed, passage: Passage) -> list[Row]:
    try:
        return feed.view.wanted(passage)
    except Exception:  # noqa: BLE001 - the same failure shows again where it is looked for
        return []


def _one_by_one(feed: Feed, passage: Passage, rows: Rows) -> Failure | None:
    for event in passage.events:
        why = _why_not(feed, replace(passage, events=(event,)), rows)
        if why is not None:
            return Failure(passage.tenant, event, type(why).__name__, _told(why))
    return None


def _why_not(feed: Feed, alone: Passage, rows: Rows) -> Exception | None:
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
    except Refused as exc:
        return exc
    return None


def _together(folded: Sequence[Changes]) -> Changes:
    return Changes(
        tuple(row for changes in folded for row in changes.put),
        tuple(row for changes in folded for row in changes.drop),
    )


def _told(error: Exception) -> str:
    """Return what may be shown of an error: our own words, else only where it was raised."""
    if isinstance(error, OnrecordError):
        return str(error)
    if isinstance(error, Refused):
        return f"the database refuses a value: {error}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    place = Path(trace.tb_frame.f_code.co_filename).name
    return f"{type(error).__name__} at {place}:{trace.tb_lineno}"


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


# The events of a stretch of a log, by conversation.

Owner = Callable[[UUID], UUID | None]
"""Tells whose a conversation is, by what a log keeps of that beside its headers."""


def passages(
    events: Iterable[RecordedEvent], view: View, owner: Owner | None = None
) -> list[Passage]:
    """Return what a view takes of these events, conversation by conversation, each in order."""
    return taken(by_conversation(events, owner), view)


def by_conversation(events: Iterable[RecordedEvent], owner: Owner | None = None) -> list[Passage]:
    """Return these events conversation by conversation, each in order, before any view chooses.

    Where a header that would say whose they are cannot be read, `owner` is asked; CorruptRecord if
    that does not know either.
    """
    found: dict[UUID, list[RecordedEvent]] = {}
    for event in events:
        found.setdefault(event.conversation_id, []).append(event)
    return [
        Passage(_tenant(of[0], owner), conversation_id, tuple(of))
        for conversation_id, of in found.items()
    ]


def taken(found: Sequence[Passage], view: View) -> list[Passage]:
    """Return what a view takes of passages."""
    if not view.types:
        return list(found)
    chosen: list[Passage] = []
    for passage in found:
        events = tuple(event for event in passage.events if event.type in view.types)
        if events:
            chosen.append(
                passage if len(events) == len(passage.events) else replace(passage, events=events)
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
        found = None if owner is None else owner(event.conversation_id)
        if found is None:
            raise
        return found
