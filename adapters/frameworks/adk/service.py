"""The session service for Google's ADK: what its `BaseSessionService` asks for, over one log.

docs/frameworks-adk.md says how it is used. A session is a conversation, an event is an item under its id.
"""

# The SDK is in no environment that types are checked in: it holds google-genai back. What it gives is Any.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false
# pyright: reportMissingTypeStubs=false, reportUnknownLambdaType=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, TypeVar
from uuid import uuid4
from weakref import WeakValueDictionary

from onrecord.adapters.frameworks.adk.shared_state import FRAMEWORK
from onrecord.adapters.frameworks.adk.stored_session import (
    SessionEnd,
    SessionId,
    StoredSession,
    StoredSessions,
    no_event,
)
from onrecord.adapters.frameworks.awaiting import settled
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import InvalidInput, NotInstalled, VersionConflict
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import HeldItem

try:
    from google.adk.errors._stale_session_error import StaleSessionError
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.platform import time as platform_time
    from google.adk.sessions._session_util import make_json_safe_state
    from google.adk.sessions.base_session_service import (
        BaseSessionService,
        GetSessionConfig,
        ListSessionsResponse,
    )
    from google.adk.sessions.session import Session
except ModuleNotFoundError as exc:
    raise NotInstalled("the session service of ADK", "google-adk", "adk") from exc

T = TypeVar("T")

Writers = Literal["strict", "merge"]
_STALE: Final = (
    "another writer has added to the session since it was read: get it again, "
    "or make the service with writers='merge'"
)


class OnrecordSessionService(BaseSessionService):
    """A session service for `Runner(session_service=...)`; safe to share between tasks.

    What is refused raises the SDK's own error where it has one, an `OnrecordError` otherwise, and nothing
    of it is recorded.
    """

    def __init__(self, store: Store, *, writers: Writers = "strict") -> None:
        """Keep sessions in a store; close that when done.

        An event for a session that another writer has added to raises `StaleSessionError`; with
        "merge" it is recorded behind what the other one added.
        """
        if writers not in ("strict", "merge"):
            raise InvalidInput("writers is 'strict' or 'merge'")
        self._store = store
        self._merges = writers == "merge"
        self._stored = StoredSessions(Sessions(store, FRAMEWORK))
        self._turns: WeakValueDictionary[tuple[Any, ...], asyncio.Lock] = WeakValueDictionary()

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Begin a session; AlreadyExistsError where there is one of this id."""
        sid = _session_id(app_name, user_id, session_id or "")
        sid = sid if sid.session_id else sid._replace(session_id=str(uuid4()))
        given = make_json_safe_state(_without_temp(state or {}))
        step = partial(self._stored.create, sid, given, platform_time.get_time())
        created = await self._settled(step)
        if created is None:
            raise AlreadyExistsError(f"Session with id {sid.session_id} already exists.")
        return await self._settled(partial(self._session, sid, created))

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a session with its last events, or with all; None where there is none."""
        sid = _session_id(app_name, user_id, session_id)
        last = None if config is None else config.num_recent_events

        def read() -> Session | None:
            stored = self._stored.load(sid, last)
            return None if stored is None else self._session(sid, stored)

        session = await self._settled(read)
        if session is not None and config is not None and config.after_timestamp is not None:
            after = config.after_timestamp
            session.events = [event for event in session.events if event.timestamp >= after]
        return session

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of an app or of a user, without events, the one that moved last at the end."""

        def read() -> list[Session]:
            loaded = (
                (sid, self._stored.load(sid, 0)) for sid in self._stored.ids(app_name, user_id)
            )
            return [self._session(sid, stored) for sid, stored in loaded if stored is not None]

        sessions = await self._settled(read)
        sessions.sort(key=lambda each: (each.last_update_time, each.user_id, each.id))
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Let a session be none; the record keeps it, and its id can be used again.

        The state of its app and of its user stays. `Store.forget` erases (docs/frameworks-adk.md).
        """
        sid = _session_id(app_name, user_id, session_id)
        await self._settled(partial(self._stored.clear, sid))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user of an app, without the prefix of its names."""
        return await self._settled(partial(self._stored.user_state, app_name, user_id))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Record an event behind a session, and add it to the one that was given.

        An event that the session has already changes nothing. SessionNotFoundError where there is no
        such session, StaleSessionError where another writer has added to it since it was read.
        """
        if event.partial:
            return event
        sid = _session_id(session.app_name, session.user_id, session.id)
        key = (id(asyncio.get_running_loop()), sid)
        # Agents that run side by side share a session: the marker of one is that of the next.
        async with self._turns.setdefault(key, asyncio.Lock()):
            body = _body(event)
            marker, last = _marker(session), session.events[-1].id if session.events else None
            end = await self._settled(partial(self._append, sid, body, marker, last))
            if end is None:
                return event
            event = await super().append_event(session, event)
            session.last_update_time = end.updated
            _mark(session, end)
            return event

    def conversation_key(self, *, app_name: str, user_id: str, session_id: str) -> str:
        """Return the key of the conversation that a session is: `Store` and the commands take it."""
        return self._stored.sessions.key("session", *_session_id(app_name, user_id, session_id))

    def app_key(self, app_name: str) -> str:
        """Return the key of the conversation that the state of an app is."""
        return self._stored.sessions.key("app", app_name)

    def user_key(self, app_name: str, user_id: str) -> str:
        """Return the key of the conversation that the state of a user is."""
        return self._stored.sessions.key("user", app_name, user_id)

    def _append(
        self, sid: SessionId, event: JsonObject, marker: str | None, last: str | None
    ) -> SessionEnd | None:
        """Record an event and return the session's end; None where the session has the event."""
        while True:
            stored = self._stored.known(sid, marker, event) or self._stored.load(sid, 1)
            if stored is None:
                raise SessionNotFoundError(f"Session {sid.session_id} not found.")
            if stored.events and stored.events[-1].item == event:
                return None
            end = stored.end
            is_stale = end.event_id != last if marker is None else end.marker != marker
            if is_stale and not self._merges:
                if self._stored.has(sid, stored, event):
                    return None
                raise StaleSessionError(_STALE)
            try:
                return self._stored.append(sid, stored, event)
            except VersionConflict:
                continue

    def _session(self, sid: SessionId, stored: StoredSession) -> Session:
        app = self._stored.app_state(sid.app_name)
        user = self._stored.user_state(sid.app_name, sid.user_id)
        session = Session(
            id=sid.session_id,
            app_name=sid.app_name,
            user_id=sid.user_id,
            state={
                **stored.state,
                **{f"app:{name}": value for name, value in app.items()},
                **{f"user:{name}": value for name, value in user.items()},
            },
            events=[_event(each) for each in stored.events],
            last_update_time=stored.end.updated,
        )
        _mark(session, stored.end)
        return session

    async def _settled(self, step: Callable[[], T]) -> T:
        return await settled(self._store, step)


def _session_id(app_name: str, user_id: str, session_id: object) -> SessionId:
    if not isinstance(session_id, str):
        raise InvalidInput("the id of a session is a text")
    return SessionId(app_name, user_id, session_id.strip())


def _without_temp(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if not name.startswith("temp:")}


def _body(event: Event) -> JsonObject:
    """Return the JSON of an event as the SDK's own services keep it, without what lasts for a run."""
    body: JsonObject = event.model_dump(mode="json", exclude_none=True)
    if event.actions and event.actions.state_delta:
        delta = _without_temp(event.actions.state_delta)
        body["actions"]["state_delta"] = make_json_safe_state(delta)
    return body


def _event(held: HeldItem) -> Event:
    """Return an event made anew; CorruptRecord for an item that ADK cannot read."""
    try:
        return Event.model_validate(held.item)
    except ValueError as exc:
        raise no_event(held) from exc


def _marker(session: Session) -> str | None:
    """Return where a session was read; None for one that no service of ours gave."""
    marker: str | None = getattr(session, "_storage_update_marker", None)
    return marker


def _mark(session: Session, end: SessionEnd) -> None:
    session._storage_update_marker = end.marker
