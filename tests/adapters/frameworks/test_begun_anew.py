"""What a caller read of a session that was forgotten since decides nothing about the one that took its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from onrecord.adapters.frameworks.session import ItemSession, NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import VersionConflict
from onrecord.domain.log import Backend
from tests.adapters.frameworks.sessions_places import FRAMEWORK, store_of


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return store_of(backend, tmp_path)


def _session(store: Store) -> ItemSession:
    return Sessions(store, FRAMEWORK).session("one")


def _begin_anew(store: Store) -> None:
    """Forget the session, and begin it again up to the same version."""
    sessions = Sessions(store, FRAMEWORK)
    store.forget(sessions.key("one"), reason="asked for")
    sessions.session("one").record([NewItem({"text": "new"})])


def test_nothing_is_put_in_the_place_of_what_the_caller_did_not_read(store: Store) -> None:
    session = _session(store)
    session.record([NewItem({"text": "old"})])
    loaded = session.load()
    _begin_anew(store)
    with pytest.raises(VersionConflict):
        session.replace(
            [], [NewItem({"text": "a summary of the old"})], expected_version=loaded.version
        )
    assert [held.item for held in session.load().items] == [{"text": "new"}]


def test_nothing_is_recorded_behind_a_version_of_another_conversation(store: Store) -> None:
    session = _session(store)
    session.record([NewItem({"text": "old"})])
    version = session.version()
    _begin_anew(store)
    with pytest.raises(VersionConflict):
        session.record([NewItem({"text": "an answer to the old"})], expected_version=version)
    session.record([NewItem({"text": "unasked"})])
    assert [held.item["text"] for held in session.load().items] == ["new", "unasked"]


def test_what_is_taken_away_is_what_was_found(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = _session(store)
    session.record([NewItem({"text": "old"})])
    load = session.load

    def load_before_it_begins_anew(stream: str = "", *, last: int | None = None) -> object:
        loaded = load(stream, last=last)
        monkeypatch.undo()
        _begin_anew(store)
        return loaded

    monkeypatch.setattr(session, "load", load_before_it_begins_anew)
    popped = session.pop()
    assert popped is not None
    assert popped.item == {"text": "new"}
    assert session.load().items == ()
