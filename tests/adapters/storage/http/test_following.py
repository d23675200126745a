"""Following a log over HTTP: over cuts, beside other requests, and until it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.storage.http import transport
from onrecord.adapters.storage.http.http import Http, open_http
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import Cursor
from tests.adapters.service.keys import KEYS, TENANT, Keys
from tests.adapters.service.served import Served, served
from tests.adapters.storage.http.cutting_proxy import CUTS, CuttingProxy, cutting
from tests.factories import answer, appending, prompt, started
from tests.patience import PATIENCE, until

WAITING = 4


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A service that has room for two requests of a key at once, and for four tails of it."""
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path / "spool"))
    limits = Limits(open_requests=4, tails=2 * WAITING)
    with served(f"sqlite:///{tmp_path / 'log.db'}", keyring=Keys(), limits=limits) as answering:
        yield answering


@pytest.fixture
def proxy(service: Served) -> Iterator[CuttingProxy]:
    with cutting(service.url) as proxy:
        yield proxy


@pytest.fixture
def log(proxy: CuttingProxy) -> Iterator[Http]:
    with closing(open_http(proxy.url, "writer")) as opened:
        yield opened


def begun(log: Http) -> tuple[UUID, Cursor]:
    """A conversation, and the cursor before it."""
    (end,) = log.cursors()
    conversation = uuid4()
    log.append([appending(conversation, started(), prompt(), answer(), tenant=TENANT)])
    return conversation, end


def test_nothing_is_lost_or_doubled_where_each_look_is_cut(log: Http, proxy: CuttingProxy) -> None:
    conversation, beginning = begun(log)
    with log.subscribe(beginning) as events:
        found = list(islice(events, 3))
        for cut in CUTS:
            log.append([appending(conversation, answer(), tenant=TENANT)])
            proxy.arm(cut, cut)
            found.append(next(events))
        assert proxy.cuts == 2 * len(CUTS)
    assert [event.version for event in found] == list(range(1, 4 + len(CUTS)))


async def test_coroutines_lose_nothing_where_each_look_is_cut(
    log: Http, proxy: CuttingProxy
) -> None:
    conversation, beginning = begun(log)
    async with (
        onrecord.connect_async(proxy.url, key="writer") as store,
        store.subscribe(beginning) as events,
    ):
        found = [await anext(events) for _ in range(3)]
        for cut in CUTS:
            log.append([appending(conversation, answer(), tenant=TENANT)])
            proxy.arm(cut)
            found.append(await anext(events))
    assert proxy.cuts == len(CUTS)
    assert [event.version for event in found] == list(range(1, 4 + len(CUTS)))


def test_one_who_waits_takes_no_room_of_requests(service: Served, log: Http) -> None:
    conversation, _ = begun(log)
    (end,) = log.cursors()
    with ThreadPoolExecutor(WAITING) as pool, ExitStack() as following:
        subscriptions = [following.enter_context(log.subscribe(end)) for _ in range(WAITING)]
        waiting = [pool.submit(next, each) for each in subscriptions]
        until(lambda: service.service.tails.open_tails.total == WAITING, "who waits")
        log.append([appending(conversation, answer(), tenant=TENANT)])
        versions = {each.result(PATIENCE).version for each in waiting}
    assert versions == {4}


def test_more_tails_than_there_is_room_for_are_an_error_that_says_so(
    service: Served, log: Http
) -> None:
    begun(log)
    (end,) = log.cursors()
    tails, key = service.service.tails.open_tails, KEYS["writer"].key_id
    for _ in range(WAITING):
        tails.enter(key)
    with (
        closing(open_http(service.url, "writer", patience=0.2)) as hurried,
        hurried.subscribe(end) as events,
    ):
        with pytest.raises(StorageUnavailable, match="too much open"):
            events.poll()
        tails.leave(key)
        assert events.poll() is None


async def test_coroutines_that_wait_hold_up_no_other_request(
    service: Served, log: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "THREADS", 1)
    conversation, _ = begun(log)
    (end,) = log.cursors()
    async with onrecord.connect_async(service.url, key="writer") as store:
        subscriptions = [store.subscribe(end) for _ in range(WAITING)]
        waiting = [asyncio.ensure_future(anext(each)) for each in subscriptions]
        while service.service.tails.open_tails.total < WAITING:
            await asyncio.sleep(0.005)
        assert [one.key async for one in store.conversations()] == ["support/4711"]
        await asyncio.to_thread(log.append, [appending(conversation, answer(), tenant=TENANT)])
        assert {event.version for event in await asyncio.gather(*waiting)} == {4}
        for each in subscriptions:
            each.stop()


async def test_a_store_that_is_closed_ends_who_waits_in_it(service: Served, log: Http) -> None:
    begun(log)
    (end,) = log.cursors()
    store = await onrecord.connect_async(service.url, key="writer")
    events = store.subscribe(end)
    waiting = asyncio.ensure_future(anext(events, None))
    while not service.service.tails.open_tails.total:
        await asyncio.sleep(0.005)
    await store.close()
    assert await waiting is None
