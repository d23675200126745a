"""Events that are followed by coroutines: none is skipped, none is lost to a task that was cancelled."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

import onrecord
from onrecord import AsyncSubscription, Cursor
from onrecord.adapters.store import Store
from tests.adapters.asynchronous.stores import awaited
from tests.patience import PATIENCE

MANY = 30


async def shard_cursor(store: Store, key: str) -> Cursor:
    """Where the shard of a conversation ends now."""
    [event, *_] = store.conversation(key).events()
    return next(cursor for cursor in store.cursors() if cursor.shard == event.shard)


async def taken(events: AsyncIterator[onrecord.RecordedEvent], count: int) -> list[int]:
    positions: list[int] = []
    async with asyncio.timeout(PATIENCE):
        async for event in events:
            positions.append(event.position)
            if len(positions) == count:
                break
    return positions


async def test_what_was_said_and_what_is_said_meanwhile_comes_in_order(store: Store) -> None:
    chat = awaited(store).conversation("a")
    await chat.user("First")
    beginning = replace(await shard_cursor(store, "a"), position=0)
    async with awaited(store).subscribe(beginning) as events:
        following = asyncio.ensure_future(taken(events, MANY + 2))
        for number in range(MANY):
            await chat.user(f"{number}")
        assert await following == list(range(1, MANY + 3))


async def test_a_task_that_is_cancelled_as_it_waits_loses_no_event(store: Store) -> None:
    chat = awaited(store).conversation("a")
    await chat.user("First")
    cursor = await shard_cursor(store, "a")
    async with awaited(store).subscribe(cursor) as events:
        positions: list[int] = []
        for number in range(MANY):
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await chat.user(f"{number}")
            positions += await taken(events, 1)
    assert positions == [cursor.position + number for number in range(1, MANY + 1)]


async def test_a_subscription_ends_when_it_is_stopped(store: Store) -> None:
    await awaited(store).conversation("a").user("First")
    cursor = await shard_cursor(store, "a")
    events = awaited(store).subscribe(cursor)
    waiting = asyncio.ensure_future(_all(events))
    await asyncio.sleep(0)
    events.stop()
    async with asyncio.timeout(PATIENCE):
        assert await waiting == []
    with pytest.raises(StopAsyncIteration):
        await anext(events)


async def test_a_subscription_ends_when_the_store_is_closed(store: Store) -> None:
    async_store = awaited(store)
    await async_store.conversation("a").user("First")
    async with async_store.subscribe(await shard_cursor(store, "a")) as events:
        waiting = asyncio.ensure_future(_all(events))
        await asyncio.sleep(0)
        await async_store.close()
        async with asyncio.timeout(PATIENCE):
            assert await waiting == []


async def test_a_cursor_of_another_incarnation_is_an_error_as_the_scope_is_entered(
    store: Store,
) -> None:
    cursor = replace(store.cursors()[0], incarnation=uuid4())
    with pytest.raises(onrecord.StaleCursor):
        async with awaited(store).subscribe(cursor):
            pass
    with pytest.raises(onrecord.StaleCursor):
        await anext(awaited(store).subscribe(cursor))


async def _all(events: AsyncSubscription) -> list[int]:
    return [event.position async for event in events]


async def test_tasks_that_share_a_subscription_get_each_event_once(store: Store) -> None:
    chat = awaited(store).conversation("a")
    for number in range(MANY):
        await chat.user(f"{number}")
    beginning = replace(await shard_cursor(store, "a"), position=0)
    positions: list[int] = []
    async with awaited(store).subscribe(beginning) as events:

        async def take() -> None:
            for _ in range(MANY // 3):
                positions.append((await anext(events)).position)

        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(take(), take(), take())
    assert sorted(positions) == list(range(1, MANY + 1))


def test_a_program_ends_though_nobody_stopped_what_it_follows() -> None:
    program = """if True:
        import asyncio, onrecord
        async def follow():
            store = await onrecord.connect_async("memory://")
            await store.conversation("a").user("Hello")
            [cursor] = await store.cursors()
            async for _ in store.subscribe(cursor):
                pass
        loop = asyncio.new_event_loop()
        task = loop.create_task(follow())
        loop.call_later(0.3, loop.stop)
        loop.run_forever()
        loop.close()
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)


class Slow(onrecord.EventSink):
    name = "slow"
    types = (onrecord.MessageRecorded,)

    def __init__(self) -> None:
        self.is_let = threading.Event()
        self.delivered = 0

    def deliver(self, events: Sequence[onrecord.RecordedEvent]) -> None:
        assert self.is_let.wait(PATIENCE)
        self.delivered += len(events)


async def test_waiting_for_a_projection_that_is_given_up_holds_up_nobody(tmp_path: Path) -> None:
    slow = Slow()
    async with onrecord.connect_async(f"sqlite:///{tmp_path / 'a.db'}") as opened_store:
        await opened_store.conversation("a").user("Hello")
        async with opened_store.follow(slow) as following:
            waits = [asyncio.ensure_future(following.wait()) for _ in range(50)]
            assert not await following.wait(0.05)
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
            assert await opened_store.erasures() == []
            slow.is_let.set()
            assert await following.wait(PATIENCE)
    assert slow.delivered == 1


async def test_following_that_is_cancelled_as_it_begins_leaves_nothing(tmp_path: Path) -> None:
    slow = Slow()
    slow.is_let.set()
    async with onrecord.connect_async(f"sqlite:///{tmp_path / 'a.db'}") as opened_store:
        await opened_store.conversation("a").user("Hello")
        entering = asyncio.ensure_future(opened_store.follow(slow).__aenter__())
        await asyncio.sleep(0)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering

        def is_left() -> bool:
            return any(thread.name == "onrecord-following" for thread in threading.enumerate())

        async with asyncio.timeout(PATIENCE):
            # The pool's threads take what they are asked for in order: it has begun by then.
            await asyncio.gather(*(asyncio.to_thread(is_left) for _ in range(64)))
            while is_left():
                await asyncio.sleep(0.01)
