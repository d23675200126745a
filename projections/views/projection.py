"""Projections of one's own: what a program adds to the maintained views.

A `RowProjection` folds events into rows that the store keeps. A `TableProjection` writes into tables of
the caller's, in the transaction that moves its checkpoint. An `EventSink` takes events anywhere else. All
are kept as the maintained views are: with generations, checkpoints, parked events, pauses and rebuilds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol
from uuid import UUID

from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.view import EventBatch, Row


class ProjectionTransaction(Protocol):
    """A transaction in the database of the views. Whoever lends it begins and ends it.

    `generation` is the number of the rows that are written or read: rows of different numbers stand
    side by side while a projection is rebuilt.
    """

    @property
    def database(self) -> Literal["sqlite", "postgresql"]:
        """Return which database it is."""
        ...

    @property
    def generation(self) -> int:
        """Return the number that the rows bear."""
        ...

    @property
    def connection(self) -> Any:
        """Return the driver's own connection: of apsw on SQLite, of psycopg on PostgreSQL.

        Its transaction must not be ended.
        """
        ...

    def execute(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows; `$1`, `$2` stand for the parameters, on both databases.

        Raises what the driver raises, and InvalidInput for a statement that would end the transaction.
        Several statements at once are refused, and none of them is run: InvalidInput on SQLite, the
        driver's SyntaxError on PostgreSQL.
        """
        ...


class NamedProjection(ABC):
    """What each projection of one's own says of itself.

    `name` is its word in commands and tables: small letters, digits and _. A `revision` that changes asks
    for a rebuild. `types` are the events that it takes: their classes, or their stored names; none means
    all. A `strict` one stands still at an event that it cannot take, where others park it.
    """

    name: str
    revision: int = 1
    strict: bool = False
    types: Collection[type | str] = ()


class RowProjection(NamedProjection):
    """A pure fold into rows that the store keeps, by their names: exactly once.

    Subclass it and say `name`. A row belongs to a conversation and is a JSON object; `store.views.rows`
    reads it. What is forgotten leaves the rows within `store.forget`.
    """

    @abstractmethod
    def wanted(self, batch: EventBatch) -> Iterable[str]:
        """Return the names of the rows of this conversation that folding its events reads or changes."""

    @abstractmethod
    def fold(self, batch: EventBatch, rows: Mapping[str, Row]) -> Mapping[str, Row | None]:
        """Return the rows that these events change, by name; None takes one away.

        Each is a wanted one. What is read later is what is returned here, so a row has lists and no tuples,
        and texts as names of members. `batch.events` are of one conversation, in order. `rows` are the wanted ones that are there. Folding
        events at once, or one after the other with the rows in between, gives the same.
        """


class ProjectionRow(NamedTuple):
    """A row of a `RowProjection`, for example name "2026-11-23" and value {"cents": 1250}.

    `key` is the conversation's: None once it was forgotten.
    """

    name: str
    value: Row
    conversation_id: UUID
    key: str | None = None


class TableProjection(NamedProjection):
    """A projection that writes into tables of the caller's own: exactly once.

    Subclass it and say `name`. The tables are in the database of the log, on SQLite in the file of the
    views. Each method has a transaction, which moves the checkpoint too: it is all kept, or nothing is.
    One that raises undoes what it wrote.
    """

    def create_tables(self, transaction: ProjectionTransaction) -> None:
        """Make the tables where they are not there; called whenever they are about to be used first."""
        del transaction

    @abstractmethod
    def write(self, transaction: ProjectionTransaction, events: Sequence[RecordedEvent]) -> None:
        """Write what these events come to, under `transaction.generation`.

        They are new, those of a conversation in order of version. Where it raises, they are handed
        over again one by one, and the one that raises is parked.
        """

    @abstractmethod
    def delete_generation(self, transaction: ProjectionTransaction) -> None:
        """Delete all rows of `transaction.generation`: another one took their place."""

    @abstractmethod
    def forget(self, transaction: ProjectionTransaction, conversation_id: UUID) -> None:
        """Delete what rows of `transaction.generation` say of a conversation that was forgotten."""


class EventSink(NamedProjection):
    """A projection into anything else than the log's database: at least once.

    Subclass it and say `name`. The checkpoint moves after `deliver` has returned.
    """

    @abstractmethod
    def deliver(self, events: Sequence[RecordedEvent]) -> None:
        """Take these events, those of a conversation in order of version.

        They come again where it raises, where the process ends before the checkpoint moved, and in a
        rebuild: `event_id` tells which were taken before. `erasure.completed` among the types tells
        what was forgotten.
        """


class LibraryProjection(Protocol):
    """A `Projection` of the `eventsourcing` library, which need not be installed."""

    @property
    def name(self) -> str:
        """Return its name; in small letters it is the one that commands take."""
        ...

    @property
    def topics(self) -> Sequence[str]:
        """Return the topics of the events that it gets; none means all."""
        ...

    @property
    def view(self) -> Any:
        """Return its tracking recorder."""
        ...

    @property
    def process_event(self) -> Any:
        """Return what takes a domain event and its tracking."""
        ...


NativeProjection = RowProjection | TableProjection | EventSink
"""A projection of one of our classes."""

ProjectionClass = type[RowProjection] | type[TableProjection] | type[EventSink]
"""The class of a projection, of which one is made without arguments."""

OwnProjection = NativeProjection | LibraryProjection | ProjectionClass
