"""A session of ADK as it is stored: its events are items, and its state is folded from them.

An event and all that it does to state is one item, so one commit. The state of an app or of a user
lies in a conversation of its own, which takes up what an event says of it behind that commit, under an
id made of the event's id. Where that did not come about, whoever reads the session next does it; what
was recorded later than the event stays. A summary of the state stands in the log every few events: reading the end of it is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast
from uuid import uuid4

from onrecord.adapters.frameworks.item_events import backwards
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

FRAMEWORK: Final = "google-adk"

_SUMMARY: Final = "summary"
_SHARED: Final = "state"
"""The stream of an app's or a user's conversation: its items are no events of ADK."""
_MOST_UNSUMMARISED: Final = 64

State: TypeAlias = dict[str, Any]
T = TypeVar("T")


class _SharedState(NamedTuple):
    """The state of an app or a user, and when the event was recorded that says each value of it."""

    values: State
    recorded_at: dict[str, int]

    def take(self, delta: State, recorded_at: int) -> None:
        """Take up what an event says, where no later one said another value."""
        for name, value in delta.items():
            if recorded_at >= self.recorded_at.get(name, 0):
                self.values[name] = value
                self.recorded_at[name] = recorded_at


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

    version: int
    end: SessionEnd
    unsummarised: int
    state: State
    events: tuple[HeldItem, ...]


class StoredSessions:
    """The sessions of ADK in a store; safe to share between threads."""

    def __init__(self, sessions: Sessions) -> None:
        """Find sessions by their ids."""
        self.sessions = sessions

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
        stored = self._read(lambda held: _load(held, last), "session", *sid)
        if stored is not None:
            self.share(sid, stored.end)
        return stored

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
                self.of(sid).record(state={_SUMMARY: summary}, expected_version=version)
            except VersionConflict:
                continue
            return self.load(sid, 0)

    def append(self, sid: SessionId, stored: StoredSession, event: JsonObject) -> SessionEnd | None:
        """Record an event behind a session as it was read, and return its end; None where it has the event.

        VersionConflict where another writer was first; IdempotencyMismatch where the session has an
        event of this id that says something else: this one is kept beside the session.
        """
        session, new = self.of(sid), NewItem(event, event["id"])
        state = split(delta_of(event))
        item = ItemRecorded(framework=FRAMEWORK, item_id=new.item_id, item=event)
        if stored.unsummarised < _MOST_UNSUMMARISED:
            events: tuple[ItemRecorded | StatePut, ...] = (item,)
        else:
            summary = {
                "creation": stored.end.creation,
                "updated": event["timestamp"],
                "state": stored.state | state.session,
                "latest": delta_of(event),
                "last_event_id": event["id"],
            }
            events = (item, StatePut(framework=FRAMEWORK, key=_SUMMARY, value=summary))
        try:
            done: Done | None = session.events.append(events, stored.version)
        except IdempotencyMismatch:
            done = None
        if done is None or isinstance(done, Duplicate):
            done = self._append_known(session, new, stored.version)
        if done is None:
            return None
        end = _end_with(event, stored.end.creation, done.first)
        self.share(sid, end)
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
        return self._read(_shared, "app", app_name)[0].values

    def user_state(self, app_name: str, user_id: str) -> State:
        """Return the state of a user of an app."""
        return self._read(_shared, "user", app_name, user_id)[0].values

    def _read(self, act: Callable[[Stream], T], *outer_id: str) -> T:
        """Return what is read in a conversation; CorruptRecord names its key."""
        try:
            return self.sessions.session(*outer_id).events.attempt(act)
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
        state, taken, version = self._read(_shared, *outer_id)
        if name in taken:
            return
        at = origin.events.attempt(lambda held: _recorded_at(held, said))
        shared = self.sessions.session(*outer_id)
        taking = {"delta": delta, "recorded_at": at}
        item = ItemRecorded(framework=FRAMEWORK, stream=_SHARED, item_id=name, item=taking)
        done = shared.events.append((item,), None)
        if isinstance(done, Duplicate) or len(taken) < _MOST_UNSUMMARISED:
            return
        state.take(delta, at)
        try:
            # What others took up since is not in the summary: then the next one makes it.
            shared.record(
                stream=_SHARED,
                state={_SUMMARY: state._asdict()},
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


def _load(held: Stream, last: int | None) -> StoredSession | None:
    version = held.head().version
    wanted, recent, marked = CurrentItems(FRAMEWORK, last=last), CurrentItems(FRAMEWORK), 0
    for at, event in backwards(held, version, last):
        wanted.take(at, event)
        if _SUMMARY not in recent.state:
            recent.take(at, event)
            marked = at
        if recent.cleared or (_SUMMARY in recent.state and wanted.is_complete):
            break
    summary: Any = recent.state.get(_SUMMARY)
    if summary is None:
        return None
    events = tuple(reversed(wanted.items))
    return _folded(_summary(summary), marked, tuple(reversed(recent.items)), events, version)


def _folded(
    summary: JsonObject,
    marked: int,
    recent: tuple[HeldItem, ...],
    events: tuple[HeldItem, ...],
    version: int,
) -> StoredSession:
    """Return a session from its last summary, which stands at a version, and the events behind that."""
    state: State = dict(summary["state"])
    for held in recent:
        state |= split(delta_of(held.item)).session
    creation = summary["creation"]
    if recent:
        end = _end_with(_event(recent[-1]), creation, recent[-1].version)
    else:
        last_id, latest = summary["last_event_id"], summary["latest"]
        end = SessionEnd(creation, last_id, summary["updated"], latest, marked)
    return StoredSession(version, end, version - marked, state, events)


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
            raise _no_state("the summary of the session")


def _no_state(what: str) -> CorruptRecord:
    return CorruptRecord(
        f"{what} is none that can be read: redact the version at which another program put it"
    )


def _shared(held: Stream) -> tuple[_SharedState, set[str], int]:
    """Return the state of an app or a user, the names of what it took up lately, and the version."""
    version = held.head().version
    current = CurrentItems(FRAMEWORK, _SHARED)
    for at, event in backwards(held, version):
        current.take(at, event)
        if _SUMMARY in current.state or current.is_complete:
            break
    state = _shared_summary(current.state.get(_SUMMARY))
    for each in reversed(current.items):
        state.take(*_taking(each))
    return state, {each.item_id or "" for each in current.items}, version


def _shared_summary(value: Any) -> _SharedState:
    match value:
        case None:
            return _SharedState({}, {})
        case {"values": {}, "recorded_at": {}}:
            summary = cast("JsonObject", value)
            if all(isinstance(time, int) for time in summary["recorded_at"].values()):
                return _SharedState(dict(summary["values"]), dict(summary["recorded_at"]))
        case _:
            pass
    raise _no_state("the summary of the state")


def _taking(held: HeldItem) -> tuple[State, int]:
    """Return what an event said of the state, and when that was recorded."""
    match held.item:
        case {"delta": {**delta}, "recorded_at": int(recorded_at)}:
            return cast("State", delta), recorded_at
        case _:
            raise _no_state(f"the change of the state at version {held.version}")


def _recorded_at(held: Stream, version: int) -> int:
    for recorded in held.read(after=version - 1, until=version):
        return recorded.recorded_at
    raise ConversationForgotten
