"""Views folded from scratch, a conversation at a time, in memory: what their rows should be.

It is a database of SQLite's whatever the log is in, for both databases keep the same rows. Nothing
that is kept is touched by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Final, Protocol
from uuid import UUID, uuid4

from onrecord.adapters.storage.queries import load_migrations
from onrecord.adapters.storage.sqlite.connection import Connections, Session
from onrecord.adapters.views.sqlite.feeding import SqliteRows
from onrecord.adapters.views.sqlite.file import DIALECT
from onrecord.adapters.views.sqlite.kept import kept_rows, kept_sums
from onrecord.domain.inventory import Moment
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.planning import Build, Part
from onrecord.projections.views.step import passages, step
from onrecord.projections.views.view import Feed, Row, View

PAGE: Final = 500
"""How many rows are compared at once."""

_BEFORE_ALL: Final = -(2**62)
_ALL: Final = 2**62


class Folding:
    """A view's fold of the conversation that is being read, as far as the kept rows have come."""

    def __init__(
        self, session: Session, view: View, build: Build, until: int, waits: int | None
    ) -> None:
        """Fold events up to position `until`, and before the version that the conversation waits at."""
        self.build = build
        self.has_failed = False
        self._session, self._feed = session, Feed(view, build.number)
        self._until, self._waits = until, waits

    def take(self, events: Sequence[RecordedEvent], tenant: UUID) -> None:
        """Fold the next events; one that cannot be folded ends it, as it does where views are kept."""
        due = [event for event in events if self.is_due(event)]
        if self.has_failed or not due:
            return
        said = passages(due, self._feed.view, lambda _: tenant)
        self.has_failed = bool(step(self._feed, said, SqliteRows(self._session)))

    def is_due(self, event: RecordedEvent) -> bool:
        """Return whether the kept rows have come as far as an event."""
        is_before = self._waits is None or event.version < self._waits
        return is_before and event.position <= self._until

    def rows(self, conversation: str) -> Iterator[Row]:
        """Yield the rows that came of it, in order of version."""
        return paged(lambda after: kept_rows(self._session, self.build, conversation, after, PAGE))

    def clear(self) -> None:
        """Take the rows away again."""
        self._session.run(f"{self.build.view}_sweep", self.build.number, _ALL)


class Scratch:
    """The rows in memory; a session is in a transaction of its own."""

    def __init__(self, connections: Connections) -> None:
        """Use a database that was made for this."""
        self._connections = connections

    @contextmanager
    def session(self) -> Generator[Session]:
        """Lend a session to fold with."""
        with self._connections.transaction() as session:
            yield session

    def sums(self, build: Build) -> list[Row]:
        """Return the rows of `usage` that came of all conversations so far."""
        with self._connections.borrowed() as session:
            return kept_sums(session, build)


@contextmanager
def scratch() -> Generator[Scratch]:
    """Lend a database in memory that is gone afterwards."""
    with closing(Connections(f"file:/onrecord-{uuid4().hex}?vfs=memdb", 10.0, DIALECT)) as made:
        with made.transaction() as session:
            for migration in load_migrations(DIALECT):
                session.migrate(migration.sql)
        yield Scratch(made)


def paged(page: Callable[[int], list[Row]]) -> Iterator[Row]:
    """Yield the rows of pages, each of which is asked for by the version before it."""
    after = _BEFORE_ALL
    while rows := page(after):
        yield from rows
        after = rows[-1]["version"]


# What is kept of views, row by row, for `onrecord verify --views`: a port that each database
# fills.


class KeptMoment(Protocol):
    """The views as they were at one moment, and the log then, or a little later."""

    @property
    def log(self) -> Moment:
        """Return the log, which has all events that the views had folded."""
        ...

    @property
    def pending(self) -> Collection[str]:
        """Return the conversations that the log has erased and the views have still to."""
        ...

    def builds(self) -> list[Build]:
        """Return every generation of every view."""
        ...

    def positions(self, build: Build) -> Mapping[Part, int]:
        """Return how far a generation has come in each part."""
        ...

    def parked(self, build: Build) -> Mapping[str, int]:
        """Return the conversations that wait in a generation, and from which version on."""
        ...

    def rows(self, build: Build, conversation: str, after: int, limit: int) -> list[Row]:
        """Return rows of a conversation in order of version, those behind a version."""
        ...

    def sums(self, build: Build) -> list[Row]:
        """Return all rows of a generation of `usage`."""
        ...

    def conversations(self, build: Build, after: str | None, limit: int) -> list[str]:
        """Return of which conversations there are rows, in order, those behind one."""
        ...

    def generations(self, view: str) -> set[int]:
        """Return of which generations of a view there are rows."""
        ...


class KeptViews(Protocol):
    """The views of a log as its database has them. Nothing that is asked changes them."""

    @property
    def parts(self) -> int:
        """Return into how many parts each shard is divided."""
        ...

    def unreadable(self) -> str | None:
        """Return why there is nothing to compare, if so."""
        ...

    def moment(self) -> AbstractContextManager[KeptMoment]:
        """Lend the views as they are now, for a short while."""
        ...

    def index_faults(self) -> list[str]:
        """Return what does not hold of indexes that are kept beside the rows."""
        ...
