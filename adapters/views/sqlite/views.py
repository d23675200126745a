"""The views of a SQLite log, or of one in memory: no daemon keeps them, they catch up when read."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar, cast
from uuid import UUID

from pydantic_core import from_json

from onrecord.adapters.inputs.arguments import id_given
from onrecord.adapters.storage.interrupts import releasing
from onrecord.adapters.storage.sqlite.connection import Row as DatabaseRow
from onrecord.adapters.storage.sqlite.connection import Session
from onrecord.adapters.storage.sqlite.file import residue_of
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.adapters.views.following import ReadingRunner
from onrecord.adapters.views.late_redactions import (
    conversations_quoted,
    redactions_behind,
    versions_redacted,
)
from onrecord.adapters.views.ports import (
    Naming,
    PageQuery,
    PageRows,
    Parked,
    Progress,
    Reading,
    ViewStatus,
    standstill,
    view_of,
)
from onrecord.adapters.views.sqlite.builds import (
    abandon,
    begin,
    begin_building,
    build,
    catch_up,
    give_up_building,
    state_of,
    state_read,
    sweep_retired,
)
from onrecord.adapters.views.sqlite.feeding import FIRST_PAGE, Feeding, Stopped
from onrecord.adapters.views.sqlite.file import ViewsFile, erase
from onrecord.adapters.views.sqlite.kept import SqliteKept
from onrecord.adapters.views.sqlite.tables import SqliteTransaction, handed_over
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageBusy, ViewStopped
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.projections.views.planning import Room
from onrecord.projections.views.registry import VIEWS, Textless
from onrecord.projections.views.view import Row, View

BRIEFLY: Final = 1.0
"""How many seconds a reader waits while another process catches the view up, which takes half of it;
then it answers with what is there."""

P = ParamSpec("P")
T = TypeVar("T")


def microseconds() -> int:
    """Return the time, in microseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1000


def _on_a_whole_file(
    verb: Callable[Concatenate[SqliteViews, P], T],
) -> Callable[Concatenate[SqliteViews, P], T]:
    """Let a verb begin once more, on a file made anew, where the views' file is damaged."""

    @releasing
    @wraps(verb)
    def call(views: SqliteViews, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return verb(views, *args, **kwargs)
        except CorruptRecord:
            if not views.mend():
                raise
        return verb(views, *args, **kwargs)

    return call


class SqliteViews:
    """Reads and keeps the views of a log. Safe for threads, processes and forks."""

    def __init__(
        self,
        log: Backend,
        path: Path | None,
        *,
        wait: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], int] = microseconds,
        naming: Naming = list,
        views: dict[str, View] | None = None,
        reading: Reading = list,
    ) -> None:
        """Keep the views of a log beside its file, at `<path>-views`; in memory without a path.

        `wait` is how many seconds a writer waits for its turn before StorageBusy; `clock` tells the
        seconds that catching up takes, `now` the time; `naming` gives parked events their keys.
        `views` are those that are kept, to which more may come; without it, the maintained ones.
        The log is as it is stored; `reading` decrypts its events.
        """
        place = None if path is None else path.with_name(f"{path.name}-views")
        self._log = log
        self._file = ViewsFile(place, wait)
        self.known = dict(VIEWS) if views is None else views
        self._rooms: dict[str, Room] = {}
        self._clock = clock
        self._now = now
        self._with_keys = naming
        self._reading_of = reading

    @_on_a_whole_file
    def page(self, query: PageQuery) -> PageRows:
        """Return a page of a view, caught up by a bounded step."""
        self._catch_up(query.view)
        name, last = query.view.name, self._log.cursors()[0].position
        with self._reading() as session:
            state = state_of(session, name)
            live = state.live
            if live is None:
                why = standstill(name, state.stopped, paused=state.paused)
                return PageRows((), 0, last, 0, why)
            tenant = str(query.tenant)
            texts = session.all(query.name, live.number, tenant, *query.parameters())
            parked = [
                of for (of,) in session.all("conversations_parked", name, live.number, tenant)
            ]
        rows = tuple(cast("Row", from_json(text)) for (text,) in texts)
        behind = max(0, last - live.position)
        why = standstill(name, state.standstill(query.view), paused=state.paused)
        quoted = conversations_quoted(query.view, rows) if behind or parked else []
        late = self._late(quoted, live.position, parked)
        return PageRows(rows, live.position, behind, len(parked), why, late)

    @contextmanager
    def reading(self, view: View) -> Generator[SqliteTransaction]:
        """Lend a transaction that reads the tables of a projection of one's own, after it was caught up."""
        self.catch_up(view)
        failure: Exception | None = None
        with self._reading() as session:
            live = state_of(session, view.name).live
            session.run("refuse_writes")
            try:
                with handed_over(session, 0 if live is None else live.number) as transaction:
                    yield transaction
            except Exception as error:  # noqa: BLE001 - the reader's own: it is no error of the store
                failure = error
            finally:
                session.run("allow_writes")
        if failure is not None:
            raise failure

    def runner(self, view: View, wakeups: Wakeups) -> ReadingRunner:
        """Return who reads a view on until it is stopped."""
        return ReadingRunner(
            lambda: self.catch_up(view), lambda: self._log.cursors()[0].position, wakeups
        )

    @_on_a_whole_file
    def catch_up(self, view: View) -> ViewStatus:
        """Catch a view up by a bounded step, and return how it stands."""
        self._catch_up(view)
        return self._status(view.name)

    @_on_a_whole_file
    def erase(self) -> None:
        """Return once no row says any more what the log has erased."""
        if not self._file.is_there():
            return
        with self._turn():
            if not erase(self._log, self._file, patiently=True):
                raise StorageBusy(
                    "it is erased, but a program reads from the views, whose write-ahead log still "
                    "holds it: end that program, then forget the conversation again"
                )

    @_on_a_whole_file
    def residue(self) -> tuple[str, ...]:
        """Say where rows that were erased may still be on the disk, and what to do."""
        if self._file.path is None or not self._file.is_there():
            return ()
        with self._turn():
            return (residue_of(self._file.path),) if self._file.has_residue() else ()

    @_on_a_whole_file
    def rewrite(self) -> tuple[str, ...]:
        """Write the file anew if it may hold rows that were erased; return its name if none are left."""
        if self._file.path is None or not self._file.is_there():
            return ()
        with self._turn():
            is_anew = self._file.has_residue() and self._file.write_anew()
            return (self._file.path.name,) if is_anew else ()

    def mend(self) -> bool:
        """Make the file anew if it is damaged; return whether it was."""
        # If the log is what is damaged, its views are the last good thing.
        if not self._file.is_damaged():
            return False
        with self._turn():
            self._file.begin_anew(self._incarnation())
        return True

    def kept(self) -> SqliteKept:
        """Return what is kept, row by row."""
        maintained = {name: self.known[name] for name in VIEWS}
        return SqliteKept(self._log, self._file, maintained, reading=self._reading_of)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @_on_a_whole_file
    def status(self) -> list[ViewStatus]:
        """Return how each view stands, by name."""
        return [self._status(name) for name in sorted(self.known)]

    def at_work(self) -> None:
        """Return nothing: who reads a view catches it up."""

    @_on_a_whole_file
    def parked(self, view: str | None = None) -> list[Parked]:
        """Return the parked events of a view, or of all."""
        name = None if view is None else view_of(view, self.known).name
        if not self._file.is_there():
            return []
        with self._turn(), self._file.borrowed() as session:
            rows = session.all("parked_of", name)
        return self._with_keys([_parked(row) for row in rows])

    @releasing
    def pause(self, view: str) -> None:
        """Let a view stand still until it is resumed."""
        with self._changing(view_of(view, self.known)) as session:
            session.run("pause_view", view)

    @releasing
    def resume(self, view: str) -> None:
        """Let a view go on from where it stands."""
        with self._changing(view_of(view, self.known)) as session:
            session.run("resume_view", view, self._now())

    @_on_a_whole_file
    def retry(self, view: str, conversation: UUID | None = None) -> int:
        """Try the parked events of a view, or of one conversation, again; return how many."""
        known = view_of(view, self.known)
        which = None if conversation is None else str(id_given("a conversation", conversation))
        with self._changing(known) as session:
            session.run("retry_parked", view, which)
            marked = session.changed()
        self._catch_up(known)
        return marked

    @_on_a_whole_file
    def rebuild(self, view: str, progress: Progress | None = None) -> None:
        """Make a view anew beside the one that is read, and return when they are switched."""
        known = view_of(view, self.known)
        with self._changing(known) as session:
            state = state_of(session, view)
            building = state.building
            if state.paused:
                raise InvalidInput(f"{view} is paused: resume it, then rebuild it")
            if building is None or building.revision != known.revision:
                begin_building(session, known, self._now())
                building = state_of(session, view).building
        assert building is not None
        while not self._built(known, building.number, progress):
            pass
        self._sweep(known)

    @_on_a_whole_file
    def abandon(self, view: str) -> bool:
        """Drop what an unfinished rebuild has made; return whether there was one."""
        known = view_of(view, self.known)
        with self._changing(known) as session:
            dropped = abandon(session, view)
        self._sweep(known)
        return dropped

    def _catch_up(self, view: View) -> None:
        known = self.known.get(view.name)
        # Whoever asks for a view by itself gets no text into an encrypted store.
        view = known if isinstance(known, Textless) else view
        try:
            with self._turn(BRIEFLY):
                catch_up(self._feeding(view), view)
        except StorageBusy:
            if not self._may_answer():
                with self._turn():
                    catch_up(self._feeding(view), view)

    def _may_answer(self) -> bool:
        """Whether what is there holds nothing that was erased, and can be read."""
        if not self._file.is_prepared(self._incarnation()):
            return False
        with self._file.borrowed() as session:
            (done, _) = session.one("erasing") or (0, 0)
        return bool(self._log.erasures() == done)

    def _late(
        self, quoted: Sequence[UUID], position: int, parked: Collection[str]
    ) -> Mapping[str, frozenset[int]]:
        """Return what is redacted by now in conversations; the view has come to that position."""
        late: list[RecordedEvent] = []
        for of in quoted:
            late += redactions_behind(self._log, of, 0 if str(of) in parked else position)
        return versions_redacted(self._reading_of(late))

    def _status(self, name: str) -> ViewStatus:
        last = self._log.cursors()[0].position
        if not self._file.is_there():
            return ViewStatus(name, None, None, 0, last, 0)
        with self._turn(), self._reading() as session:
            state = state_of(session, name)
            live, building = state.live, state.building
            number = 0 if live is None else live.number
            (parked,) = session.one("count_parked", name, number, None) or (0,)
        return ViewStatus(
            view=name,
            generation=None if live is None else live.number,
            revision=None if live is None else live.revision,
            position=0 if live is None else live.position,
            events=last,
            parked=parked,
            paused=state.paused,
            stopped=state.standstill(self.known[name]),
            building=None if building is None else building.number,
            built=None if building is None else building.position,
        )

    def _built(self, view: View, number: int, progress: Progress | None) -> bool:
        with self._turn():
            feeding = self._feeding(view)
            before = state_read(feeding.file, view.name)
            try:
                state = build(feeding, view, number)
            except Stopped as exc:
                if not before.stopped:
                    give_up_building(feeding.file, view)
                raise ViewStopped(f"the rebuild of {view.name} stopped: {exc}") from exc
        building, live = state.of(number), state.live
        last = self._log.cursors()[0].position
        if progress is not None and building is not None:
            progress(min(building.position, last), last)
        if building is not None and building.status == "building":
            return False
        if live is None or live.number < number:
            raise ViewStopped(f"the rebuild of {view.name} was abandoned: begin another")
        return True

    def _sweep(self, view: View) -> None:
        while True:
            with self._turn():
                if not sweep_retired(self._feeding(view), view):
                    return

    @contextmanager
    def _turn(self, wait: float | None = None) -> Generator[None]:
        with self._file.turn(self._incarnation(), wait):
            yield

    def _incarnation(self) -> UUID:
        """Return the incarnation that the log has now: another process may have found that it was cut."""
        return self._log.cursors()[0].incarnation

    @contextmanager
    def _changing(self, view: View) -> Generator[Session]:
        with self._turn(), self._file.transaction() as session:
            begin(session, view, self._now())
            yield session

    @contextmanager
    def _reading(self) -> Generator[Session]:
        with self._file.borrowed() as session:
            try:
                session.run("begin_reading")
                yield session
            finally:
                session.abandon()

    def _feeding(self, view: View) -> Feeding:
        room = self._rooms.setdefault(view.name, Room(FIRST_PAGE))
        return Feeding(self._log, self._file, self._now(), room, self._clock, self._reading_of)


def _parked(row: DatabaseRow) -> Parked:
    view, generation, tenant, conversation, *rest = row
    return Parked(view, generation, UUID(tenant), UUID(conversation), *rest)
