"""A store that is closed: once, whoever is cancelled meanwhile, and after the verbs that were begun."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest

import onrecord
from onrecord import AsyncStore
from onrecord.adapters.storage.steps import Steps, steps_of
from onrecord.adapters.store import Store, backend_of
from tests.adapters.asynchronous.stores import awaited
from tests.patience import PATIENCE


class Gate:
    """Holds up a thread until it is opened."""

    def __init__(self) -> None:
        self.is_reached = Event()
        self._opened = Event()

    def pass_through(self, *_: object, **__: object) -> None:
        self.is_reached.set()
        assert self._opened.wait(PATIENCE)

    def open(self) -> None:
        self._opened.set()

    async def reached(self) -> None:
        assert await asyncio.to_thread(self.is_reached.wait, PATIENCE)


@pytest.fixture
def closed(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each time that the store was closed."""
    closings: list[str] = []
    close = store.close

    def closing() -> None:
        closings.append("closed")
        close()

    monkeypatch.setattr(store, "close", closing)
    return closings


async def test_a_close_that_is_cancelled_closes_all_the_same(
    store: Store, closed: list[str]
) -> None:
    async_store, gate = awaited(store), Gate()
    held = asyncio.ensure_future(steps_of(backend_of(store)).run_in_thread(gate.pass_through))
    await gate.reached()
    closing = asyncio.ensure_future(async_store.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    again = asyncio.ensure_future(async_store.close())
    await asyncio.sleep(0)
    assert not again.done()
    gate.open()
    await asyncio.gather(held, again)
    assert closed == ["closed"]


def test_a_close_that_its_loop_gave_up_is_begun_anew(store: Store, closed: list[str]) -> None:
    async_store, gate = AsyncStore(store), Gate()
    steps = steps_of(backend_of(store))

    async def give_up() -> None:
        held = asyncio.ensure_future(steps.run_in_thread(gate.pass_through))
        await gate.reached()
        closing = asyncio.ensure_future(async_store.close())
        await asyncio.sleep(0)
        # The loop ends with its pool's threads, a store's own thread outlives it.
        Timer(0.05, gate.open).start()
        assert not (held.done() or closing.done())

    with suppress(asyncio.CancelledError):
        asyncio.run(give_up())
    asyncio.run(async_store.close())
    asyncio.run(async_store.close())
    assert closed == ["closed"]


BESIDE: dict[str, Callable[[Steps], Callable[[Callable[[], None]], Awaitable[None]]]] = {
    "in a thread": lambda steps: steps.run_in_thread,
    "for long": lambda steps: steps.run_long,
}


@pytest.mark.parametrize("is_cancelled", [False, True])
@pytest.mark.parametrize("way", BESIDE)
async def test_what_runs_in_a_thread_is_done_before_its_store_is_closed(
    store: Store, closed: list[str], way: str, is_cancelled: bool
) -> None:
    gate = Gate()
    run: Any = BESIDE[way](steps_of(backend_of(store)))
    running = asyncio.ensure_future(run(gate.pass_through))
    await gate.reached()
    if is_cancelled:
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    closing = asyncio.ensure_future(awaited(store).close())
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert closed == []
    gate.open()
    await closing
    assert closed == ["closed"]


VERBS: dict[str, Callable[[AsyncStore], Awaitable[object]]] = {
    "forget": lambda store: store.forget("a", reason="asked to", actor="ana"),
    "forget_actor": lambda store: store.forget_actor("ana", reason="asked to", actor="ana"),
    "erasures": lambda store: store.erasures(),
    "resume_erasures": lambda store: store.resume_erasures(),
    "verify": lambda store: store.verify(),
    "sweep": lambda store: store.sweep(),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_a_verb_that_works_for_long_is_done_before_its_store_is_closed(
    embedded_store: Store, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, order = Gate(), list[str]()
    close = embedded_store.close

    def long(*_: object, **__: object) -> None:
        gate.pass_through()
        order.append(verb)

    def closing() -> None:
        order.append("closed")
        close()

    monkeypatch.setattr(embedded_store, verb, long)
    monkeypatch.setattr(embedded_store, "close", closing)
    async_store = awaited(embedded_store)
    running = asyncio.ensure_future(VERBS[verb](async_store))
    await gate.reached()
    closing_task = asyncio.ensure_future(async_store.close())
    for _ in range(20):
        await asyncio.sleep(0.001)
    gate.open()
    await asyncio.gather(running, closing_task)
    assert order == [verb, "closed"]


async def test_a_page_of_a_view_is_read_before_its_store_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, order = Gate(), list[str]()
    store = onrecord.connect(f"sqlite:///{tmp_path / 'a.db'}")
    close = store.close

    def page(**_: object) -> None:
        gate.pass_through()
        order.append("page")

    def closing() -> None:
        order.append("closed")
        close()

    monkeypatch.setattr(store.views, "conversations", page)
    monkeypatch.setattr(store, "close", closing)
    async_store = awaited(store)
    reading = asyncio.ensure_future(async_store.views.conversations())
    await gate.reached()
    closing_task = asyncio.ensure_future(async_store.close())
    for _ in range(20):
        await asyncio.sleep(0.001)
    gate.open()
    await asyncio.gather(reading, closing_task)
    assert order == ["page", "closed"]


async def test_long_work_that_has_not_begun_as_it_is_cancelled_never_begins(
    embedded_store: Store,
) -> None:
    steps, gate, begun = steps_of(backend_of(embedded_store)), Gate(), list[str]()
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    held = asyncio.ensure_future(steps.run_long(gate.pass_through))
    await asyncio.sleep(0)
    given_up = asyncio.ensure_future(steps.run_long(lambda: begun.append("begun")))
    await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    gate.open()
    await held
    await steps.drain()
    assert begun == []
