"""Projections of one's own for tests: they count every event that they are given, so nothing hides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import onrecord
from onrecord import (
    EventBatch,
    EventSink,
    ProjectionTransaction,
    RecordedEvent,
    RowProjection,
    Store,
    TableProjection,
)
from tests.databases import url_of

STORES = ("sqlite", "memory", "postgres")


class Unwritable(Exception):
    """What a projection raises on purpose."""


@dataclass(eq=False)
class Heard(TableProjection):
    """Keeps a row for every event that it is given, as often as it is given.

    `poison` are versions that it cannot write, `after` is called when it has written.
    """

    name: str = "heard"
    revision: int = 1
    strict: bool = False
    types: Collection[type | str] = frozenset({"message.recorded"})
    poison: set[int] = field(default_factory=set[int])
    after: Callable[[ProjectionTransaction], object] = lambda _: None

    def create_tables(self, transaction: ProjectionTransaction) -> None:
        transaction.execute(
            "CREATE TABLE IF NOT EXISTS heard (generation integer, conversation text, version integer)"
        )

    def write(self, transaction: ProjectionTransaction, events: Sequence[RecordedEvent]) -> None:
        for event in events:
            place = (str(event.conversation_id), event.version)
            transaction.execute(
                "INSERT INTO heard VALUES ($1, $2, $3)", transaction.generation, *place
            )
            if event.version in self.poison:
                raise Unwritable
        self.after(transaction)

    def delete_generation(self, transaction: ProjectionTransaction) -> None:
        transaction.execute("DELETE FROM heard WHERE generation = $1", transaction.generation)

    def forget(self, transaction: ProjectionTransaction, conversation_id: UUID) -> None:
        transaction.execute(
            "DELETE FROM heard WHERE generation = $1 AND conversation = $2",
            *(transaction.generation, str(conversation_id)),
        )


@dataclass(eq=False)
class Mailbox(EventSink):
    """Keeps in memory what is delivered to it, as often as it is."""

    name: str = "mailbox"
    revision: int = 1
    strict: bool = False
    types: Collection[type | str] = frozenset({"message.recorded"})
    poison: set[int] = field(default_factory=set[int])
    mail: list[tuple[UUID, int]] = field(default_factory=list[tuple[UUID, int]])

    def deliver(self, events: Sequence[RecordedEvent]) -> None:
        self.mail += [(event.conversation_id, event.version) for event in events]
        if any(event.version in self.poison for event in events):
            raise Unwritable


def heard(store: Store, projection: TableProjection | None = None) -> list[tuple[str, int]]:
    """The rows of the live generation, sorted: conversations by key."""
    keys = {str(one.conversation_id): one.key or "forgotten" for one in store.conversations()}
    with store.views.read(projection or "heard") as tables:
        rows = tables.execute(
            "SELECT conversation, version FROM heard WHERE generation = $1", tables.generation
        )
    return sorted((keys[conversation], version) for conversation, version in rows)


def generations(store: Store) -> set[int]:
    """The numbers of all rows that there are."""
    with store.views.read("heard") as tables:
        return {number for (number,) in tables.execute("SELECT DISTINCT generation FROM heard")}


def asked(store: Store, key: str, prompts: int = 1) -> None:
    """Prompts in a conversation; the first one has version 2."""
    for number in range(prompts):
        store.conversation(key).user(f"Question {number}")


def opened(kind: str, folder: Path) -> Iterator[Store]:
    """An empty store of a kind, and its end."""
    for url in url_of(kind, folder):
        with onrecord.connect(url) as store:
            yield store


@dataclass(eq=False)
class Lengths(RowProjection):
    """Adds up how long the prompts of a conversation are, by the first letter of what they say."""

    name: str = "lengths"
    revision: int = 1
    strict: bool = False
    types: Collection[type | str] = (onrecord.MessageRecorded,)
    poison: set[int] = field(default_factory=set[int])

    def wanted(self, batch: EventBatch) -> list[str]:
        return [text[0] for text in self.texts(batch)]

    def fold(
        self, batch: EventBatch, rows: Mapping[str, dict[str, Any]]
    ) -> dict[str, dict[str, Any] | None]:
        if any(event.version in self.poison for event in batch.events):
            raise Unwritable
        changed: dict[str, dict[str, Any] | None] = dict(rows)
        for text in self.texts(batch):
            row = changed.get(text[0]) or {"length": 0}
            changed[text[0]] = (
                None if text.endswith("away") else {"length": row["length"] + len(text)}
            )
        return changed

    def texts(self, batch: EventBatch) -> list[str]:
        """What the prompts say, those that were not erased."""
        events = (event.event() for event in batch.events)
        return [
            content.text
            for event in events
            if isinstance(event, onrecord.MessageRecorded)
            for content in event.content
            if isinstance(content, onrecord.Text)
        ]
