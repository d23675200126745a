"""An item of a session that is amended, on every backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.frameworks.session import ItemSession, NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.log import Backend
from tests.adapters.frameworks.sessions_places import FRAMEWORK, store_of

LONG = "a long text " * 10_000
KEY = '["tests","project","one"]'


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return store_of(backend, tmp_path)


@pytest.fixture
def sessions(store: Store) -> Sessions:
    return Sessions(store, FRAMEWORK)


@pytest.fixture
def session(sessions: Sessions) -> ItemSession:
    return sessions.session("project", "one")


def new(number: int, **members: Any) -> NewItem:
    return NewItem({"n": number, **members}, f"id-{number}")


def numbers(session: ItemSession, stream: str = "") -> list[int]:
    return [item.item["n"] for item in session.load(stream).items]


def test_an_amended_item_says_something_else_at_its_place(session: ItemSession) -> None:
    session.record([new(1), new(2)])
    session.record([new(3)], stream="other")
    version = session.load().items[0].version
    before = session.version()
    session.amend(version, {"n": 7, "text": LONG})
    first, second = session.load().items
    assert (first.version, first.item_id, first.item) == (version, "id-1", {"n": 7, "text": LONG})
    assert (second.item, numbers(session, "other")) == ({"n": 2}, [3])
    assert [each.item for each in session.load(until=before).items] == [{"n": 1}, {"n": 2}]
    session.amend(version, {"n": 8})
    assert numbers(session) == [8, 2]


def test_nothing_is_amended_but_an_item_that_the_stream_holds(
    store: Store, session: ItemSession
) -> None:
    session.record([new(1), new(2)], state={"a": 1})
    session.record([new(3)], stream="other")
    session.record([new(2, beside=True)])
    held, popped = (each.version for each in session.load().items)
    (other,) = (each.version for each in session.load("other").items)
    session.pop()
    store.conversation(KEY).user("no item")
    version = session.version()
    for wrong in (0, -1, 1, popped, other, held + 2, version - 2, version - 1, version, 2**70):
        with pytest.raises(onrecord.errors.InvalidContent, match="no item"):
            session.amend(wrong, {"n": 9})
    assert (session.version(), numbers(session)) == (version, [1])
    session.amend(other, {"n": 9}, stream="other")
    session.clear()
    with pytest.raises(onrecord.errors.InvalidContent):
        session.amend(held, {"n": 9})
    assert numbers(session) == []


def test_an_item_that_another_pops_meanwhile_is_not_amended(
    sessions: Sessions, store: Store, session: ItemSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.record([new(1), new(2)])
    first, last = (each.version for each in session.load().items)
    other = Sessions(store, FRAMEWORK).session("project", "one")
    find: Any = getattr(session, "_held_at")  # noqa: B009

    def find_then_wait(*arguments: Any) -> Any:
        found = find(*arguments)
        if len(other.load().items) == 2:
            other.pop()
        return found

    monkeypatch.setattr(session, "_held_at", find_then_wait)
    with pytest.raises(onrecord.errors.InvalidContent):
        session.amend(last, {"n": 9})
    session.amend(first, {"n": 9})
    assert numbers(session) == [9]


@pytest.mark.parametrize("item", [{"a": float("nan")}, {"a": (1,)}, {1: 2}, "text", None])
def test_what_is_no_json_amends_nothing(session: ItemSession, item: Any) -> None:
    session.record([new(1)])
    version = session.version()
    with pytest.raises((onrecord.MalformedJson, onrecord.InvalidContent)):
        session.amend(version, item)
    assert (session.version(), numbers(session)) == (version, [1])


def test_an_amended_item_that_comes_again_is_not_recorded_again(session: ItemSession) -> None:
    session.record([new(1), new(2)])
    session.amend(session.load().items[0].version, {"n": 1, "changed": True})
    for item in (new(1), new(1, changed=True)):
        session.record([item, new(2)])
    assert [each.item for each in session.load().items] == [{"n": 1, "changed": True}, {"n": 2}]
    version = session.version()
    session.record([new(1, changed=True)])
    assert session.version() == version


def test_a_redacted_item_stays_out_though_it_was_amended(
    store: Store, session: ItemSession
) -> None:
    session.record([new(1), new(2)])
    first, last = (each.version for each in session.load().items)
    session.amend(first, {"n": 9})
    store.conversation(KEY).redact(first)
    assert numbers(session) == [2]
    session.amend(last, {"n": 8})
    store.conversation(KEY).redact(session.version())
    assert numbers(session) == [2]
    with pytest.raises(onrecord.errors.InvalidContent):
        session.amend(first, {"n": 9})
