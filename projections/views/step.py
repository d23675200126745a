"""One step of a view: what it has not folded yet becomes rows, and what fails is told apart.

All conversations of a step are folded and written together. Where one of them fails, it is done
again alone, event by event, so that everything before the failing event is kept, and nothing of
the others is lost.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from uuid import UUID

from onrecord.domain.errors import OnrecordError
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.view import Changes, Feed, Passage, Row


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
