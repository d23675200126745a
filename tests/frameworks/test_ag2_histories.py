"""AG2 keeps its histories in our store: its rules, on its own storage and on ours, and ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from ag2 import Agent, MemoryStream
from ag2.events import (
    BaseEvent,
    ModelRequest,
    ModelResponse,
    TextInput,
    ToolCallEvent,
    ToolCallsEvent,
)
from ag2.history import History, MemoryStorage, Storage, close_unanswered_tool_calls
from ag2.testing import TestConfig

import onrecord
from onrecord.adapters.store import Store, backend_of
from onrecord.frameworks.ag2 import OnrecordStorage
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place, prepared
from tests.frameworks.places import PLACES_OF_RULES
from tests.frameworks.recorded_blocks import recorded_kinds


@pytest.fixture(params=["their own", *PLACES_OF_RULES])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    """Their storage in memory, and ours in each database: what both have to do."""
    if request.param == "their own":
        yield MemoryStorage()
        return
    places = prepared(request.param, tmp_path)
    with store_of(next(places).open(), tmp_path) as store:
        yield OnrecordStorage(store)
    next(places, None)


@pytest.fixture
def ours(sqlite_store: Store) -> OnrecordStorage:
    return OnrecordStorage(sqlite_store)


def said(text: str) -> ModelRequest:
    return ModelRequest([TextInput(text)])


def context(stream: str) -> Any:
    return SimpleNamespace(stream=SimpleNamespace(id=stream))


async def save(storage: Storage, *texts: str, stream: str = "one") -> None:
    for text in texts:
        await storage.save_event(said(text), context(stream))


async def texts(storage: Storage, stream: Any = "one") -> list[str]:
    return [text_of(event) for event in await storage.get_history(stream)]


def text_of(event: BaseEvent) -> str:
    return "".join(part.content for part in cast("Any", event).parts)


async def ask(storage: Storage, text: str, answer: str) -> None:
    stream = MemoryStream(storage, id=cast("Any", "one"))
    await Agent("desk", config=TestConfig(answer)).ask(text, stream=stream)


async def test_a_run_goes_on_with_the_history_of_its_stream(storage: Storage) -> None:
    await ask(storage, "Where?", "In depot North.")
    await ask(storage, "Sure?", "Yes.")
    held = list(await storage.get_history(cast("Any", "one")))
    assert [type(event) for event in held] == [ModelRequest, ModelResponse] * 2
    assert text_of(held[2]) == "Sure?"
    assert cast("Any", held[3]).message.content == "Yes."


async def test_a_history_is_set_and_dropped(storage: Storage) -> None:
    await save(storage, "a", "b", "c")
    held = list(await storage.get_history(cast("Any", "one")))
    for kept in ([held[0], said("x")], [held[0], said("x"), said("y")], held[1:], []):
        await storage.set_history(cast("Any", "one"), kept)
        assert await texts(storage) == [text_of(event) for event in kept]
    await save(storage, "d")
    await storage.drop_history(cast("Any", "one"))
    assert await texts(storage) == []
    await save(storage, "e")
    assert (await texts(storage), await texts(storage, "two")) == (["e"], [])


async def test_unanswered_calls_are_closed_in_a_history(storage: Storage) -> None:
    call = ToolCallEvent(name="track", arguments='{"parcel":"NW-1"}', id="c1")
    await save(storage, "a")
    await storage.save_event(call, context("one"))
    held = list(await storage.get_history(cast("Any", "one")))
    assert held[1].__dict__ == call.__dict__
    await storage.save_event(ToolCallsEvent([call]), context("one"))
    closed = await close_unanswered_tool_calls(History(cast("Any", "one"), storage), result="no")
    after = list(await storage.get_history(cast("Any", "one")))
    assert (closed, len(after)) == (1, 4)
    assert cast("Any", after[3]).results[0].parent_id == "c1"


# Contracts of our own.


async def test_what_a_history_begins_with_is_not_recorded_again(
    ours: OnrecordStorage, sqlite_store: Store
) -> None:
    await save(ours, "a", "b", "c")
    held = list(await ours.get_history(cast("Any", "one")))
    await ours.set_history(cast("Any", "one"), [*held, said("d")])
    await ours.set_history(cast("Any", "one"), [held[0], said("x")])
    key = ours.conversation_key("one")
    kinds = [event.type for event in sqlite_store.conversation(key).log.read()]
    assert kinds == [
        "conversation.started",
        *["item.recorded"] * 4,
        "items.replaced",
        "item.recorded",
    ]


async def test_a_stream_of_another_id_or_tenant_is_not_seen(place: Place, tmp_path: Path) -> None:
    with store_of(place.open(), tmp_path) as store:
        storage = OnrecordStorage(store)
        await save(storage, "a")
        for crafted in ("../one", 'one","x', "ONE", "one ", "one\u0301"):
            assert await texts(storage, crafted) == []
        others = OnrecordStorage(store_of(backend_of(store), tmp_path, UUID(int=77)))
        assert await texts(others) == []


@pytest.mark.parametrize("stream", ["", "  ", "a\0b", "x" * 5_000, "\ud800"])
async def test_what_is_no_id_names_no_stream(ours: OnrecordStorage, stream: str) -> None:
    with pytest.raises(onrecord.OnrecordError):
        await save(ours, "a", stream=stream)


async def test_what_is_no_json_leaves_a_history_as_it_was(ours: OnrecordStorage) -> None:
    await save(ours, "a")
    bad = ToolCallEvent(name="track", arguments=cast("Any", float("nan")), id="c1")
    with pytest.raises(onrecord.OnrecordError):
        await ours.set_history(cast("Any", "one"), [said("x"), bad])
    assert await texts(ours) == ["a"]


@pytest.mark.parametrize("service", ["anthropic", "openai-responses", "gemini"])
async def test_each_kind_of_block_comes_back_as_it_was(ours: OnrecordStorage, service: str) -> None:
    blocks = recorded_kinds(service)
    for block in blocks:
        call = ToolCallEvent(name="tool", arguments=cast("Any", block), id="c")
        await ours.save_event(call, context("one"))
    held = await ours.get_history(cast("Any", "one"))
    assert [cast("Any", event).arguments for event in held] == blocks


async def test_what_was_cancelled_is_set_or_not_but_no_half_of_it(ours: OnrecordStorage) -> None:
    for attempt in range(12):
        stream = cast("Any", f"s{attempt}")
        setting = asyncio.ensure_future(ours.set_history(stream, [said("a"), said("b")]))
        for _ in range(attempt % 4):
            await asyncio.sleep(0)
        setting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await setting
        assert await texts(ours, stream) in ([], ["a", "b"])


async def test_five_thousand_events_come_back(ours: OnrecordStorage) -> None:
    events = [said(f"say {number}") for number in range(5_000)]
    await ours.set_history(cast("Any", "one"), events)
    await save(ours, "more")
    assert await texts(ours) == [*(f"say {number}" for number in range(5_000)), "more"]


async def test_an_erased_stream_is_gone_and_begins_anew(
    ours: OnrecordStorage, sqlite_store: Store
) -> None:
    await save(ours, "secret")
    await save(ours, "kept", stream="two")
    sqlite_store.forget(ours.conversation_key("one"), reason="asked for")
    assert await texts(ours) == []
    await save(ours, "anew")
    assert (await texts(ours), await texts(ours, "two")) == (["anew"], ["kept"])
    assert sqlite_store.verify().is_whole
