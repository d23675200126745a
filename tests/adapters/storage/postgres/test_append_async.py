"""Appends of event loops on PostgreSQL: shared, cancelled, interrupted, and gone with their loop."""

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from uuid import uuid4

import pytest

from onrecord.adapters.storage.postgres.group_commit import MOST_REQUESTS
from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, open_postgres
from onrecord.adapters.storage.subscription import NoHints
from onrecord.domain.errors import StorageReadOnly, StorageUnavailable
from onrecord.domain.log import Append, Duplicate, Verdict
from tests.awaited import appended
from tests.factories import OTHER_TENANT, appending, raw_event
from tests.faults.lossy_line import Cut, LossyLine, Way
from tests.ledger import verified_log
from tests.mixed_appends import answer_of
from tests.patience import PATIENCE
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.postgres_sessions import (
    COMMITS,
    END_OTHER_SESSIONS,
    END_WAITING_SESSIONS,
    OTHER_SESSIONS,
    WAITING_SESSIONS,
    counted,
    shard_of,
    stuck,
)

CALLERS = 16


@pytest.fixture(params=VERSIONS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    made = fresh_log(request.param)
    yield made
    server(request.param).drop(made)


@pytest.fixture
def log(url: str) -> Iterator[Postgres]:
    # Without hints, which use a connection of the pool besides: sessions are counted here.
    opened = open_postgres(url, new_hints=NoHints)
    yield opened
    opened.close()


def new() -> Append:
    return appending(uuid4(), raw_event())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(condition):
            await asyncio.sleep(0.001)


async def queued(
    log: Postgres, url: str, appends: list[Append]
) -> list[asyncio.Task[list[Verdict]]]:
    """Tasks of callers: the first one's commit is stuck, the others wait for it in their order."""
    tasks = [asyncio.create_task(appended(log, appends[:1]))]
    await until(lambda: counted(url, WAITING_SESSIONS) == 1)
    tasks += [asyncio.create_task(appended(log, [append])) for append in appends[1:]]
    await asyncio.sleep(0)
    return tasks


def cancel_what_commits() -> None:
    """What a program does that cancels all tasks, and those who wait are still to append."""
    for task in asyncio.all_tasks():
        if task.get_name() == "onrecord-append":
            task.cancel()


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


def test_coroutines_that_wait_share_one_commit(url: str, log: Postgres) -> None:
    shard = shard_of(log)

    async def write() -> None:
        with stuck(url, shard):
            tasks = await queued(log, url, [new() for _ in range(CALLERS)])
        for task in tasks:
            (verdict,) = await task
            assert answer_of(verdict) == (1, 1)

    run(write())
    assert counted(url, COMMITS) == 1 + 2


def test_a_caller_that_is_cancelled_costs_the_others_nothing(url: str, log: Postgres) -> None:
    shard = shard_of(log)
    appends = [new() for _ in range(4)]

    async def write() -> None:
        with stuck(url, shard):
            in_flight, waiting, *others = await queued(log, url, appends)
            in_flight.cancel()
            waiting.cancel()
            await asyncio.sleep(0)
        for cancelled in (in_flight, waiting):
            with pytest.raises(asyncio.CancelledError):
                await cancelled
        for other in others:
            (verdict,) = await other
            assert answer_of(verdict) == (1, 1)

    run(write())
    known = {event.event_id for event in verified_log(log)}
    recorded = [append.events[0].event_id in known for append in appends]
    assert recorded == [True, False, True, True]


def test_what_is_not_for_the_tenant_is_refused_and_the_rest_of_the_batch_is_recorded(
    url: str, log: Postgres
) -> None:
    shard, other = shard_of(log), uuid4()
    log.append([appending(other, raw_event(), tenant=OTHER_TENANT)])

    async def write() -> None:
        with stuck(url, shard):
            good = [new() for _ in range(3)]
            first, second, bad, last = await queued(
                log, url, [*good[:2], appending(other, raw_event()), good[2]]
            )
        for task in (first, second, last):
            (verdict,) = await task
            assert answer_of(verdict) == (1, 1)
        with pytest.raises(StorageReadOnly, match="another tenant"):
            await bad

    run(write())


def test_a_loop_opens_one_connection_whoever_appends_and_closes_it_when_it_ends(
    url: str, log: Postgres
) -> None:
    shard_of(log)
    before = counted(url, OTHER_SESSIONS)

    async def write() -> None:
        await asyncio.gather(*(appended(log, [new()]) for _ in range(CALLERS)))
        assert await asyncio.to_thread(counted, url, OTHER_SESSIONS) == before + 1

    for _ in range(2):
        run(write())
        run(until(lambda: counted(url, OTHER_SESSIONS) == before))


def test_a_loop_that_ends_amid_a_commit_leaves_nothing_open(url: str, log: Postgres) -> None:
    shard, before = shard_of(log), counted(url, OTHER_SESSIONS)

    async def write() -> None:
        await queued(log, url, [new() for _ in range(3)])

    with stuck(url, shard):
        run(write())
        run(until(lambda: counted(url, OTHER_SESSIONS) == before + 1))
    gc.collect()  # A connection that was left open would say so.
    assert len(verified_log(log)) == 1


def test_a_loop_that_is_closed_without_care_is_cleared_away_by_the_next_or_by_the_store(
    url: str,
) -> None:
    log = open_postgres(url)
    for _ in range(2):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(appended(log, [new()]))
        loop.close()
    log.close()
    gc.collect()
    run(until(lambda: counted(url, OTHER_SESSIONS) == 0))


def test_closing_the_store_from_another_thread_answers_everybody_who_waits(url: str) -> None:
    log = open_postgres(url)
    shard = shard_of(log)

    async def write() -> None:
        with stuck(url, shard):
            first, *others = await queued(log, url, [new() for _ in range(4)])
            closing = threading.Thread(target=log.close)
            closing.start()
            for other in others:
                with pytest.raises(StorageUnavailable, match="closed"):
                    await other
        assert [answer_of(verdict) for verdict in await first] == [(1, 1)]
        await asyncio.to_thread(closing.join)
        with pytest.raises(StorageUnavailable, match="closed"):
            await appended(log, [new()])
        await until(lambda: counted(url, OTHER_SESSIONS) == 0)

    run(write())


def test_closing_the_store_in_its_loop_closes_the_connection(url: str) -> None:
    log = open_postgres(url)

    async def write() -> None:
        await appended(log, [new()])
        log.close()
        await until(lambda: counted(url, OTHER_SESSIONS) == 0)

    run(write())


def test_an_append_whose_session_was_ended_is_tried_again(url: str, log: Postgres) -> None:
    shard = shard_of(log)

    async def write() -> None:
        with stuck(url, shard):
            tasks = await queued(log, url, [new() for _ in range(3)])
            assert await asyncio.to_thread(counted, url, END_WAITING_SESSIONS) == 1
        for task in tasks:
            (verdict,) = await task
            assert answer_of(verdict) == (1, 1)

    run(write())
    assert len(verified_log(log)) == 4


def test_an_append_whose_answer_was_lost_is_recorded_once(url: str) -> None:
    line = LossyLine(url)
    log = open_postgres(line.url, new_hints=NoHints)  # A hint would be cut in its place.
    conversation = uuid4()

    async def write() -> None:
        await appended(log, [appending(conversation, raw_event())])
        lost = appending(conversation, raw_event(), raw_event(), expected_version=1)
        line.cut(Cut(Way.BACK, 0))
        assert await appended(log, [lost]) == [Duplicate(2, 3)]

    run(write())
    assert len(verified_log(log)) == 3
    log.close()
    line.close()


def test_a_server_that_stays_away_is_unavailable_to_each_who_waits(url: str) -> None:
    line, waiting = LossyLine(url), MOST_REQUESTS + 3
    log = open_postgres(line.url, Limits(wait=0.3))
    shard = shard_of(log)

    async def write() -> None:
        with stuck(url, shard):
            tasks = await queued(log, url, [new() for _ in range(waiting)])
            line.go_down()
            await asyncio.to_thread(counted, url, END_WAITING_SESSIONS)
            found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in found] == [StorageUnavailable] * waiting
        assert len({id(each) for each in found}) == waiting
        # Who looked for it once more would say that it cannot be reached.
        assert len({str(each) for each in found}) == 1

    run(write())
    log.close()
    line.close()


def test_a_server_that_was_away_before_an_append_is_not_said_to_have_lost_it(url: str) -> None:
    line = LossyLine(url)
    log = open_postgres(line.url, Limits(wait=0.3), NoHints)

    async def write() -> None:
        await appended(log, [new()])
        line.go_down()
        assert await asyncio.to_thread(counted, url, END_OTHER_SESSIONS) > 0
        with pytest.raises(StorageUnavailable, match="append the same events again"):
            await appended(log, [new()])
        with pytest.raises(StorageUnavailable, match="cannot be reached"):
            await appended(log, [new()])
        line.come_up()
        await appended(log, [new()])

    run(write())
    log.close()
    line.close()


def test_nobody_waits_for_a_task_that_was_cancelled_before_it_began(log: Postgres) -> None:
    async def write() -> None:
        await appended(log, [new()])
        first = asyncio.create_task(appended(log, [new()]))
        await asyncio.sleep(0)  # What commits it is a task now that has not begun.
        cancel_what_commits()
        (verdict,) = await appended(log, [new()])
        assert answer_of(verdict) == (1, 1)
        assert [answer_of(verdict) for verdict in await first] == [(1, 1)]

    run(write())


def test_who_waits_goes_on_though_the_task_that_commits_was_cancelled(
    url: str, log: Postgres
) -> None:
    shard = shard_of(log)

    async def write() -> None:
        with stuck(url, shard):
            lost, waiting = await queued(log, url, [new() for _ in range(2)])
            cancel_what_commits()
            with pytest.raises(StorageUnavailable, match="append the same events again"):
                await lost
        assert [answer_of(verdict) for verdict in await waiting] == [(1, 1)]

    run(write())


def test_a_loop_that_is_closed_amid_a_commit_disturbs_no_other(url: str) -> None:
    log = open_postgres(url)
    shard = shard_of(log)

    async def write() -> None:
        await appended(log, [new()])

    with stuck(url, shard):
        loop = asyncio.new_event_loop()
        tasks = loop.run_until_complete(queued(log, url, [new() for _ in range(3)]))
        loop.close()
    run(write())
    log.close()
    run(until(lambda: counted(url, OTHER_SESSIONS) == 0))
    assert [task.done() for task in tasks] == [False] * 3
    del tasks
    gc.collect()
