"""What is kept of views on SQLite, and views folded from scratch in memory, for `onrecord verify --views`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final
from uuid import UUID, uuid4

from pydantic_core import from_json

from onrecord.adapters.storage.queries import load_migrations
from onrecord.adapters.storage.sqlite.connection import Connections, Session
from onrecord.adapters.storage.sqlite.inventory import faults_of_file
from onrecord.adapters.views.ports import Reading
from onrecord.adapters.views.sqlite.feeding import SqliteRows
from onrecord.adapters.views.sqlite.file import DIALECT, ViewsFile, made_of
from onrecord.domain.errors import CorruptRecord, StorageReadOnly
from onrecord.domain.inventory import Moment
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.projections.views.planning import Build, Part
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.step import event_batches, step
from onrecord.projections.views.view import Feed, Row, View

_JSON: Final = frozenset(
    (
        *("participants", "providers", "models", "metadata", "state"),
        *("erasure", "documents", "labels"),
    )
)
"""Columns that hold JSON: how it is written is the database's own affair."""


class SqliteKept:
    """The views' file of a log, read and left as it is: who reads pages mends it, this tells of it."""

    def __init__(
        self,
        log: Backend,
        file: ViewsFile,
        views: Mapping[str, View] = VIEWS,
        *,
        reading: Reading = list,
    ) -> None:
        """Read a file that may not be there; `views` are the maintained ones, `reading` decrypts events."""
        self._log, self._file, self.views, self._reading = log, file, views, reading

    def readable(self, events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
        """Return events of the log with their bodies as text."""
        return self._reading(events)

    @property
    def parts(self) -> int:
        """Return 1: a SQLite log is not divided."""
        return 1

    def unreadable(self) -> str | None:
        """Return why there is nothing to compare, if so."""
        if not self._file.is_there():
            return "views: there are none yet, they are made as they are read"
        with self._connections() as connections, connections.borrowed() as session:
            made = made_of(session)
            done, _ = (session.one("erasing") if made[0] else None) or (0, 0)
        is_ours = made == (len(load_migrations(DIALECT)), str(self._log.incarnation()))
        if not is_ours or done > self._log.erasures():
            return "views: they are of another log or release, and are made anew as they are read"
        return None

    @contextmanager
    def moment(self) -> Generator[SqliteKeptMoment]:
        """Lend the views as they are now, and the log as it is after that."""
        with self._connections() as connections, connections.borrowed() as session:
            session.run("begin_reading")
            try:
                # Whoever reads first sees the earlier moment: of views, so that no event lacks.
                (done, _) = session.one("erasing") or (0, 0)
                with self._log.inventory().moment() as log:
                    log.heads(None, 1)
                    # Asked last, so that nothing is missing that the log has erased by its moment.
                    pending = frozenset(map(str, self._log.erased(done)))
                    yield SqliteKeptMoment(session, log, pending)
            finally:
                session.abandon()

    def index_faults(self) -> list[str]:
        """Return what does not hold of the file's pages, its indexes, and the index of words."""
        with self._connections() as connections:
            faults = [f"views: their file is damaged: {why}" for why in faults_of_file(connections)]
        try:
            with self._connections() as connections, connections.transaction() as session:
                session.run("check_words")
        except CorruptRecord:
            faults.append("view search: its index of words is not that of its rows")
        except StorageReadOnly:
            pass
        return faults

    @contextmanager
    def _connections(self) -> Generator[Connections]:
        """Lend connections to the file that is there now; another may be in its place by then."""
        if self._file.path is None:
            yield self._file.connections
            return
        with closing(Connections(str(self._file.path), self._file.wait, DIALECT)) as own:
            yield own


class SqliteKeptMoment:
    """The views' file inside a read transaction."""

    def __init__(self, session: Session, log: Moment, pending: Collection[str]) -> None:
        """Read by a session that is in one."""
        self._session = session
        self.log, self.pending = log, pending

    def builds(self) -> list[Build]:
        """Return every generation of every view."""
        return [Build(*row[:4]) for row in self._session.all("kept_builds")]

    def positions(self, build: Build) -> Mapping[Part, int]:
        """Return how far a generation has come."""
        return {
            Part(0, 0): position
            for view, number, _, _, position in self._session.all("kept_builds")
            if (view, number) == (build.view, build.number)
        }

    def parked(self, build: Build) -> Mapping[str, int]:
        """Return the conversations that wait in a generation, and from which version on."""
        return dict(self._session.all("kept_parked", build.view, build.number))

    def rows(self, build: Build, conversation: str, after: int, limit: int) -> list[Row]:
        """Return rows of a conversation in order of version, those behind a version."""
        return kept_rows(self._session, build, conversation, after, limit)

    def sums(self, build: Build) -> list[Row]:
        """Return all rows of a generation of `usage`."""
        return kept_sums(self._session, build)

    def conversations(self, build: Build, after: str | None, limit: int) -> list[str]:
        """Return of which conversations there are rows, in order, those behind one."""
        place = (build.number, after or "", limit)
        return [found for (found,) in self._session.all(f"{build.view}_conversations", *place)]

    def generations(self, view: str) -> set[int]:
        """Return of which generations of a view there are rows."""
        return {number for (number,) in self._session.all(f"{view}_generations")}


def kept_rows(
    session: Session, build: Build, conversation: str, after: int, limit: int
) -> list[Row]:
    """Return rows of a conversation by the names of their columns, those behind a version."""
    place = (build.number, conversation, after, limit)
    return _named(session, build.view, session.all(f"{build.view}_kept", *place))


def kept_sums(session: Session, build: Build) -> list[Row]:
    """Return the rows of a generation of `usage` by the names of their columns."""
    return _named(session, build.view, session.all("usage_kept", build.number))


def _named(session: Session, view: str, rows: list[tuple[Any, ...]]) -> list[Row]:
    names = [name for (name,) in session.all("columns_of", f"view_{view}")] if rows else []
    return [
        {name: _read(name, value) for name, value in zip(names, row, strict=True)} for row in rows
    ]


def _read(name: str, value: Any) -> Any:
    if name not in _JSON or not isinstance(value, str):
        return value
    try:
        return from_json(value)
    except ValueError:
        return value  # It is what nobody wrote, and is not equal to anything that somebody did.


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
        batches = event_batches(due, self._feed.view, lambda _: tenant)
        self.has_failed = bool(step(self._feed, batches, SqliteRows(self._session)))

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


@contextmanager
def scratch() -> Generator[Connections]:
    """Lend a database in memory, to fold in, that is gone afterwards."""
    with closing(Connections(f"file:/onrecord-{uuid4().hex}?vfs=memdb", 10.0, DIALECT)) as made:
        with made.transaction() as session:
            for migration in load_migrations(DIALECT):
                session.migrate(migration.sql)
        yield made


def paged(page: Callable[[int], list[Row]]) -> Iterator[Row]:
    """Yield the rows of pages, each of which is asked for by the version before it."""
    after = _BEFORE_ALL
    while rows := page(after):
        yield from rows
        after = rows[-1]["version"]
