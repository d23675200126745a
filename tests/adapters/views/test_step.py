"""A step: all conversations together; one that fails fails alone, from its failing event on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.errors import CorruptRecord, StorageUnavailable
from onrecord.domain.events import AnnotationAdded
from onrecord.projections.views.step import (
    Failure,
    NotWritten,
    Refused,
    event_batches,
    part_of,
    step,
)
from onrecord.projections.views.view import Changes, EventBatch, Feed, Row, rows_json
from tests.adapters.views.row_stores import everything
from tests.factories import appending, prompt, started


@dataclass(frozen=True)
class Versions:
    """A view that notes each version, and does not take events with a label `poison`."""

    name: str = "versions"
    revision: int = 1
    strict: bool = False
    types: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    error: Exception = field(default_factory=lambda: ZeroDivisionError("the text of a message"))

    def wanted(self, batch: EventBatch) -> list[Row]:
        return [{"conversation_id": str(batch.conversation_id)}]

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        if any(b"poison" in (event.body or b"") for event in batch.events):
            raise self.error
        name = str(batch.conversation_id)
        noted = [version for row in known for version in row["versions"]]
        seen = [event.version for event in batch.events]
        return Changes(put=({"conversation_id": name, "versions": [*noted, *seen]},))


@dataclass
class Noted:
    """Rows in a dict; `refused` are versions that this database does not take."""

    held: dict[str, Row] = field(default_factory=dict[str, Row])
    parked: frozenset[UUID] = frozenset()
    refused: frozenset[int] = frozenset()

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        return self.parked.intersection(conversations)

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        names = {key["conversation_id"] for key in keys}
        return [row for name, row in self.held.items() if name in names]

    def write(self, feed: Feed, changes: Changes) -> None:
        if any(not self.refused.isdisjoint(row["versions"]) for row in changes.put):
            raise Refused
        self.held |= {row["conversation_id"]: row for row in changes.put}

    def versions(self, conversation: UUID) -> list[int]:
        return list(self.held.get(str(conversation), {"versions": []})["versions"])


@dataclass(frozen=True)
class HandingOn(Versions):
    """A view that hands on its events."""

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        return Changes(events=batch.events)


@dataclass
class Handed(Noted):
    """Rows that hand on events, and fail at each that has a version of `failing`; `tried` are all."""

    failing: frozenset[int] = frozenset()
    tried: list[list[int]] = field(default_factory=list[list[int]])

    def write(self, feed: Feed, changes: Changes) -> None:
        versions = [event.version for event in changes.events]
        self.tried.append(versions)
        event = next((event for event in changes.events if event.version in self.failing), None)
        if event is not None:
            raise NotWritten(ZeroDivisionError(), event)


FEED = Feed(Versions(), 1)


def stepped(log: Memory, rows: Noted, feed: Feed = FEED) -> list[Failure]:
    return step(feed, event_batches(everything(log), feed.view), rows)


def log_of(*poisoned: UUID, well: Sequence[UUID] = ()) -> Memory:
    log = Memory()
    poison = AnnotationAdded(labels={"poison": "yes"})
    for conversation in well:
        log.append([appending(conversation, started(), prompt(), prompt())])
    for conversation in poisoned:
        log.append([appending(conversation, started(), prompt(), poison, prompt())])
    return log


def test_a_conversation_that_fails_keeps_what_came_before_and_the_others_lose_nothing() -> None:
    ill, well = uuid4(), [uuid4(), uuid4()]
    rows = Noted()
    (failure,) = stepped(log_of(ill, well=well), rows)
    assert (failure.event.conversation_id, failure.event.version) == (ill, 3)
    assert rows.versions(ill) == [1, 2]
    assert [rows.versions(conversation) for conversation in well] == [[1, 2, 3]] * 2


def test_a_failure_tells_where_it_was_raised_and_nothing_of_what_was_said() -> None:
    (failure,) = stepped(log_of(uuid4()), Noted())
    assert failure.kind == "ZeroDivisionError"
    assert failure.error.startswith("ZeroDivisionError at test_step.py:")
    assert "message" not in failure.error


def test_a_row_that_the_database_refuses_fails_its_own_conversation_only() -> None:
    first, second = uuid4(), uuid4()
    log = Memory()
    log.append([appending(first, started(), prompt(), prompt(), prompt())])
    log.append([appending(second, started(), prompt())])
    rows = Noted(refused=frozenset([4]))
    (failure,) = stepped(log, rows)
    assert (failure.event.conversation_id, failure.event.version) == (first, 4)
    assert rows.versions(first) == [1, 2, 3]
    assert rows.versions(second) == [1, 2]


def test_what_waits_behind_a_parked_event_is_left_out() -> None:
    waiting, free = uuid4(), uuid4()
    rows = Noted(parked=frozenset([waiting]))
    assert stepped(log_of(well=[waiting, free]), rows) == []
    assert (rows.versions(waiting), rows.versions(free)) == ([], [1, 2, 3])


def test_events_are_handed_on_around_those_that_fail_and_never_none() -> None:
    conversation = uuid4()
    log = Memory()
    log.append([appending(conversation, started(), prompt(), prompt())])
    rows = Handed(failing=frozenset([1]))
    feed = Feed(HandingOn(), 1)
    (failure,) = stepped(log, rows, feed)
    assert failure.event.version == 1
    assert rows.tried == [[1, 2, 3], [1, 2, 3]]


def test_an_event_whose_bytes_lie_fails_as_any_other() -> None:
    ill, well = uuid4(), uuid4()
    rows = Noted()
    feed = Feed(Versions(error=CorruptRecord("it does not have its shape")), 1)
    (failure,) = stepped(log_of(ill, well=[well]), rows, feed)
    assert (failure.kind, failure.event.version) == ("CorruptRecord", 3)
    assert (rows.versions(ill), rows.versions(well)) == ([1, 2], [1, 2, 3])


def test_a_database_that_fails_while_a_failure_is_looked_for_is_not_the_events_fault() -> None:
    @dataclass
    class Going(Noted):
        asked: int = 0

        def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
            self.asked += 1
            if self.asked > 1:
                raise StorageUnavailable("gone")
            return super().known(feed, keys)

    with pytest.raises(StorageUnavailable):
        stepped(log_of(uuid4()), Going())


def test_a_database_that_fails_parks_nothing() -> None:
    @dataclass
    class Gone(Noted):
        def write(self, feed: Feed, changes: Changes) -> None:
            raise StorageUnavailable("gone")

    with pytest.raises(StorageUnavailable):
        stepped(log_of(uuid4()), Gone())


def test_a_conversation_is_in_one_part_for_ever() -> None:
    assert [part_of(UUID(int=number), 4) for number in (0, 1, 5, 255, 256)] == [0, 1, 1, 3, 0]


def test_texts_that_no_database_stores_become_storable_rows() -> None:
    row = {"said": "a\0b\ud800", "parts": ["\0"], "number": 2**60, "literal": r"\u0000"}
    assert rows_json([row]) == (
        '[{"said":"a\ufffdb?","parts":["\ufffd"],"number":1152921504606846976,'
        r'"literal":"\\u0000"}]'
    )
