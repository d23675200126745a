"""A subscription that was stopped is over: entering it and asking it for more give no error."""

import asyncio

import pytest

import onrecord
from onrecord.adapters.store import Store
from tests.adapters.asynchronous.stores import awaited
from tests.patience import PATIENCE


async def test_a_subscription_that_was_stopped_before_it_is_entered_yields_nothing(
    store: Store,
) -> None:
    await awaited(store).conversation("a").user("Hello")
    events = awaited(store).subscribe(store.cursors()[0])
    events.stop()
    async with events:
        assert [event async for event in events] == []


async def test_a_subscription_that_is_stopped_as_it_begins_ends(store: Store) -> None:
    await awaited(store).conversation("a").user("Hello")
    for turns in range(4):
        events = awaited(store).subscribe(store.cursors()[0])
        entering = asyncio.ensure_future(events.__aenter__())
        waiting = asyncio.ensure_future(anext(events))
        for _ in range(turns):
            await asyncio.sleep(0)
        events.stop()
        async with asyncio.timeout(PATIENCE):
            assert await entering is events
            with pytest.raises(StopAsyncIteration):
                await waiting


async def test_a_subscription_to_a_closed_store_says_that_it_is_closed(store: Store) -> None:
    async_store = awaited(store)
    await async_store.conversation("a").user("Hello")
    events = async_store.subscribe((await async_store.cursors())[0])
    await async_store.close()
    with pytest.raises(onrecord.StorageUnavailable, match="closed"):
        await anext(events)
