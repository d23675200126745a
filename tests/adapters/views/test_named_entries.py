"""Entries name their conversation by key and by id, and tell times as datetimes too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.adapters.streams.lineage import keys_of
from onrecord.adapters.views.ports import Parked
from onrecord.adapters.views.row_names import with_keys
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.registry import VIEWS
from tests.adapters.found_results import call
from tests.adapters.views.workers import caught_up
from tests.contract.places import PLACES
from tests.databases import url_of
from tests.factories import OTHER_TENANT, appending, prompt, started
from tests.sqlite_by_hand import ByHand, Unruled

T = TypeVar("T")

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
    store: onrecord.Store, tmp_path: Path
) -> None:
    damaged = store.conversation("support/4712")
    damaged.user("And mine?")
    assert {entry.key for entry in store.views.audit()} == {KEY, "support/4712"}
    with closing(Unruled.open(tmp_path / "views.db")) as hand:
        of_damaged = damaged.conversation_id.bytes
        hand.run(
            "UPDATE event SET body = x'00' WHERE conversation_id = ? AND version = 1", of_damaged
        )
    named = {(entry.conversation_id, entry.key) for entry in store.views.audit()}
    intact = store.conversation(KEY).conversation_id
    assert named == {(intact, KEY), (damaged.conversation_id, None)}


def test_entries_are_listed_without_keys_where_the_log_is_damaged(
    store: onrecord.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> list[RecordedEvent]:
        raise onrecord.CorruptRecord("the bytes lie")

    monkeypatch.setattr(backend_of(store), "first_events", damaged)
    assert {entry.key for entry in store.views.audit()} == {None}


@pytest.mark.parametrize("name", PLACES)
def test_a_page_asks_the_log_once_for_its_keys(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = PLACES[name](tmp_path)
    with closing(place.open()) as backend:
        conversations = {uuid4(): f"support/{number}" for number in range(12)}
        for conversation, key in conversations.items():
            backend.append([appending(conversation, started(key), prompt())])
        asked: list[str] = []
        for verb in ("read", "first_events"):
            monkeypatch.setattr(backend, verb, counted(getattr(backend, verb), verb, asked))
        assert keys_of(backend, [*conversations, uuid4(), *conversations]) == conversations
        assert asked == ["first_events"]
        assert keys_of(backend, []) == {}
        assert asked == ["first_events"]
    place.remove()


def counted(ask: Callable[..., T], verb: str, asked: list[str]) -> Callable[..., T]:
    """The same verb, noted each time."""

    def ask_and_note(*arguments: object, **more: object) -> T:
        asked.append(verb)
        return ask(*arguments, **more)

    return ask_and_note


def test_parked_events_of_the_tenant_have_the_keys_of_their_conversations(
    store: onrecord.Store,
) -> None:
    log = backend_of(store)
    theirs = uuid4()
    log.append([appending(theirs, started("secret/1"), prompt(), tenant=OTHER_TENANT)])
    ours = store.conversation(KEY).conversation_id
    parked = [
        Parked(
            "audit",
            1,
            tenant,
            conversation,
            0,
            2,
            2,
            "message.recorded",
            *("Broken", "it is"),
            1,
            5,
            due,
        )
        for tenant, conversation, due in ((store.tenant, ours, 7), (OTHER_TENANT, theirs, None))
    ]
    named = with_keys(log, store.tenant, parked)
    assert [event.key for event in named] == [KEY, None]
    assert [event.parked_time for event in named] == [_EPOCH + timedelta(microseconds=5)] * 2
    assert [event.retry_time for event in named] == [_EPOCH + timedelta(microseconds=7), None]
    store.forget(KEY, reason="asked to", actor="ana")
    assert [event.key for event in with_keys(log, store.tenant, parked)] == [None, None]


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


@pytest.mark.parametrize("kind", ["sqlite", "memory", "postgres"])
def test_the_audit_says_and_finds_for_whom_something_was_done(kind: str, tmp_path: Path) -> None:
    for url in url_of(kind, tmp_path):
        with closing(onrecord.connect(url, actor="bot")) as store:
            store.conversation("a", on_behalf_of="ana").user("Where is it?")
            store.conversation("b").user("And mine?")
            if kind == "postgres":
                caught_up(url, {"audit": VIEWS["audit"]})
            served = list(store.views.audit(on_behalf_of="ana"))
            assert [(each.key, each.actor_name) for each in served] == [("a", "bot")] * 2
            digest = backend_of(store).digest("ana").hex()
            assert {(each.on_behalf_of, each.on_behalf_of_name) for each in served} == {
                (digest, "ana")
            }
            (other, _) = store.views.audit(conversation="b")
            assert (other.on_behalf_of, other.on_behalf_of_name) == (None, None)
            assert not store.views.audit(on_behalf_of="bot")
            store.forget_actor("ana", reason="asked to", actor="eve")
            assert {each.on_behalf_of_name for each in store.views.audit(on_behalf_of="ana")} == {
                None
            }
            assert store.verify(views=True).faults == ()


def test_the_audit_of_a_store_from_before_is_made_again_with_for_whom(tmp_path: Path) -> None:
    place = tmp_path / "log.db"
    with closing(onrecord.connect(f"sqlite:///{place}")) as store:
        store.conversation("a", actor="bot", on_behalf_of="ana").user("Where is it?")
        assert len(store.views.audit()) == 2
    by_hand = ByHand.open(tmp_path / "log.db-views")
    by_hand.run("UPDATE view_audit SET on_behalf_of = NULL")
    by_hand.run("UPDATE generation SET revision = 1 WHERE view = 'audit'")
    by_hand.close()
    with closing(onrecord.connect(f"sqlite:///{place}")) as store:
        assert {each.on_behalf_of_name for each in store.views.audit()} == {"ana"}
