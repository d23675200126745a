"""An event of ADK is recorded behind the end that a process saw last, where that still is the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.frameworks.adk.known_ends import KnownEnds
from onrecord.adapters.frameworks.adk.stored_session import (
    SessionId,
    StoredSession,
    StoredSessions,
)
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import VersionConflict
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend
from tests.adapters.frameworks.asked_verbs import asked_verbs
from tests.adapters.frameworks.sessions_places import store_of

_FRAMEWORK = "google-adk"
_SID = SessionId("desk", "ana", "one")


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return store_of(backend, tmp_path)


def _sessions(store: Store) -> StoredSessions:
    return StoredSessions(Sessions(store, _FRAMEWORK))


def _event(name: str, **delta: Any) -> JsonObject:
    return {"id": name, "timestamp": 1.0, "text": "secret", "actions": {"state_delta": delta}}


def _known(sessions: StoredSessions, marker: str, name: str = "next") -> StoredSession | None:
    return sessions.known(_SID, marker, _event(name))


def _begun(sessions: StoredSessions) -> str:
    """Create the session, and return the marker of its end."""
    created = sessions.create(_SID, {"a": "secret"}, 1.0)
    assert created is not None
    return created.end.marker


def _append(sessions: StoredSessions, marker: str, name: str, **delta: Any) -> str:
    """Record an event without reading, and return the marker of the end then."""
    known = sessions.known(_SID, marker, _event(name))
    assert known is not None
    end = sessions.append(_SID, known, _event(name, **delta))
    assert end is not None
    return end.marker


def test_events_are_recorded_one_behind_the_other_without_reading(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = _sessions(store)
    marker = _begun(sessions)
    asked = asked_verbs(store, monkeypatch)
    for number in range(64):
        marker = _append(sessions, marker, f"e{number}", n=number)
    assert asked == ["append"] * 64
    assert _known(sessions, marker) is None, "a summary is due"
    loaded = _sessions(store).load(_SID)
    assert loaded is not None
    assert (len(loaded.events), loaded.state) == (64, {"a": "secret", "n": 63})


def test_what_is_known_of_a_session_says_nothing_of_it(store: Store) -> None:
    sessions = _sessions(store)
    marker = _append(sessions, _begun(sessions), "e1", b="secret")
    assert "secret" not in repr(_known(sessions, marker))


def test_another_end_and_an_event_that_comes_again_are_read(store: Store) -> None:
    sessions = _sessions(store)
    marker = _append(sessions, _begun(sessions), "e1")
    assert _known(sessions, "another one") is None
    assert sessions.load(_SID, 1) is not None
    assert _known(sessions, marker, "e1") is None
    assert sessions.load(_SID, 1) is not None
    assert _known(sessions, marker) is not None


def test_nothing_is_recorded_behind_an_end_that_another_writer_has_moved(store: Store) -> None:
    sessions = _sessions(store)
    marker = _begun(sessions)
    others = _sessions(store)
    assert others.load(_SID) is not None
    _append(others, marker, "theirs")
    known = _known(sessions, marker)
    assert known is not None
    with pytest.raises(VersionConflict):
        sessions.append(_SID, known, _event("next"))
    found = sessions.load(_SID)
    assert found is not None
    assert [held.item["id"] for held in found.events] == ["theirs"]


def test_nothing_is_recorded_in_the_session_that_took_the_place_of_the_known_one(
    store: Store,
) -> None:
    sessions = _sessions(store)
    marker = _begun(sessions)
    known = _known(sessions, marker)
    assert known is not None
    store.forget(sessions.sessions.key("session", *_SID), reason="asked for")
    _begun(_sessions(store))
    # Another thread of the same process has found out.
    assert sessions.load(_SID) is not None
    assert sessions.of(_SID).version() == known.version
    with pytest.raises(VersionConflict):
        sessions.append(_SID, known, _event("next"))
    found = sessions.load(_SID)
    assert found is not None
    assert found.events == ()


def test_those_that_were_used_last_are_known() -> None:
    ends = KnownEnds[str, int](2)
    for key, known in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        ends.put(key, known)
    assert [ends.take(key) for key in ("a", "b", "c", "a")] == [3, None, 4, None]
