"""A session of ADK as it is stored: its events are items, and its state is folded from them.

An event and all that it does to state is one item, so one commit. The state of an app or of a user
lies in a conversation of its own, which takes up what an event says of it behind that commit, under an
id made of the event's id. Where that did not come about, whoever reads the session next does it; what
was recorded later than the event stays. A summary of the state stands in the log every few events: reading the end of it is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar, cast
from uuid import UUID, uuid4

from onrecord.adapters.frameworks.adk.known_ends import KnownEnds
from onrecord.adapters.frameworks.adk.shared_state import (
    FRAMEWORK,
    SHARED,
    SUMMARY,
    State,
    no_state,
    shared_state,
)
from onrecord.adapters.frameworks.item_events import ItemEvents
from onrecord.adapters.frameworks.session import ItemSession, NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain.errors import (
    ConversationForgotten,
    CorruptRecord,
    IdempotencyMismatch,
    VersionConflict,
)
from onrecord.domain.items import ItemRecorded, StatePut
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Duplicate
from onrecord.projections.frameworks.current_items import CurrentItems, HeldItem

T = TypeVar("T")

_MOST_UNSUMMARISED: Final = 64
_MOST_KNOWN: Final = 1024
"""Sessions whose ends a process knows: that of another one is read."""


class SessionId(NamedTuple):
    """What ADK names a session by."""

    app_name: str
    user_id: str
    session_id: str


class SplitState(NamedTuple):
    """State by whom it belongs to, without the prefixes of its names; `temp:` is in none."""

    app: State
    user: State
    session: State


class SessionEnd(NamedTuple):
    """The end of a session: its last event, or its creation where it has none.

    `creation` is another one each time that a session of this id is created. `delta` is what was said
    of state at `version`. `event_id` is None where the session has no event.
    """

    creation: str
    event_id: str | None
    updated: float
    delta: State
    version: int

    @property
    def marker(self) -> str:
        """What tells this end of a session from any other one of the same id."""
        return f"{self.creation}:{self.event_id or ''}"


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session at a version: its end, its own state, and the last events that were asked for."""

    conversation_id: UUID
    version: int
    end: SessionEnd
    unsummarised: int
    state: State
    events: tuple[HeldItem, ...]

    @property
    def is_summary_due(self) -> bool:
        """Whether the next event brings a summary of the state."""
        return self.unsummarised >= _MOST_UNSUMMARISED


class StoredSessions:
    """The sessions of ADK in a store; safe to share between threads."""

    def __init__(self, sessions: Sessions) -> None:
        """Find sessions by their ids."""
        self.sessions = sessions
        self._ends = KnownEnds[SessionId, StoredSession](_MOST_KNOWN)

    def of(self, sid: SessionId) -> ItemSession:
        """Return a session's conversation."""
        return self.sessions.session("session", *sid)

    def ids(self, app_name: str, user_id: str | None) -> list[SessionId]:
        """Return the sessions of an app, or of one of its users."""
        scope = (app_name,) if user_id is None else (app_name, user_id)
        listed = self.sessions.listed("session", *scope, parts=3 - len(scope))
        return [SessionId(*each.outer_id[1:]) for each in listed]

    def load(self, sid: SessionId, last: int | None = None) -> StoredSession | None:
        """Return a session with its last events, or with all; None where there is none.

        The state of its app and user has by then what its last event says of it.
        """
        stored = self._read(partial(_load, last=last), "session", *sid)
        if stored is not None:
            self.share(sid, stored.end)
            self._know(sid, stored)
        return stored

    def known(self, sid: SessionId, marker: str | None, event: JsonObject) -> StoredSession | None:
        """Return a session as this process last saw it, if it ended at a marker, and an event can follow.

        Its state and events are not in it. Nobody else finds it until it is known again.
        """
        known = self._ends.take(sid)
        if known is None or known.is_summary_due or known.end.marker != marker:
            return None
        return None if known.end.event_id == event["id"] else known

    def create(self, sid: SessionId, state: State, now: float) -> StoredSession | None:
        """Begin a session; None where there is one of this id."""
        summary = {
            "creation": uuid4().hex,
            "updated": now,
            "state": split(state).session,
            "latest": state,
            "last_event_id": None,
        }
        while True:
            version = self.of(sid).version()
            if self.load(sid, 0) is not None:
                return None
            try:
                self.of(sid).record(state={SUMMARY: summary}, expected_version=version)
            except VersionConflict:
                continue
            return self.load(sid, 0)

    def append(self, sid: SessionId, stored: StoredSession, event: JsonObject) -> SessionEnd | None:
        """Record an event behind a session as it was read, and return its end; None where it has the event.

        VersionConflict where another writer was first; IdempotencyMismatch where the session has an
        event of this id that says something else: this one is kept beside the session.
        """
        session, new = self.of(sid), NewItem(event, event["id"])
        item = ItemRecorded(framework=FRAMEWORK, item_id=new.item_id, item=event)
        summary = (_summary_with(event, stored),) if stored.is_summary_due else ()
        try:
            done: Done | None = session.events.append(
                (item, *summary), stored.version, stored.conversation_id
            )
        except IdempotencyMismatch:
            done = None
        if done is None or isinstance(done, Duplicate):
            summary, done = (), self._append_known(session, new, stored.version)
        if done is None:
            return None
        end = _end_with(event, stored.end.creation, done.first)
        self.share(sid, end)
        unsummarised = 0 if summary else stored.unsummarised + 1
        self._know(sid, replace(stored, version=done.last, end=end, unsummarised=unsummarised))
        return end

    def has(self, sid: SessionId, stored: StoredSession, event: JsonObject) -> bool:
        """Whether a session has an event, wherever it stands."""
        # The log looks for ids before it looks at the version: at one that is over, it records nothing.
        over, new = stored.version - 1, NewItem(event, event["id"])
        try:
            return isinstance(self.of(sid).record([new], expected_version=over), Duplicate)
        except VersionConflict:
            return False

    def clear(self, sid: SessionId) -> None:
        """Let a session be none; the state of its app and its user stays."""
        if self.load(sid, 0) is not None:
            self.of(sid).clear()

    def share(self, sid: SessionId, end: SessionEnd) -> None:
        """Have the app and the user take up what the end of a session says of their state, once."""
        said = split(end.delta)
        for delta, outer_id in ((said.app, ("app", sid[0])), (said.user, ("user", *sid[:2]))):
            if delta:
                self._take_up(outer_id, end.marker, delta, self.of(sid), end.version)

    def app_state(self, app_name: str) -> State:
        """Return the state of an app."""
        return self._read(shared_state, "app", app_name)[0].values

    def user_state(self, app_name: str, user_id: str) -> State:
        """Return the state of a user of an app."""
        return self._read(shared_state, "user", app_name, user_id)[0].values

    def _know(self, sid: SessionId, stored: StoredSession) -> None:
        """Know where a session ends, but nothing that it says: any process may have it forgotten."""
        end = stored.end._replace(delta={})
        self._ends.put(sid, replace(stored, end=end, state={}, events=()))

    def _read(self, act: Callable[[ItemEvents, Stream], T], *outer_id: str) -> T:
        """Return what is read in a conversation; CorruptRecord names its key."""
        events = self.sessions.session(*outer_id).events
        try:
            return events.attempt(partial(act, events))
        except CorruptRecord as exc:
            raise CorruptRecord(f"in {self.sessions.key(*outer_id)}: {exc}") from exc

    def _append_known(self, session: ItemSession, new: NewItem, version: int) -> Done | None:
        """Record an event whose id the conversation has: before a deletion, or in the session."""
        done = session.record([new], expected_version=version)
        if isinstance(done, Duplicate) or done is None:
            return None
        held = session.load(last=1, until=done.last).items
        if held and held[0].version == done.last:
            return done
        raise IdempotencyMismatch(
            f"the session has another event {new.item_id!r}: this one is kept beside it"
        )

    def _take_up(
        self, outer_id: tuple[str, ...], name: str, delta: State, origin: ItemSession, said: int
    ) -> None:
        """Record in a shared conversation what the event at version `said` of a session says of it."""
        state, taken, version = self._read(shared_state, *outer_id)
        if name in taken:
            return
        at = origin.events.attempt(lambda held: _recorded_at(held, said))
        shared = self.sessions.session(*outer_id)
        taking = {"delta": delta, "recorded_at": at}
        item = ItemRecorded(framework=FRAMEWORK, stream=SHARED, item_id=name, item=taking)
        done = shared.events.append((item,), None)
        if isinstance(done, Duplicate) or len(taken) < _MOST_UNSUMMARISED:
            return
        state.take(delta, at)
        try:
            # What others took up since is not in the summary: then the next one makes it.
            shared.record(
                stream=SHARED,
                state={SUMMARY: state._asdict()},
                expected_version=version + 1,
            )
        except VersionConflict:
            return


def split(state: Mapping[str, Any]) -> SplitState:
    """Return state by whom it belongs to."""
    found = SplitState({}, {}, {})
    for name, value in state.items():
        match name.split(":", 1):
            case ["app", rest]:
                found.app[rest] = value
            case ["user", rest]:
                found.user[rest] = value
            case ["temp", _]:
                pass
            case _:
                found.session[name] = value
    return found


def delta_of(event: JsonObject) -> State:
    """Return what an event does to state."""
    match event:
        case {"actions": {"state_delta": {**delta}}}:
            return cast("State", delta)
        case _:
            return {}


def _summary_with(event: JsonObject, stored: StoredSession) -> StatePut:
    """Return the summary of a session and of the event that comes behind it."""
    summary = {
        "creation": stored.end.creation,
        "updated": event["timestamp"],
        "state": stored.state | split(delta_of(event)).session,
        "latest": delta_of(event),
        "last_event_id": event["id"],
    }
    return StatePut(framework=FRAMEWORK, key=SUMMARY, value=summary)


def _load(own: ItemEvents, held: Stream, last: int | None) -> StoredSession | None:
    # The last summary stands among so many.
    at_least = None if last is None else max(last, _MOST_UNSUMMARISED)
    version, told = own.from_end(held, at_least)
    wanted, recent, marked = CurrentItems(FRAMEWORK, last=last), CurrentItems(FRAMEWORK), 0
    for at, event in told:
        wanted.take(at, event)
        if SUMMARY not in recent.state:
            recent.take(at, event)
            marked = at
        if recent.cleared or (SUMMARY in recent.state and wanted.is_complete):
            break
    summary: Any = recent.state.get(SUMMARY)
    if summary is None:
        return None
    state, end = _folded(_summary(summary), marked, tuple(reversed(recent.items)))
    events = tuple(reversed(wanted.items))
    return StoredSession(held.conversation_id, version, end, version - marked, state, events)


def _folded(
    summary: JsonObject, marked: int, recent: tuple[HeldItem, ...]
) -> tuple[State, SessionEnd]:
    """Return the state and the end by a session's last summary, at a version, and the events behind it."""
    state: State = dict(summary["state"])
    for held in recent:
        state |= split(delta_of(held.item)).session
    creation = summary["creation"]
    if recent:
        end = _end_with(_event(recent[-1]), creation, recent[-1].version)
    else:
        last_id, latest = summary["last_event_id"], summary["latest"]
        end = SessionEnd(creation, last_id, summary["updated"], latest, marked)
    return state, end


def _end_with(event: JsonObject, creation: str, version: int) -> SessionEnd:
    """Return the end of a session whose last event was recorded at a version."""
    return SessionEnd(creation, event["id"], event["timestamp"], delta_of(event), version)


def _event(held: HeldItem) -> JsonObject:
    """Return an item as the event that it is; CorruptRecord for what no service of ADK wrote."""
    match held.item:
        case {"id": str(), "timestamp": int() | float()}:
            return held.item
        case _:
            raise no_event(held)


def no_event(held: HeldItem) -> CorruptRecord:
    """Return the error of an item that ADK cannot read."""
    return CorruptRecord(
        f"the item at version {held.version} is no event of ADK: redact it if another program "
        "recorded it"
    )


def _summary(value: object) -> JsonObject:
    """Return a summary of a session; CorruptRecord for what is none."""
    match value:
        case {
            "creation": str(),
            "updated": int() | float(),
            "state": {},
            "latest": {},
            "last_event_id": None | str(),
        }:
            return cast("JsonObject", value)
        case _:
            raise no_state("the summary of the session")


def _recorded_at(held: Stream, version: int) -> int:
    for recorded in held.read(after=version - 1, until=version):
        return recorded.recorded_at
    raise ConversationForgotten
