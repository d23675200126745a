"""Which sessions of a framework are listed, on every backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from onrecord.adapters.frameworks.session import NewItem
from onrecord.adapters.frameworks.sessions import LONGEST_ID, Sessions
from onrecord.adapters.store import Store
from onrecord.domain.items import ItemRecorded
from onrecord.domain.log import Backend
from tests.adapters.frameworks.counted_reads import counted_reads
from tests.adapters.frameworks.sessions_places import FRAMEWORK, store_of


@pytest.fixture
def store(backend: Backend, tmp_path: Path) -> Store:
    return store_of(backend, tmp_path)


@pytest.fixture
def sessions(store: Store) -> Sessions:
    return Sessions(store, FRAMEWORK)


def new(number: int) -> NewItem:
    return NewItem({"n": number}, f"id-{number}")


def test_crafted_ids_are_sessions_of_their_own(sessions: Sessions) -> None:
    ids = [
        *(("a", "b"), ("a/b",), ("a", "b", "c"), ("a", 'b","c'), ("a:b",), ("..", "b")),
        *(("A", "b"), ("\u0430", "b"), ("a ", "b"), ("a", "b\u0301"), ("x" * LONGEST_ID, "b")),
    ]
    for number, outer_id in enumerate(ids):
        sessions.session(*outer_id).record([new(number)])
    assert [sessions.session(*outer_id).load().items[0].item["n"] for outer_id in ids] == list(
        range(len(ids))
    )
    for parts in (1, 2, 3):
        of_parts = [outer_id for outer_id in ids if len(outer_id) == parts]
        assert [entry.outer_id for entry in sessions.listed(parts=parts)] == of_parts[::-1]
    assert {entry.outer_id for entry in sessions.listed("a")} == {
        *(("a", "b"), ("a", 'b","c'), ("a", "b\u0301")),
    }
    assert [entry.outer_id for entry in sessions.listed("a", parts=2)] == [("a", "b", "c")]


def test_a_key_of_somebody_else_is_no_session(store: Store, sessions: Sessions) -> None:
    sessions.session("one").record([new(1)])
    for key in (
        *('["tests", "a"]', '["tests","a"', '{"tests":1}', '["tests",1]', "[]", "tests"),
        *('["tests"," "]', '["tests",""]', r'["tests","a\u0000b"]', r'["tests","\ud800"]'),
        f'["tests","{"x" * (LONGEST_ID + 1)}"]',
    ):
        store.conversation(key).log.append(ItemRecorded(framework=FRAMEWORK, item={"n": 1}))
    assert [entry.outer_id for entry in sessions.listed()] == [("one",)]


def test_a_session_of_more_or_fewer_parts_is_listed_with_its_like(sessions: Sessions) -> None:
    for outer_id in ((), ("one",), ("one", "two"), ("one", "two", "three")):
        sessions.session(*outer_id).record([new(1)])
    assert [entry.outer_id for entry in sessions.listed()] == [("one",)]
    assert [entry.outer_id for entry in sessions.listed("one")] == [("one", "two")]
    assert [entry.outer_id for entry in sessions.listed("one", parts=2)] == [
        ("one", "two", "three")
    ]


def test_listing_sessions_reads_the_end_of_each(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    for name in ("one", "two", "three"):
        sessions.session(name).record([new(number) for number in range(100)])
    assert len(list(sessions.listed())) == 3
    read = counted_reads(store, monkeypatch)
    assert len(list(sessions.listed())) == 3
    # The first two events of a conversation say which one it is.
    assert len([version for version in read if version > 2]) == 3 * 9
