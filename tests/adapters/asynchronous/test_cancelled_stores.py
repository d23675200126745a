"""Verbs of a store, its views and what it follows, cancelled at every wait: no half write, no lost connection."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, cast

import pytest

import onrecord
from onrecord import AsyncStore, Store
from onrecord.adapters.asynchronous.reading import AsyncReading
from onrecord.adapters.storage.interrupts import holds
from onrecord.adapters.storage.postgres.pool import Loan
from onrecord.adapters.store import backend_of
from tests.adapters.asynchronous.interruptions import cut_at_every_wait
from tests.adapters.views.own_projections import Lengths, opened
from tests.patience import PATIENCE

KEY = "support/4711"
LENGTHS = Lengths()
AT_ONCE = pytest.mark.parametrize("at_once", [True, False])
REQUEST = {
    "model": "claude-sonnet-5",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hello"}],
}
RESPONSE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [{"type": "text", "text": "Good day"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}


@pytest.fixture(params=["sqlite", "postgres"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ana")
    yield from opened(request.param, tmp_path)


async def no_connection_is_lost(store: Store) -> None:
    """All that were lent come back: threads go on to their ends though nobody waits for them."""
    ends = time.monotonic() + PATIENCE
    while any(isinstance(hold, Loan) for hold in holds()):
        assert time.monotonic() < ends
        await asyncio.sleep(0.01)
    backend = cast("Any", backend_of(store))
    if not hasattr(backend, "_async_connections"):
        return
    connections = backend._async_connections
    most = connections._loops._new()._left._value
    for own in connections._loops._owned.values():
        assert not own._lent
        assert own._left._value == most


async def seen_to_the_end(
    store: Store, verb: Callable[[], Awaitable[object]], *, at_once: bool
) -> None:
    """Cancel a verb at every wait; after each the store is whole, and lent connections are back."""

    async def check() -> None:
        await no_connection_is_lost(store)
        assert store.verify().is_whole

    assert await cut_at_every_wait(verb, check, at_once=at_once)


READS: dict[str, Callable[[AsyncStore], Awaitable[object]]] = {
    "get": lambda store: store.get(KEY),
    "conversations": lambda store: listed(store),
    "forks": lambda store: store.forks(KEY),
    "erasures": lambda store: store.erasures(),
    "verify": lambda store: store.verify(views=True),
    "cursors": lambda store: store.cursors(),
    "views.conversations": lambda store: store.views.conversations(),
    "views.tool_calls": lambda store: store.views.tool_calls(),
    "views.search": lambda store: store.views.search("hello"),
    "views.window": lambda store: store.views.window(KEY),
    "views.usage_total": lambda store: store.views.usage_total(),
    "views.audit": lambda store: store.views.audit(),
    "views.rows": lambda store: store.views.rows(LENGTHS),
    "views.read": lambda store: lengths_read(store),
    "keeper.status": lambda store: kept(store, lambda keeper: keeper.status()),
    "keeper.at_work": lambda store: kept(store, lambda keeper: keeper.at_work()),
    "keeper.parked": lambda store: kept(store, lambda keeper: keeper.parked()),
    "why": lambda store: store.conversation(KEY).why(3),
    "diff": lambda store: store.conversation(KEY).diff(2, 3, api="anthropic-messages"),
    "approvals": lambda store: store.conversation(KEY).approvals(),
}


async def listed(store: AsyncStore) -> list[object]:
    return [each async for each in store.conversations()]


async def kept(
    store: AsyncStore, verb: Callable[[onrecord.AsyncKeeper], Awaitable[object]]
) -> object:
    return await verb(await store.views.keeper)


async def lengths_read(store: AsyncStore) -> int:
    async with store.views.read(LENGTHS) as reading:
        return reading.generation


def prepared(store: Store) -> AsyncStore:
    chat = store.conversation(KEY)
    chat.user("Hello")
    chat.user("Hello again")
    store.run(LENGTHS)
    return AsyncStore(store)


@AT_ONCE
@pytest.mark.parametrize("verb", READS)
async def test_a_read_that_is_cancelled_at_any_wait_leaves_nothing_behind(
    store: Store, verb: str, at_once: bool
) -> None:
    async_store = prepared(store)
    before = await answer_of(async_store, verb)
    version = store.conversation(KEY).head().version
    await seen_to_the_end(store, lambda: READS[verb](async_store), at_once=at_once)
    assert await answer_of(async_store, verb) == before
    assert store.conversation(KEY).head().version == version


async def answer_of(store: AsyncStore, verb: str) -> str:
    """What a read says, without what differs from one time to the next."""
    answer = await READS[verb](store)
    return "" if verb in ("get", "verify", "keeper.status") else repr(answer)


class Scope:
    """What a projection's tables are read by, and whether it was left."""

    def __init__(self) -> None:
        self.is_asked, self.answers, self.is_left = (threading.Event() for _ in range(3))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.is_left.set()

    def execute(self, _: str) -> list[object]:
        self.is_asked.set()
        assert self.answers.wait(PATIENCE)
        return []


async def test_a_transaction_that_is_read_ends_though_its_end_is_cancelled() -> None:
    """The thread is amid another statement: the end of the transaction waits behind that."""
    scope = Scope()

    async def read() -> None:
        async with AsyncReading(lambda: cast("Any", scope)) as reading:
            statements.append(asyncio.ensure_future(reading.execute("SELECT 1")))
            assert await asyncio.to_thread(scope.is_asked.wait, PATIENCE)

    statements: list[asyncio.Future[Any]] = []
    task = asyncio.ensure_future(read())
    assert await asyncio.to_thread(scope.is_asked.wait, PATIENCE)
    await asyncio.sleep(0.05)  # Long enough that the end is asked for; sooner is right too.
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    scope.answers.set()
    assert await asyncio.to_thread(scope.is_left.wait, PATIENCE)
    await statements[0]


WRITES: dict[str, Callable[[AsyncStore], Awaitable[object]]] = {
    "resume_erasures": lambda store: store.resume_erasures(),
    "sweep": lambda store: store.sweep(timedelta(0)),
    "run": lambda store: store.run(LENGTHS),
    "keeper.pause": lambda store: kept(store, lambda keeper: keeper.pause("usage")),
    "keeper.resume": lambda store: kept(store, lambda keeper: keeper.resume("usage")),
    "keeper.retry": lambda store: kept(store, lambda keeper: keeper.retry("usage")),
    "keeper.rebuild": lambda store: kept(store, lambda keeper: keeper.rebuild("usage")),
    "keeper.abandon": lambda store: kept(store, lambda keeper: keeper.abandon("usage")),
}


@AT_ONCE
@pytest.mark.parametrize("verb", WRITES)
async def test_upkeep_that_is_cancelled_at_any_wait_can_be_done_again(
    store: Store, verb: str, at_once: bool
) -> None:
    async_store = prepared(store)
    await seen_to_the_end(store, lambda: WRITES[verb](async_store), at_once=at_once)
    await WRITES[verb](async_store)
    assert await (await async_store.views.keeper).parked() == []
    assert (await async_store.verify(views=True)).is_whole


@AT_ONCE
@pytest.mark.parametrize("erased", ["a conversation", "an actor"])
async def test_an_erasure_that_is_cancelled_at_any_wait_is_made_to_its_end_or_not_at_all(
    store: Store, erased: str, at_once: bool
) -> None:
    async_store, names = AsyncStore(store), list[str]()

    def forget() -> Awaitable[object]:
        """Erase something that is there for the first time."""
        names.append(f"person {len(names)}")
        store.conversation(names[-1], actor=names[-1]).user("Hello")
        if erased == "a conversation":
            return async_store.forget(names[-1], reason="asked", actor="ana")
        return async_store.forget_actor(names[-1], reason="asked", actor="ana")

    await seen_to_the_end(store, forget, at_once=at_once)
    ends = time.monotonic() + PATIENCE
    while not all(entry.outcome for entry in store.erasures()):
        assert time.monotonic() < ends
        await asyncio.sleep(0.01)
    assert store.erasures()
    assert await async_store.resume_erasures() == 0


def stored(store: Store, key: str) -> list[str]:
    return [each.type for each in store.conversation(key).events()]


@AT_ONCE
@pytest.mark.parametrize("verb", ["record_request", "record_response"])
async def test_an_answer_in_hand_that_is_cancelled_at_any_wait_is_recorded_whole_or_not_at_all(
    store: Store, verb: str, at_once: bool
) -> None:
    keys: list[str] = []

    def record() -> Awaitable[object]:
        """Record in a conversation that is new."""
        keys.append(f"support/{len(keys)}")
        if verb == "record_request":
            chat = AsyncStore(store).conversation(keys[-1])
            return chat.record_request(REQUEST, api="anthropic-messages")
        store.conversation(keys[-1]).record_request(REQUEST, api="anthropic-messages")
        chat = AsyncStore(store).conversation(keys[-1])
        return chat.record_response(RESPONSE, api="anthropic-messages")

    await record()
    whole = stored(store, keys[0])
    before = [] if verb == "record_request" else whole[:3]

    async def check() -> None:
        await no_connection_is_lost(store)
        assert stored(store, keys[-1]) in (before, whole)
        assert store.verify().is_whole

    assert await cut_at_every_wait(record, check, at_once=at_once)
    assert stored(store, keys[-1]) == whole


@AT_ONCE
async def test_a_subscription_that_is_cancelled_at_any_wait_loses_no_event(
    store: Store, at_once: bool
) -> None:
    async_store = prepared(store)
    [first, *_] = store.conversation(KEY).events()
    ends = next(each for each in store.cursors() if each.shard == first.shard)
    beginning = replace(ends, position=0)

    async def enter() -> None:
        async with async_store.subscribe(beginning):
            pass

    await seen_to_the_end(store, enter, at_once=at_once)
    positions: list[int] = []
    async with async_store.subscribe(beginning) as events:

        async def take() -> None:
            positions.append((await anext(events)).position)

        while len(positions) < ends.position:
            await cut_at_every_wait(take, _nothing, at_once=at_once)
    assert positions == list(range(1, ends.position + 1))
    await no_connection_is_lost(store)


async def _nothing() -> None:
    """Nothing to check."""


@AT_ONCE
async def test_following_that_is_cancelled_at_any_wait_ends_and_can_begin_again(
    store: Store, at_once: bool
) -> None:
    async_store = prepared(store)

    async def follow() -> None:
        async with async_store.follow(LENGTHS) as following:
            assert await following.wait(PATIENCE)
            assert (await following.status).view == "lengths"

    async def check() -> None:
        assert store.verify().is_whole

    assert await cut_at_every_wait(follow, check, at_once=at_once)
    store.conversation(KEY).user("Hello")
    await follow()
    await no_connection_is_lost(store)
    rows = store.views.rows(LENGTHS).entries
    assert len(rows) == 1
