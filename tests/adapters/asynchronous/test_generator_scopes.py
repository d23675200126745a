"""A verb that is awaited acts for the scopes that hold where it is awaited, in generators too."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from threading import Event
from typing import Any

import pytest

from onrecord import AsyncConversation
from onrecord.adapters.storage.steps import steps_of
from onrecord.adapters.store import Store, backend_of
from tests.adapters.asynchronous.stores import awaited
from tests.patience import PATIENCE


async def actors_of(store: Store, chat: AsyncConversation) -> dict[str, str]:
    """Who said each line, by name."""
    backend = backend_of(store)
    events = [event for event in await chat.events() if b'"text"' in (event.body or b"")]
    names = backend.actors().names(
        store.tenant, [bytes.fromhex(event.client_header().actor or "") for event in events]
    )
    by_digest = {backend.digest(name).hex(): name for name in names.values()}
    turns = [line for turn in await chat.history() for line in turn.text.splitlines()]
    actors = [by_digest[event.client_header().actor or ""] for event in events]
    return dict(zip(turns, actors, strict=True))


async def saying(chat: AsyncConversation, actor: str) -> AsyncGenerator[str]:
    with chat.recording(actor=actor):
        for line in ("first", "second"):
            await chat.user(f"{actor}'s {line}")
            yield line


async def test_what_a_generator_awaits_is_of_the_scope_that_it_holds(store: Store) -> None:
    chat = awaited(store).conversation("talk", actor="ana")
    async for _ in saying(chat, "bob"):
        pass
    assert await actors_of(store, chat) == {"bob's first": "bob", "bob's second": "bob"}


async def test_what_its_consumer_awaits_meanwhile_is_not_of_the_scope(store: Store) -> None:
    chat = awaited(store).conversation("talk", actor="ana")
    async for line in saying(chat, "bob"):
        await chat.user(f"ana's {line}")
    actors = await actors_of(store, chat)
    assert len(actors) == 4
    assert all(line.startswith(actor) for line, actor in actors.items()), actors


async def test_generators_that_take_turns_act_each_for_its_own_scope(store: Store) -> None:
    chat = awaited(store).conversation("talk", actor="ana")
    async with aclosing(saying(chat, "bob")) as bob, aclosing(saying(chat, "cleo")) as cleo:
        for _ in range(2):
            await anext(bob)
            await anext(cleo)
        await chat.user("ana's own")
    actors = await actors_of(store, chat)
    assert len(actors) == 5
    assert all(line.startswith(actor) for line, actor in actors.items()), actors


async def test_what_a_generator_gathers_is_of_its_scope(store: Store) -> None:
    chat = awaited(store).conversation("talk", actor="ana")

    async def all_at_once() -> AsyncGenerator[None]:
        with chat.recording(actor="bob"):
            await asyncio.gather(chat.user("bob's one"), chat.user("bob's two"))
            yield

    async for _ in all_at_once():
        pass
    assert await actors_of(store, chat) == {"bob's one": "bob", "bob's two": "bob"}


async def test_a_verb_that_goes_on_after_its_scope_is_left_acts_for_it_still(
    embedded_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, begun, goes_on = embedded_store.conversation("talk", actor="ana"), Event(), Event()
    say = there.user

    def slowly(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        assert goes_on.wait(PATIENCE)
        return say(*args, **kwargs)

    monkeypatch.setattr(there, "user", slowly)
    chat = AsyncConversation(there, steps_of(backend_of(embedded_store)))
    waiting = asyncio.ensure_future(anext(saying(chat, "bob")))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    goes_on.set()
    assert await actors_of(embedded_store, chat) == {"bob's first": "bob"}
