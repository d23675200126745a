"""Scopes that are entered in a thread are left there, though a task is cancelled or a loop ends amid it."""

import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, get_ident
from typing import Any, Literal, Self

import pytest

import onrecord
from onrecord.adapters.asynchronous.reading import AsyncReading
from onrecord.adapters.asynchronous.store import Connecting
from onrecord.adapters.asynchronous.thread_scopes import enter_in_thread
from onrecord.adapters.storage.steps import ThreadSteps
from onrecord.adapters.store import Store
from tests.adapters.asynchronous.stores import awaited
from tests.patience import PATIENCE


class Transaction:
    """A transaction whose statement takes until it is let, and which says in which threads it ran."""

    database: Literal["sqlite", "postgresql"] = "sqlite"
    generation = 1
    connection: Any = None

    def __init__(self) -> None:
        self.is_reached, self.is_let, self.is_over = Event(), Event(), Event()
        self.threads: list[int] = []

    def execute(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        del statement, parameters
        self.is_reached.set()
        assert self.is_let.wait(PATIENCE)
        return []

    @contextmanager
    def lent(self) -> Generator["Transaction"]:
        self.threads.append(get_ident())
        try:
            yield self
        finally:
            self.threads.append(get_ident())
            self.is_over.set()


async def over(event: Event) -> None:
    assert await asyncio.to_thread(event.wait, PATIENCE)


async def test_a_transaction_ends_though_its_task_is_cancelled_time_and_again() -> None:
    transaction = Transaction()

    async def read() -> None:
        async with AsyncReading(transaction.lent) as reading:
            await reading.execute("SELECT 1")

    task = asyncio.ensure_future(read())
    await over(transaction.is_reached)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    transaction.is_let.set()
    await over(transaction.is_over)
    assert len(set(transaction.threads)) == 1


class Scope:
    """What is entered once it is let, and says when it is left."""

    def __init__(self) -> None:
        self.is_reached, self.is_let, self.is_left = Event(), Event(), Event()

    def enter(self) -> "Scope":
        self.is_reached.set()
        assert self.is_let.wait(PATIENCE)
        return self

    def leave(self) -> None:
        self.is_left.set()


async def test_what_is_entered_after_its_task_was_cancelled_is_left() -> None:
    scope = Scope()
    entering = asyncio.ensure_future(enter_in_thread(ThreadSteps(), scope.enter, Scope.leave))
    await over(scope.is_reached)
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert not scope.is_left.is_set()
    scope.is_let.set()
    await over(scope.is_left)


async def test_what_was_entered_as_its_task_is_cancelled_is_left() -> None:
    scope = Scope()
    scope.is_let.set()
    thread = ThreadSteps()
    entering = asyncio.ensure_future(enter_in_thread(thread, scope.enter, Scope.leave))
    await asyncio.sleep(0)
    # It has entered by now; the loop has not heard of it.
    thread.submit(lambda: None).result(PATIENCE)
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    await over(scope.is_left)


def test_what_is_entered_after_its_loop_was_closed_is_left() -> None:
    scope, loop = Scope(), asyncio.new_event_loop()
    entering = enter_in_thread(ThreadSteps(), scope.enter, Scope.leave)

    async def begin() -> None:
        task = asyncio.ensure_future(entering)
        await asyncio.sleep(0)
        assert not task.done()
        task.cancel()

    loop.run_until_complete(begin())
    loop.close()
    entering.close()
    scope.is_let.set()
    assert scope.is_left.wait(PATIENCE)


async def test_what_cannot_be_entered_is_not_left() -> None:
    left = list[object]()

    def fail() -> object:
        raise LookupError

    thread = ThreadSteps()
    with pytest.raises(LookupError):
        await enter_in_thread(thread, fail, left.append)
    with pytest.raises(onrecord.StorageUnavailable):
        thread.submit(fail)
    assert left == []


async def test_a_store_that_is_opened_in_vain_is_not_closed_by_the_thread_of_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, scope = onrecord.connect(f"sqlite:///{tmp_path / 'a.db'}"), Scope()
    close, closed_by, is_closed = Store.close, list[int](), Event()

    def connect() -> Store:
        scope.enter()
        return store

    def closing(closed: Store) -> None:
        closed_by.append(get_ident())
        close(closed)
        is_closed.set()

    monkeypatch.setattr(Store, "close", closing)

    async def opened() -> None:
        await Connecting(connect)

    opening = asyncio.ensure_future(opened())
    await over(scope.is_reached)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    scope.is_let.set()
    await over(is_closed)
    assert len(closed_by) == 1
    assert get_ident() not in closed_by


class Followed:
    """A following that says when it has ended."""

    def __init__(self) -> None:
        self.is_over = Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()


async def test_following_ends_though_its_task_is_cancelled_before_a_thread_is_free(
    embedded_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed, is_let = Followed(), Event()

    def follow(_: object) -> Followed:
        return followed

    monkeypatch.setattr(embedded_store, "follow", follow)

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    following = awaited(embedded_store).follow("anything")
    await following.__aenter__()
    busy = asyncio.ensure_future(asyncio.to_thread(is_let.wait, PATIENCE))
    ending = asyncio.ensure_future(following.__aexit__(None, None, None))
    await asyncio.sleep(0)
    ending.cancel()
    await asyncio.gather(ending, return_exceptions=True)
    is_let.set()
    await busy
    await over(followed.is_over)
