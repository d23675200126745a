"""The end of a session is read where it was seen last, and what came since is read with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onrecord.adapters.frameworks.session import ItemSession, Loaded, NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.log import Backend
from tests.adapters.frameworks.asked_verbs import asked_verbs
from tests.adapters.frameworks.sessions_places import FRAMEWORK, store_of


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return store_of(backend, tmp_path)


def _session(store: Store) -> ItemSession:
    return Sessions(store, FRAMEWORK).session("one")


def _record(session: ItemSession, *numbers: int) -> None:
    session.record([NewItem({"n": number}) for number in numbers])


def _numbers(loaded: Loaded) -> list[int]:
    return [held.item["n"] for held in loaded.items]


def test_a_session_that_was_seen_is_read_by_one_question(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = _session(store)
    _record(session, *range(100))
    asked = asked_verbs(store, monkeypatch)
    assert _numbers(session.load(last=50)) == list(range(50, 100))
    _record(session, 100)
    assert _numbers(session.load(last=2)) == [99, 100]
    assert asked == ["new_since", "append", "new_since"]


@pytest.mark.parametrize("came", [0, 1, 63, 64, 65, 300])
def test_what_others_recorded_since_is_read(store: Store, came: int) -> None:
    session = _session(store)
    _record(session, *range(100))
    if came:
        _record(_session(store), *range(100, 100 + came))
    everything = list(range(100 + came))
    loaded = session.load(last=50)
    assert (_numbers(loaded), loaded.version) == (everything[-50:], _session(store).version())
    assert _numbers(session.load()) == everything


@pytest.mark.parametrize("again", [1, 90, 100, 300])
def test_a_session_that_begins_anew_is_read_from_its_own_end(store: Store, again: int) -> None:
    session = _session(store)
    _record(session, *range(100))
    sessions = Sessions(store, FRAMEWORK)
    store.forget(sessions.key("one"), reason="asked for")
    _record(sessions.session("one"), *range(1_000, 1_000 + again))
    everything = list(range(1_000, 1_000 + again))
    assert _numbers(session.load(last=50)) == everything[-50:]
    assert _numbers(session.load()) == everything
