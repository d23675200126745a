"""What is read is recorded, on every backend that a program opens where the log is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.settings import AccessMode
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.upkeep import access_log
from onrecord.adapters.upkeep.access_log import DAY, MINUTE, AccessLog, ReadCounts
from onrecord.domain.errors import InvalidInput, StorageFull, StorageUnavailable
from onrecord.domain.header import SALT_SIZE, time_of
from onrecord.domain.log import Append, Backend, RecordedEvent
from onrecord.domain.marks.marked_ids import access_id, day_of, operators_of
from onrecord.domain.new_events import Stamp, draft_fact
from onrecord.domain.operators import AccessCounted, AccessFact, AccessRead
from tests.contract.places import WHERE_THE_LOG_IS, prepared
from tests.factories import BECAUSE, TENANT

NOON = 1_795_000_020_000_000


@pytest.fixture(params=WHERE_THE_LOG_IS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    for place in prepared(request.param, tmp_path):
        opened = place.open()
        yield opened
        opened.close()


Opens = Callable[..., Store]


@pytest.fixture
def opens(backend: Backend, tmp_path: Path) -> Opens:
    def opened(mode: AccessMode = "on", actor: str = "eve") -> Store:
        spool = Spool(tmp_path / "spool")
        store = Store(backend, "a store", spool=spool, tenant=TENANT, actor=actor, access_log=mode)
        store.conversation("a").user("swordfish")
        return store

    return opened


def test_a_persons_read_is_recorded_without_what_was_read(opens: Opens) -> None:
    store = opens()
    own = store.get("a").conversation_id
    assert store.access.record("onrecord show", which="a", entries=2, actor="ana")
    assert store.access.record("onrecord search", asked={"text": "swordfish", "tool": None})
    searched, shown = store.access.entries()
    assert (shown.via, shown.conversation_id, shown.key) == ("onrecord show", own, "a")
    assert (shown.actor_name, shown.entries, shown.asked, shown.query) == ("ana", 2, (), None)
    assert (searched.actor_name, searched.asked, searched.entries) == ("eve", ("text",), None)
    assert searched.query is not None
    assert store.access.entries(actor="ana") == store.access.entries(conversation="a") == [shown]
    assert store.access.entries(limit=1) == [searched]
    others = [uuid7() for _ in range(1_001)]
    store.access.record("onrecord overview", conversations=[own, own, *others])
    overview, *_ = store.access.entries(conversation="a")
    assert (overview.via, overview.conversation_id) == ("onrecord overview", None)
    assert (overview.conversations, overview.more) == ((own, *others[:999]), 2)
    for event in recorded(store):
        assert b"swordfish" not in event.header + (event.body or b"")
        assert b"ana" not in event.header + (event.body or b"")
    assert store.verify().is_whole


def recorded(store: Store) -> list[RecordedEvent]:
    """The events of the access log of today."""
    stream = access_id(TENANT, access_log.now() // 86_400_000_000)
    return list(backend_of(store).read(stream))


def test_programs_are_counted_and_told_of_in_the_end(opens: Opens) -> None:
    store = opens()
    chat = store.get("a")
    for _ in range(3):
        chat.history()
    chat.request("anthropic-messages")
    assert store.access.entries() == []
    store.access.counts.flush()
    (entry,) = store.access.entries()
    assert entry.reads == {"history": 3, "request": 1}
    assert (entry.actor_name, entry.via, entry.at % MINUTE) == ("eve", None, 0)
    store.access.counts.flush()
    assert len(store.access.entries()) == 1


def test_nothing_is_recorded_unless_somebody_says_so(opens: Opens) -> None:
    store = opens("off")
    store.get("a").history()
    assert not store.access.record("onrecord show", which="a")
    store.access.counts.flush()
    assert store.access.entries() == []


def test_entries_outlive_the_conversation_and_the_name(opens: Opens) -> None:
    store = opens()
    store.access.record("onrecord show", which="a", actor="ana")
    (before,) = store.access.entries()
    store.forget("a", **BECAUSE)
    store.forget_actor("ana", **BECAUSE)
    (after,) = store.access.entries(actor="ana")
    assert (after.conversation_id, after.actor) == (before.conversation_id, before.actor)
    assert (after.key, after.actor_name) == (None, None)
    assert store.verify().is_whole


@pytest.mark.parametrize("mode", ["on", "required"])
def test_what_cannot_be_recorded_is_shown_only_where_that_is_not_required(
    opens: Opens,
    mode: AccessMode,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = opens(mode)

    def full(log: AccessLog, fact: AccessFact, actor: str | None) -> None:
        raise StorageFull("the disk is full")

    monkeypatch.setattr(AccessLog, "record", full)
    if mode == "required":
        with pytest.raises(StorageUnavailable, match=r"nothing is shown.*full"):
            store.access.record("onrecord show", which="a")
        return
    assert not store.access.record("onrecord show", which="a")
    assert "the disk is full" in caplog.text


def test_entries_are_found_by_time(opens: Opens) -> None:
    store = opens()
    store.access.record("onrecord show", which="a")
    now = datetime.now(UTC)
    hour = timedelta(hours=1)
    assert len(store.access.entries(since=now - hour, until=now + hour)) == 1
    assert store.access.entries(until=now - hour) == []
    assert store.access.entries(since=now + hour, until=now + 2 * hour) == []
    with pytest.raises(InvalidInput, match="zone"):
        store.access.entries(since=datetime(2026, 3, 3))
    with pytest.raises(InvalidInput, match="limit"):
        store.access.entries(limit=0)
    with pytest.raises(InvalidInput, match="via"):
        store.access.record("")
    with pytest.raises(InvalidInput, match="entries"):
        store.access.record("onrecord show", entries=-1)


def test_an_actor_that_is_no_digest_has_no_name_and_stops_nothing(opens: Opens) -> None:
    store = opens()
    store.access.record("onrecord show", actor="ana")
    add(store, AccessRead(tenant=TENANT, via="odd", at=access_log.now()), actor="not hex")
    odd, usual = store.access.entries()
    assert (odd.actor, odd.actor_name) == ("not hex", None)
    assert usual.actor_name == "ana"
    assert store.access.entries(actor="not hex") == [odd]


def test_entries_are_read_by_the_page_from_the_days_that_have_any(
    opens: Opens, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opens()
    monkeypatch.setattr(access_log, "_PAGE", 2)
    monkeypatch.setattr(access_log, "_DAYS", 7)
    days = (NOON - 40 * DAY, NOON - 3 * DAY, NOON)
    add(store, *(AccessRead(tenant=TENANT, via=f"{n}", at=at) for at in days for n in range(5)))
    pages: list[UUID] = []
    read = backend.read

    def counted(conversation_id: UUID, **limits: int) -> Iterator[RecordedEvent]:
        pages.append(conversation_id)
        return read(conversation_id, **limits)

    monkeypatch.setattr(backend, "read", counted)
    until = time_of(NOON + DAY)
    assert [each.via for each in store.access.entries(until=until, limit=3)] == ["4", "3", "2"]
    assert pages == [access_id(TENANT, day_of(NOON))] * 2
    pages.clear()
    told = store.access.entries(since=time_of(NOON - 300 * DAY), until=until)
    assert [(each.at, each.via) for each in told] == [
        (at, f"{n}") for at in reversed(days) for n in reversed(range(5))
    ]
    assert len(pages) == 3 * len(days)


def test_entries_without_since_are_those_of_the_30_days_before_until(opens: Opens) -> None:
    store = opens()
    days = (NOON - 30 * DAY - 1, NOON - 30 * DAY, NOON - 1, NOON)
    add(store, *(AccessRead(tenant=TENANT, via="x", at=at) for at in days))
    told = store.access.entries(until=time_of(NOON))
    assert [each.at for each in told] == [NOON - 1, NOON - 30 * DAY]


def add(store: Store, *facts: AccessFact, actor: str | None = None) -> None:
    """Record what was read as it is, in the streams of its days."""
    for fact in facts:
        operators, stream = operators_of(TENANT), access_id(TENANT, day_of(fact.at))
        stamp = Stamp(uuid7(), fact.at, b"s" * SALT_SIZE, operators, stream, actor)
        backend_of(store).append([Append(operators, stream, (draft_fact(fact, stamp),))])


class Timers:
    """What would run later: the test says when."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, seconds: float, call: Callable[[], None]) -> threading.Timer:
        self.waiting.append((seconds, call))
        return threading.Timer(0, lambda: None)


class Clock:
    """A clock that stands until the test moves it."""

    def __init__(self) -> None:
        self.now = NOON + 15_000_000

    def __call__(self) -> int:
        return self.now


class FullDisk:
    """Records what was told of, unless the disk is full."""

    def __init__(self) -> None:
        self.told: list[AccessFact] = []
        self.is_full = True

    def __call__(self, fact: AccessFact) -> None:
        if self.is_full:
            raise StorageFull("the disk is full")
        self.told.append(fact)


def test_counts_that_cannot_be_told_of_are_kept_under_their_minute_and_tried_again() -> None:
    disk, timers, clock = FullDisk(), Timers(), Clock()
    counts = ReadCounts(disk, TENANT, clock=clock, timer=timers)
    counts.add("history")
    counts.add("history")
    ((seconds, call),) = timers.waiting
    assert seconds == 45
    clock.now += MINUTE
    call()
    assert disk.told == []
    assert len(timers.waiting) == 2
    counts.add("request")
    disk.is_full = False
    timers.waiting[1][1]()
    assert disk.told == [
        AccessCounted(tenant=TENANT, reads={"history": 2}, at=NOON),
        AccessCounted(tenant=TENANT, reads={"request": 1}, at=NOON + MINUTE),
    ]
    assert len(timers.waiting) == 2


def test_a_flush_that_fails_starts_no_timer_and_loses_nothing() -> None:
    disk, timers = FullDisk(), Timers()
    counts = ReadCounts(disk, TENANT, clock=Clock(), timer=timers)
    counts.add("history")
    counts.flush()
    assert len(timers.waiting) == 1
    disk.is_full = False
    counts.flush()
    assert disk.told == [AccessCounted(tenant=TENANT, reads={"history": 1}, at=NOON)]


def test_counts_are_given_up_that_could_not_be_told_of_for_a_day(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk, clock = FullDisk(), Clock()
    counts = ReadCounts(disk, TENANT, clock=clock, timer=Timers())
    counts.add("history")
    clock.now += DAY
    counts.flush()
    assert "1 read by programs given up" in caplog.text
    disk.is_full = False
    counts.flush()
    assert disk.told == []
