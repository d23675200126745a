"""Entries name their conversation by key and by id, and tell times as datetimes too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from tests.adapters.found_results import call

KEY = "support/4711"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[onrecord.Store]:
    with onrecord.connect(f"sqlite:///{tmp_path}/views.db") as opened:
        chat = opened.conversation(KEY)
        chat.user("Where is my parcel?")
        call(chat)
        chat.tool_result("call_1", "sunny")
        yield opened


Entry = (
    onrecord.Overview
    | onrecord.Hit
    | onrecord.ToolCallEntry
    | onrecord.Exchange
    | onrecord.AuditEntry
)


def entries(store: onrecord.Store) -> Sequence[Entry]:
    views = store.views
    pages = (
        views.conversations(),
        *(views.search("parcel"), views.tool_calls(), views.window(KEY), views.audit()),
    )
    assert all(len(page) for page in pages)
    return [entry for page in pages for entry in page]


def test_the_key_and_the_id_of_an_entry_open_its_conversation(store: onrecord.Store) -> None:
    for entry in entries(store):
        assert entry.key == KEY
        assert store.get(entry.key).conversation_id == entry.conversation_id
        assert store.get(entry.conversation_id).key == KEY


def test_an_entry_of_what_was_forgotten_has_no_key(store: onrecord.Store) -> None:
    store.forget(KEY, reason="asked to", actor="ana")
    audited = list(store.views.audit())
    (erasure,) = store.erasures()
    assert erasure.outcome is not None
    assert erasure.intention.time <= erasure.outcome.time
    assert {entry.key for entry in audited} == {None}


def test_entries_of_a_conversation_that_is_damaged_are_listed_without_its_key(
    store: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(store.views.audit())

    def damaged(*_: object) -> str:
        raise onrecord.CorruptRecord("the bytes lie")

    monkeypatch.setattr("onrecord.adapters.views.reading.key_of", damaged)
    assert {entry.key for entry in store.views.audit()} == {None}


def test_each_time_in_microseconds_has_a_datetime_beside_it(store: onrecord.Store) -> None:
    chat = store.conversation(KEY)
    events = chat.events()
    told = (
        *(*entries(store), *store.conversations(), *events),
        *(event.client_header() for event in events),
    )
    for entry in told:
        times = [name for name in dir(entry) if name.endswith("_at")]
        assert times
        for name in times:
            beside = getattr(entry, name.removesuffix("_at") + "_time")
            assert beside.utcoffset() == timedelta(0)
            assert (beside - _EPOCH) // timedelta(microseconds=1) == getattr(entry, name)


def test_a_datetime_of_an_entry_asks_for_what_came_since(store: onrecord.Store) -> None:
    last = next(iter(store.views.audit()))
    later = store.views.audit(since=last.recorded_time)
    assert last in list(later)
    assert isinstance(last.conversation_id, UUID)
