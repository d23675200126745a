"""Sessions of a framework: what each verb leaves, on every backend."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.frameworks.session import ItemSession, NewItem
from onrecord.adapters.frameworks.sessions import LONGEST_ID, Sessions
from onrecord.adapters.store import Store
from onrecord.domain.items import ItemRecorded
from onrecord.domain.log import Backend, Duplicate
from tests.adapters.frameworks.counted_reads import counted_reads
from tests.adapters.frameworks.sessions_places import FRAMEWORK, store_of
from tests.patience import join

LONG = "a long text " * 10_000


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


def numbers(session: ItemSession, stream: str = "", last: int | None = None) -> list[int]:
    return [item.item["n"] for item in session.load(stream, last=last).items]


def recorded(store: Store, session_key: str) -> list[ItemRecorded]:
    events = (each.event() for each in store.conversation(session_key).log.read())
    return [event for event in events if isinstance(event, ItemRecorded)]


KEY = '["tests","project","one"]'


def test_items_come_back_in_order_and_as_they_were(session: ItemSession) -> None:
    item = {"text": LONG, "null": None, "list": [{"$onrecord.blob": "no reference"}], "é": 0.1}
    session.record([new(1), NewItem(item), new(2)])
    assert [held.item for held in session.load().items] == [{"n": 1}, item, {"n": 2}]


@pytest.mark.parametrize("name", ["$onrecord.blob", "$onrecord.escaped"])
def test_a_short_item_that_looks_like_a_reference_comes_back(
    session: ItemSession, name: str
) -> None:
    item = {"of": {name: "a" * 64, "size": 9}, name: {name: [name]}}
    session.record([NewItem(item)])
    assert [held.item for held in session.load().items] == [item]


@pytest.mark.parametrize("length", [64 * 1024 - 12, 64 * 1024, 64 * 1024 + 1])
def test_a_text_about_as_long_as_what_is_kept_apart_comes_back(
    session: ItemSession, length: int
) -> None:
    item = {"text": "a" * length}
    session.record([NewItem(item)])
    assert [held.item for held in session.load().items] == [item]


def test_a_session_that_nobody_wrote_holds_nothing_and_is_not_begun(
    sessions: Sessions, session: ItemSession
) -> None:
    assert session.record([]) is None
    session.clear()
    assert (session.load().items, session.version(), list(sessions.listed("project"))) == (
        (),
        0,
        [],
    )


def test_the_last_items_are_found_among_those_of_other_streams(session: ItemSession) -> None:
    for number in range(40):
        session.record([new(number)], stream="even" if number % 2 == 0 else "odd")
    assert numbers(session, "even", last=3) == [34, 36, 38]
    assert numbers(session, "odd", last=100) == list(range(1, 40, 2))
    assert numbers(session, "even", last=0) == []


def test_a_batch_that_comes_again_changes_nothing(session: ItemSession) -> None:
    first = session.record([new(1), new(2)])
    again = session.record([new(1), new(2)])
    assert first is not None
    assert isinstance(again, Duplicate)
    assert numbers(session) == [1, 2]


def test_of_a_batch_that_came_in_part_the_rest_is_recorded(session: ItemSession) -> None:
    session.record([new(1), new(2)])
    session.record([new(2), new(3), NewItem({"n": 4}), new(1)])
    assert numbers(session) == [1, 2, 3, 4]


def test_of_a_batch_whose_rest_another_records_meanwhile_nothing_is_doubled(
    sessions: Sessions, store: Store, session: ItemSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.record([new(1)])
    other = Sessions(store, FRAMEWORK).session("project", "one")
    find: Any = getattr(session, "_known")  # noqa: B009

    def find_then_wait(*arguments: Any) -> Any:
        found = find(*arguments)
        other.record([new(2)])
        return found

    monkeypatch.setattr(session, "_known", find_then_wait)
    session.record([new(1), new(2), new(3)])
    assert numbers(session) == [1, 2, 3]


def test_an_id_that_comes_twice_in_one_batch_is_one_item(session: ItemSession) -> None:
    session.record([new(1), new(1), new(2)])
    assert numbers(session) == [1, 2]


def test_other_content_under_an_id_is_kept_beside_the_stream_once(
    store: Store, session: ItemSession
) -> None:
    session.record([new(1)])
    for _ in range(2):
        session.record([new(1, changed=LONG)])
    assert numbers(session) == [1]
    assert [event.beside for event in recorded(store, KEY)] == [None, 2]


def test_the_same_id_in_two_streams_is_two_items(session: ItemSession) -> None:
    session.record([new(1)], stream="a")
    session.record([new(1)], stream="b")
    assert (numbers(session, "a"), numbers(session, "b")) == ([1], [1])


def test_popped_items_are_no_part_of_the_stream_but_of_the_record(
    store: Store, session: ItemSession
) -> None:
    session.record([new(1), new(2), new(3)])
    popped = [session.pop(), session.pop()]
    session.record([new(4)])
    assert [item.item["n"] for item in popped if item is not None] == [3, 2]
    assert numbers(session) == [1, 4]
    assert [event.item["n"] for event in recorded(store, KEY)] == [1, 2, 3, 4]


def test_nothing_is_popped_of_an_empty_stream(session: ItemSession) -> None:
    assert session.pop() is None
    session.record([new(1)], stream="other")
    assert session.pop() is None


def test_those_who_pop_at_once_each_get_another_item(session: ItemSession) -> None:
    session.record([new(number) for number in range(12)])
    popped: list[int] = []

    def pop() -> None:
        for _ in range(3):
            item = session.pop()
            assert item is not None
            popped.append(item.item["n"])

    threads = [threading.Thread(target=pop) for _ in range(4)]
    for thread in threads:
        thread.start()
    join(*threads)
    assert sorted(popped) == list(range(12))
    assert numbers(session) == []


def test_a_cleared_stream_is_empty_and_takes_the_same_items_again(session: ItemSession) -> None:
    session.record([new(1), new(2)], stream="a")
    session.record([new(1)], stream="b")
    for _ in range(2):
        session.clear("a")
        assert (numbers(session, "a"), session.streams()) == ([], ["b"])
        session.record([new(2), new(1)], stream="a")
        session.record([new(1), new(2)], stream="a")
        assert (numbers(session, "a"), numbers(session, "b")) == ([2, 1], [1])


def test_a_deleted_session_is_listed_no_more_until_it_lives_again(
    sessions: Sessions, session: ItemSession
) -> None:
    session.record([new(1)], stream="a", state={"name": "x"})
    session.clear()
    assert (list(sessions.listed("project")), session.streams(), session.state("name", "a")[0]) == (
        [],
        [],
        None,
    )
    session.record([new(1)])
    assert [entry.outer_id for entry in sessions.listed("project")] == [("project", "one")]
    assert numbers(session) == [1]


def test_what_is_replaced_keeps_its_order_and_the_record_keeps_all(
    store: Store, session: ItemSession
) -> None:
    session.record([new(number) for number in range(6)])
    loaded = session.load()
    versions = [item.version for item in loaded.items]
    kept = [(versions[0], versions[1]), (versions[4], versions[4])]
    session.replace(kept, [new(9)], expected_version=loaded.version)
    session.record([new(10)])
    assert numbers(session) == [0, 1, 4, 9, 10]
    assert numbers(session, last=3) == [4, 9, 10]
    again = session.load()
    last = again.items[-1].version
    session.replace([(last, last)], [], expected_version=again.version)
    assert numbers(session) == [10]
    assert len(recorded(store, KEY)) == 8


def test_items_cannot_be_replaced_by_one_who_read_before_another_wrote(
    session: ItemSession,
) -> None:
    session.record([new(1)])
    version = session.version()
    session.record([new(2)])
    with pytest.raises(onrecord.VersionConflict):
        session.replace([], [new(3)], expected_version=version)
    assert numbers(session) == [1, 2]


@pytest.mark.parametrize("ranges", [[(3, 2)], [(2, 2), (1, 1)], [(1, 9)], [(-1, 1)]])
def test_ranges_that_are_out_of_order_replace_nothing(
    session: ItemSession, ranges: list[tuple[int, int]]
) -> None:
    session.record([new(1), new(2)])
    with pytest.raises(onrecord.InvalidContent):
        session.replace(ranges, [new(3)], expected_version=session.version())
    assert numbers(session) == [1, 2]


def test_an_earlier_version_of_a_stream_can_be_read(session: ItemSession) -> None:
    session.record([new(1), new(2)])
    version = session.version()
    session.pop()
    session.clear()
    assert [item.item["n"] for item in session.load(until=version).items] == [1, 2]


def test_state_is_the_last_that_was_put(session: ItemSession) -> None:
    session.record([new(1)], state={"a": {"text": LONG}, "b": 1})
    session.record(state={"b": None})
    assert session.state("a")[0] == {"text": LONG}
    assert session.load().state == {"a": {"text": LONG}}
    assert session.state("b") == (None, session.version())


def test_items_and_state_are_recorded_where_the_version_is_as_expected(
    session: ItemSession,
) -> None:
    session.record([new(1)], expected_version=0)
    version = session.version()
    session.record([new(2)], state={"a": 1}, expected_version=version)
    with pytest.raises(onrecord.VersionConflict):
        session.record([new(3)], state={"a": 2}, expected_version=version)
    with pytest.raises(onrecord.VersionConflict):
        session.record([NewItem({"n": 4})], expected_version=0)
    assert (numbers(session), session.state("a")[0]) == ([1, 2], 1)


@pytest.mark.parametrize(
    "item",
    [
        *({"a": float("nan")}, {"a": float("inf")}, {"a": (1,)}, {"a": {1: 2}}, {"a": object()}),
        *({1: 2}, "text", [1], None),
    ],
    ids=lambda item: type(item).__name__,
)
def test_what_is_no_json_is_refused_with_its_whole_batch(session: ItemSession, item: Any) -> None:
    with pytest.raises((onrecord.MalformedJson, onrecord.InvalidContent)):
        session.record([new(1), NewItem(item)])
    assert session.version() == 0


@pytest.mark.parametrize("part", ["", "  ", "a\0b", "x" * (LONGEST_ID + 1), "\ud800", 7, None])
def test_what_is_no_id_names_no_session(sessions: Sessions, part: Any) -> None:
    with pytest.raises((onrecord.InvalidInput, onrecord.InvalidContent)):
        sessions.session("project", part)


def test_a_session_of_another_framework_or_tenant_is_not_seen(
    backend: Backend, tmp_path: Path, sessions: Sessions, session: ItemSession
) -> None:
    session.record([new(1)])
    others = Sessions(store_of(backend, tmp_path, UUID(int=77)), FRAMEWORK)
    assert numbers(others.session("project", "one")) == []
    others.session("project", "one").record([new(2)])
    assert (numbers(session), len(list(sessions.listed("project")))) == ([1], 1)
    assert list(Sessions(store_of(backend, tmp_path), "another").listed("project")) == []


def test_a_forgotten_session_begins_anew_for_all_who_hold_it(
    store: Store, sessions: Sessions, session: ItemSession
) -> None:
    holders = [session, *(Sessions(store, FRAMEWORK).session("project", "one") for _ in range(3))]
    session.record([new(1, text=LONG)], stream="a", state={"b": 1})
    for holder in holders:
        assert numbers(holder, "a") == [1]
    store.forget(KEY, reason="asked for")
    assert [numbers(holder, "a") for holder in holders] == [[], [], [], []]
    assert (list(sessions.listed("project")), holders[1].pop("a")) == ([], None)
    holders[0].record([new(1)], stream="a")
    assert [numbers(holder, "a") for holder in holders] == [[1], [1], [1], [1]]
    holders[2].record([new(2)], stream="a")
    assert numbers(holders[3], "a", last=1) == [2]


def test_what_was_forgotten_is_in_no_row_and_the_others_verify(tmp_path: Path) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'log.db'}") as store:
        sessions = Sessions(store, FRAMEWORK)
        sessions.session("secret-id").record(
            [NewItem({"text": "secret", "long": "secret" * 20_000}, "secret-item")],
            state={"secret": "secret"},
        )
        secret = sessions.session("secret-id").load().items[0]
        sessions.session("secret-id").amend(secret.version, {"text": "secret" * 20_001})
        sessions.session("other").record([new(1)])
        store.forget('["tests","secret-id"]', reason="asked for", actor="eve")
        store.sweep()
        assert store.verify().is_whole
        assert numbers(sessions.session("other")) == [1]
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert b"secret" not in held


def test_a_redacted_item_is_no_part_of_its_stream(store: Store, session: ItemSession) -> None:
    session.record([new(1), new(2)])
    store.conversation(KEY).redact(session.load().items[0].version)
    assert numbers(session) == [2]


def test_a_session_takes_nothing_once_its_conversation_has_ended(
    store: Store, session: ItemSession
) -> None:
    session.record([new(1)])
    store.conversation(KEY).end()
    with pytest.raises(onrecord.ConversationClosed):
        session.record([new(2)])
    assert numbers(session) == [1]


def test_reading_the_last_items_reads_as_much_however_long_the_session_is(
    session: ItemSession, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    read = counted_reads(store, monkeypatch)
    counts: list[int] = []
    for _ in range(3):
        session.record([NewItem({"n": number}) for number in range(300)])
        read.clear()
        session.load(last=50)
        counts.append(len(read))
    assert counts == [58, 58, 58]


def test_finding_the_streams_reads_each_event_once(
    session: ItemSession, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    for number in range(60):
        session.record([new(number)], stream=f"stream {number % 20}")
    read = counted_reads(store, monkeypatch)
    assert session.streams() == [f"stream {number}" for number in range(20)]
    assert sorted(read) == list(range(1, session.version() + 1))
