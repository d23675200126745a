"""A task that is cancelled, or a loop that ends, amid any awaited verb: all of it is recorded, or nothing."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest

import onrecord
from onrecord import AsyncConversation, AsyncStore
from onrecord.adapters.storage import greenlets
from onrecord.adapters.storage.steps import steps_of
from onrecord.adapters.store import Store, backend_of
from tests.adapters.asynchronous.stores import awaited, opened, texts
from tests.contract.places import PLACES
from tests.patience import PATIENCE
from tests.postgres_places import POSTGRES_PLACES

T = TypeVar("T")

PDF = b"%PDF-1.7 a report"
VERBS: dict[str, Callable[[AsyncConversation], Awaitable[object]]] = {
    "user": lambda chat: chat.user("Hello"),
    "user with a document": lambda chat: chat.user("See:", PDF),
    "instruct": lambda chat: chat.instruct("Be brief."),
    "signal": lambda chat: chat.signal("The door opened."),
    "ingest": lambda chat: chat.ingest([], prompt="Hello"),
    "declare": lambda chat: chat.tools.declare([{"name": "look", "input_schema": {}}]),
    "annotate": lambda chat: chat.annotate({"seen": "yes"}),
    "edit_message": lambda chat: chat.edit_message(2, "Said anew"),
    "redact": lambda chat: chat.redact(2),
    "compact": lambda chat: chat.compact("In short.", until=3),
    "fork": lambda chat: chat.fork(f"{chat.key}, forked"),
    "end": lambda chat: chat.end(),
    "history": lambda chat: chat.history(),
    "request": lambda chat: chat.request("anthropic-messages"),
    "documents": lambda chat: chat.documents(),
}


class Interruption:
    """Cancels the task whose step waits for the n-th time: before it waits, or as soon as it does."""

    def __init__(self, number: int, *, at_once: bool) -> None:
        self._left = number
        self._at_once = at_once

    def wait_for(self, answer: Awaitable[T]) -> T:
        self._left -= 1
        if self._left == 0:
            task = asyncio.current_task()
            assert task is not None
            if self._at_once:
                task.cancel()
            else:
                asyncio.get_running_loop().call_soon(task.cancel)
        return waiting(answer)


waiting = greenlets.wait_for


@pytest.fixture(params=POSTGRES_PLACES)
def server_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = PLACES[request.param](tmp_path)
    with opened(place, tmp_path / "spool") as store:
        yield store
    place.remove()


async def prepared(store: Store, key: str) -> AsyncConversation:
    chat = awaited(store).conversation(key)
    await chat.user("First")
    await chat.user("Second")
    return chat


def events_of(store: Store, key: str) -> list[str]:
    return [event.type for event in store.conversation(key).events(after=3)]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("verb", VERBS)
async def test_a_verb_that_is_cancelled_at_any_wait_is_recorded_whole_or_not_at_all(
    server_store: Store, verb: str, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await prepared(server_store, "whole")
    await VERBS[verb](chat)
    whole = events_of(server_store, "whole")
    server_store.forget("whole", reason="done", actor="ana")
    for number in count(1):
        key = f"cut {number}"
        chat = await prepared(server_store, key)
        cut = Interruption(number, at_once=at_once)
        with monkeypatch.context() as patched:
            patched.setattr(greenlets, "wait_for", cut.wait_for)
            task = asyncio.ensure_future(VERBS[verb](chat))
            outcome = await asyncio.gather(task, return_exceptions=True)
        assert events_of(server_store, key) in ([], whole)
        assert server_store.verify(key).is_whole
        if not isinstance(outcome[0], asyncio.CancelledError):
            assert not isinstance(outcome[0], BaseException)
            assert number > 1
            break
        if verb != "end":
            await chat.user("After")
            assert texts(server_store, key)[-1] == "After"


@pytest.mark.parametrize("verb", ["user", "user with a document", "request"])
def test_a_loop_that_ends_amid_a_verb_leaves_the_store_as_it_was_or_as_it_is_to_be(
    server_store: Store, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async_store = AsyncStore(server_store)
    for number in range(1, 6):
        key = f"ended {number}"
        asyncio.run(_said(server_store, key))
        with monkeypatch.context() as patched:
            _run_in_a_loop_that_ends(number, VERBS[verb](async_store.conversation(key)), patched)
        assert len(events_of(server_store, key)) <= 1
        asyncio.run(_after(async_store, key))
        assert texts(server_store, key)[-1] == "After"
        assert server_store.verify(key).is_whole


def _run_in_a_loop_that_ends(
    at: int, verb: Awaitable[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Await a verb in a loop that is stopped as it waits for the n-th time, and closed as it is."""
    loop, left = asyncio.new_event_loop(), at

    def stop_and_wait(answer: Awaitable[T]) -> T:
        nonlocal left
        left -= 1
        if left == 0:
            loop.stop()
        return waiting(answer)

    monkeypatch.setattr(greenlets, "wait_for", stop_and_wait)
    with suppress(RuntimeError):  # What asyncio says of a future that is not done.
        loop.run_until_complete(asyncio.ensure_future(verb, loop=loop))
    loop.close()
    gc.collect()


async def _said(store: Store, key: str) -> None:
    await prepared(store, key)


async def _after(store: AsyncStore, key: str) -> None:
    await store.conversation(key).user("After")


class Gate:
    """Holds up the thread of a store's steps until it is opened."""

    def __init__(self) -> None:
        self.is_reached = threading.Event()
        self._opened = threading.Event()

    def pass_through(self) -> None:
        self.is_reached.set()
        assert self._opened.wait(PATIENCE)

    def open(self) -> None:
        self._opened.set()


async def test_what_has_not_begun_as_it_is_cancelled_never_begins(embedded_store: Store) -> None:
    chat, gate = await prepared(embedded_store, "a"), Gate()
    held = asyncio.ensure_future(steps_of(backend_of(embedded_store)).run(gate.pass_through))
    assert await asyncio.to_thread(gate.is_reached.wait, PATIENCE)
    task = asyncio.ensure_future(chat.user("Never"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.open()
    await held
    await chat.user("After")
    assert texts(embedded_store, "a") == ["First", "Second", "After"]


async def test_what_has_begun_as_it_is_cancelled_ends_before_the_next(
    embedded_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat, gate = await prepared(embedded_store, "a"), Gate()
    there = embedded_store.conversation("a")
    say = there.user

    def slowly(*args: Any, **kwargs: Any) -> Any:
        gate.pass_through()
        return say(*args, **kwargs)

    monkeypatch.setattr(there, "user", slowly)
    slow = AsyncConversation(there, steps_of(backend_of(embedded_store)))
    task = asyncio.ensure_future(slow.user("Begun"))
    assert await asyncio.to_thread(gate.is_reached.wait, PATIENCE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    after = asyncio.ensure_future(chat.user("After"))
    gate.open()
    await after
    assert texts(embedded_store, "a") == ["First", "Second", "Begun", "After"]


async def test_opening_that_is_cancelled_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, closed = Gate(), threading.Event()
    close = Store.close

    def closing(store: Store) -> None:
        close(store)
        closed.set()

    monkeypatch.setattr(Store, "close", closing)

    def resuming(_: Store) -> int:
        gate.pass_through()
        return 0

    monkeypatch.setattr(Store, "resume_erasures", resuming)
    opening = asyncio.ensure_future(_open(f"sqlite:///{tmp_path / 'a.db'}"))
    assert await asyncio.to_thread(gate.is_reached.wait, PATIENCE)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    gate.open()
    assert await asyncio.to_thread(closed.wait, PATIENCE)


async def _open(url: str) -> AsyncStore:
    return await onrecord.connect_async(url)
