"""Runs of the OpenAI Agents SDK on branches, and for several customers: what only our sessions do."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast
from uuid import UUID

import pytest
from agents import Agent, RunContextWrapper, Runner
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import onrecord
from onrecord.adapters.store import Store
from onrecord.frameworks.openai_agents import OnrecordSession
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place
from tests.frameworks.processes import run_apart


class Customer(NamedTuple):
    name: str


@pytest.fixture
def session(store: Store) -> OnrecordSession:
    return OnrecordSession("one", store)


def item(text: str) -> Any:
    return {"role": "user", "content": text}


def items(*texts: str) -> list[Any]:
    return [item(text) for text in texts]


async def contents(session: OnrecordSession, **asked: Any) -> list[str]:
    return [each["content"] for each in cast("list[Any]", await session.get_items(**asked))]


def agent(*answers: str) -> Agent[Any]:
    said = [ResponseOutputText(text=text, type="output_text", annotations=[]) for text in answers]
    steps = [
        [
            ResponseOutputMessage(
                id=f"msg_{number}",
                content=[text],
                role="assistant",
                status="completed",
                type="message",
            )
        ]
        for number, text in enumerate(said)
    ]
    return Agent(name="desk", model=ScriptedModel(steps=cast("Any", steps)))


async def test_a_run_is_kept_in_the_store_that_its_context_asks_for(
    place: Place, tmp_path: Path
) -> None:
    backend = place.open()
    stores = {
        name: store_of(backend, tmp_path, UUID(int=number))
        for number, name in enumerate(("ana", "ben"), 1)
    }

    def store_for(run: RunContextWrapper[Any]) -> Store:
        return stores[run.context.name]

    session = OnrecordSession("one", store_of(backend, tmp_path), store_for=store_for)
    desk = agent("For Ana.", "For Ben.", "For Ana again.")
    for name in ("ana", "ben", "ana"):
        await Runner.run(desk, f"I am {name}", context=Customer(name), session=session)
    heard = [await OnrecordSession("one", each).get_items() for each in stores.values()]
    assert [len(each) for each in heard] == [4, 2]
    assert all("ben" not in str(each).lower() for each in heard[0])
    assert await session.get_items() == []


async def test_a_run_goes_on_with_the_current_branch(session: OnrecordSession) -> None:
    desk = agent("one", "two", "two, otherwise")
    await Runner.run(desk, "first", session=session)
    await Runner.run(desk, "second", session=session)
    await session.create_branch_from_turn(2, "other")
    result = await Runner.run(desk, "second, otherwise", session=session)
    await session.store_run_usage(result)
    prompts = [turn["content"] for turn in await session.get_conversation_turns()]
    assert prompts == ["first", "second, otherwise"]
    prompts = [turn["content"] for turn in await session.get_conversation_turns("main")]
    assert prompts == ["first", "second"]
    usage = cast("list[Any]", await session.get_turn_usage())
    assert [told["user_turn_number"] for told in usage] == [2]


async def test_a_branch_that_was_deleted_stays_in_the_record(
    store: Store, session: OnrecordSession
) -> None:
    await session.add_items(items("one", "two"))
    await session.create_branch_from_turn(2, "other")
    await session.add_items(items("two b"))
    await session.delete_branch("other", force=True)
    assert await contents(session) == ["one", "two"]
    recorded = list(store.conversation(session.conversation_key).log.read())
    assert [event.type for event in recorded] == [
        *("conversation.started", "item.recorded", "item.recorded"),
        *("state.put", "item.recorded", "stream.cleared"),
    ]


async def test_a_branch_without_items_is_there(session: OnrecordSession) -> None:
    await session.add_items(items("one"))
    await session.create_branch_from_turn(1, "other")
    await session.switch_to_branch("main")
    await session.switch_to_branch("other")
    listed = [
        (each["branch_id"], each["message_count"], each["is_current"])
        for each in await session.list_branches()
    ]
    assert listed == [("main", 1, False), ("other", 0, True)]


async def test_compaction_of_a_branch_leaves_the_one_that_it_left(session: OnrecordSession) -> None:
    await session.add_items(items("one", "two", "three", "four"))
    await session.create_branch_from_turn(4, "other")
    await session.add_items(items("four b"))
    snapshot = await session._get_compaction_snapshot(3)  # pyright: ignore[reportPrivateUsage]
    assert (snapshot.items, snapshot.complete) == (items("two", "three", "four b"), False)
    assert await snapshot.replace_suffix(1, items("short"))
    assert not await snapshot.replace_suffix(1, items("again"))
    assert await contents(session) == ["one", "two", "short"]
    assert await contents(session, branch_id="main") == ["one", "two", "three", "four"]
    assert [await session.pop_item() for _ in range(2)] == items("short", "two")
    assert await contents(session) == ["one"]


async def test_who_was_on_a_branch_of_a_session_that_was_erased_is_on_main(
    store: Store, session: OnrecordSession
) -> None:
    await session.add_items(items("one", "two"))
    await session.create_branch_from_turn(2, "other")
    store.forget(session.conversation_key, reason="asked for")
    other = OnrecordSession("one", store)
    await other.add_items(items(*"abcdef"))
    await session.add_items(items("g"))
    assert await contents(other) == list("abcdefg")
    assert [each["branch_id"] for each in await session.list_branches()] == ["main"]


async def test_what_was_redacted_is_on_no_branch(store: Store, session: OnrecordSession) -> None:
    await session.add_items(items("one", "two", "three"))
    await session.create_branch_from_turn(3, "other")
    store.conversation(session.conversation_key).redact(2)
    assert await contents(session) == ["two"]


@pytest.mark.parametrize("name", ["", "  ", "a\0b", "x" * 5_000, "\ud800", 7])
async def test_what_is_no_name_names_no_branch(session: OnrecordSession, name: Any) -> None:
    await session.add_items(items("one"))
    for refused in (
        session.create_branch_from_turn(1, name),
        session.switch_to_branch(name),
        session.delete_branch(name),
        session.get_items(branch_id=name),
        session.get_conversation_turns(name),
    ):
        with pytest.raises(onrecord.OnrecordError):
            await refused
    assert [each["branch_id"] for each in await session.list_branches()] == ["main"]


@pytest.mark.parametrize(
    "name", ["../main", "a/b", 'a","b', "MAIN", "main ", "m\u0430in", "origin"]
)
async def test_a_crafted_name_is_a_branch_of_its_own(session: OnrecordSession, name: str) -> None:
    await session.add_items(items("one", "two"))
    await session.create_branch_from_turn(2, name)
    await session.add_items(items("two b"))
    assert await contents(session) == ["one", "two b"]
    assert await contents(session, branch_id="main") == ["one", "two"]


@pytest.mark.parametrize("waits", range(4))
async def test_a_branch_is_made_and_gone_on_with_or_neither_when_cancelled(
    session: OnrecordSession, waits: int
) -> None:
    await session.add_items(items("one", "two"))
    making = asyncio.ensure_future(session.create_branch_from_turn(2, "other"))
    for _ in range(waits):
        await asyncio.sleep(0)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    listed = await session.list_branches()
    assert [each["branch_id"] for each in listed if each["is_current"]] == [listed[-1]["branch_id"]]


def _add_to_branch(place: Place, folder: Path, name: str, count: int) -> None:
    with store_of(place.open(), folder) as store:
        session = OnrecordSession("one", store)

        async def add() -> None:
            await session.switch_to_branch("other")
            for number in range(count):
                await session.add_items(items(f"{name} {number}"))

        asyncio.run(add())


def test_two_processes_on_a_branch_lose_nothing_and_double_nothing(
    durable_place: Place, tmp_path: Path
) -> None:
    async def begin(session: OnrecordSession) -> None:
        await session.add_items(items("one", "two"))
        await session.create_branch_from_turn(2, "other")

    with store_of(durable_place.open(), tmp_path) as store:
        asyncio.run(begin(OnrecordSession("one", store)))
    add = partial(_add_to_branch, durable_place, tmp_path)
    run_apart(partial(add, "a", 50), partial(add, "b", 50))
    with store_of(durable_place.open(), tmp_path) as store:
        held = asyncio.run(contents(OnrecordSession("one", store), branch_id="other"))
    assert held[0] == "one"
    for name in ("a", "b"):
        own = [text for text in held if text.startswith(name)]
        assert own == [f"{name} {number}" for number in range(50)]
    assert len(held) == 101
