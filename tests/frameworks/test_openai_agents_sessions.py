"""Runs of the OpenAI Agents SDK keep their history in our store: contracts that its own tests do not have."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from agents import Agent, Runner, function_tool
from agents.memory.session import Session
from agents.testing import ScriptedModel
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

import onrecord
from onrecord.adapters.store import Store, backend_of
from onrecord.frameworks.openai_agents import OnrecordSession
from tests.adapters.frameworks.sessions_places import store_of
from tests.frameworks.recorded_blocks import recorded_kinds


@pytest.fixture
def session(store: Store) -> OnrecordSession:
    return OnrecordSession("one", store)


def item(number: int, **members: Any) -> Any:
    return {"role": "user", "content": f"say {number}", **members}


def items(*numbers: int) -> list[Any]:
    return [item(number) for number in numbers]


def said(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="msg_1", content=[content], role="assistant", status="completed", type="message"
    )


def test_it_is_a_session_of_the_sdk(session: OnrecordSession) -> None:
    assert isinstance(session, Session)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("hello", "items are a list, not str"),
        (None, "items are a list, not NoneType"),
        ([item(1), object()], "an item is a JSON object, not object"),
        ([item(1), [("role", "user")]], "an item is a JSON object, not list"),
    ],
)
async def test_what_is_no_list_of_items_is_refused_in_words(
    sqlite_store: Store, given: Any, why: str
) -> None:
    session = OnrecordSession("one", sqlite_store)
    with pytest.raises(onrecord.InvalidContent, match=why):
        await session.add_items(given)
    assert await session.get_items() == []


@pytest.mark.parametrize("given", [None, 5, SimpleNamespace(context_wrapper=None)])
async def test_usage_is_that_of_a_run(sqlite_store: Store, given: Any) -> None:
    session = OnrecordSession("one", sqlite_store)
    await session.add_items(items(1))
    with pytest.raises(onrecord.InvalidInput, match=r"what Runner\.run gives"):
        await session.store_run_usage(given)


async def test_main_is_the_name_of_no_other_branch(sqlite_store: Store) -> None:
    session = OnrecordSession("one", sqlite_store)
    await session.add_items(items(1))
    with pytest.raises(onrecord.InvalidInput, match="'main' is the session's own branch"):
        await session.create_branch_from_turn(1, "main")


async def test_a_run_goes_on_where_another_process_would_find_it(store: Store) -> None:
    @function_tool
    def track(parcel: str) -> str:
        return f"{parcel} is in depot North"

    call = ResponseFunctionToolCall(
        arguments='{"parcel":"NW-1"}', call_id="call_1", name="track", type="function_call"
    )
    model = ScriptedModel(steps=[[call], [said("In depot North.")], [said("Yes.")]])
    agent = Agent(name="desk", model=model, tools=[track])
    await Runner.run(agent, "Where is NW-1?", session=OnrecordSession("desk", store))
    await Runner.run(agent, "Sure?", session=OnrecordSession("desk", store))
    history = cast("list[Any]", await OnrecordSession("desk", store).get_items())
    kinds = [each.get("type") or each["role"] for each in history]
    assert kinds == [
        *("user", "function_call", "function_call_output", "message"),
        *("user", "message"),
    ]
    assert history[2]["output"] == "NW-1 is in depot North"


async def test_what_is_popped_and_cleared_stays_in_the_record(
    store: Store, session: OnrecordSession
) -> None:
    await session.add_items(items(1, 2))
    assert await session.pop_item() == item(2)
    await session.clear_session()
    assert (await session.get_items(), await session.pop_item()) == ([], None)
    await session.add_items(items(3))
    assert await session.get_items() == items(3)
    kinds = [event.type for event in store.conversation(session.conversation_key).log.read()]
    assert kinds == [
        *("conversation.started", "item.recorded", "item.recorded"),
        *("item.withdrawn", "stream.cleared", "item.recorded"),
    ]


async def test_those_who_pop_at_once_get_different_items(session: OnrecordSession) -> None:
    await session.add_items(items(*range(12)))
    popped = await asyncio.gather(*(session.pop_item() for _ in range(15)))
    contents = sorted(str(each.get("content")) for each in cast("list[Any]", popped) if each)
    assert contents == sorted(f"say {number}" for number in range(12))
    assert popped.count(None) == 3


async def test_the_end_of_a_history_is_replaced_in_one_commit(
    store: Store, session: OnrecordSession
) -> None:
    await session.add_items(items(*range(6)))
    snapshot = await session._get_compaction_snapshot(3)  # pyright: ignore[reportPrivateUsage]
    assert (snapshot.items, snapshot.complete) == (items(3, 4, 5), False)
    assert await snapshot.replace_suffix(1, items(9))
    assert await session.get_items() == items(0, 1, 2, 3, 9)
    assert not await snapshot.replace_suffix(1, items(10))
    assert await session.get_items() == items(0, 1, 2, 3, 9)
    recorded = list(store.conversation(session.conversation_key).log.read())
    assert len([event for event in recorded if event.type == "item.recorded"]) == 7


async def test_the_end_is_not_replaced_where_another_has_added_since(
    session: OnrecordSession,
) -> None:
    await session.add_items(items(0, 1))
    snapshot = await session._get_compaction_snapshot(9)  # pyright: ignore[reportPrivateUsage]
    assert snapshot.complete
    await session.add_items(items(2))
    assert not await snapshot.replace_suffix(0, [])
    assert await session.get_items() == items(0, 1, 2)


@pytest.mark.parametrize("bad", [{"a": float("nan")}, {"a": {1: 2}}, {1: 2}])
async def test_a_batch_with_what_is_no_json_leaves_nothing(
    session: OnrecordSession, bad: Any
) -> None:
    with pytest.raises(onrecord.OnrecordError):
        await session.add_items([item(1), bad])
    assert await session.get_items() == []


@pytest.mark.parametrize("session_id", ["", "  ", "a\0b", "x" * 5_000, "\ud800", None])
def test_what_is_no_id_names_no_session(sqlite_store: Store, session_id: Any) -> None:
    with pytest.raises(onrecord.OnrecordError):
        OnrecordSession(session_id, sqlite_store)


async def test_a_session_of_another_id_or_tenant_is_not_seen(
    store: Store, tmp_path: Path, session: OnrecordSession
) -> None:
    await session.add_items(items(1))
    for crafted in ("../one", 'one","x', "ONE", "one ", "one\u0301"):
        assert await OnrecordSession(crafted, store).get_items() == []
    backend = backend_of(store)
    others = store_of(backend, tmp_path, UUID(int=77))
    assert await OnrecordSession("one", others).get_items() == []


async def test_what_was_cancelled_is_recorded_or_not_but_no_half_of_it(
    sqlite_store: Store,
) -> None:
    session = OnrecordSession("one", sqlite_store)
    for attempt in range(20):
        adding = asyncio.ensure_future(session.add_items(items(*range(10))))
        for _ in range(attempt % 4):
            await asyncio.sleep(0)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert len(await session.get_items()) in (0, 10)
        await session.clear_session()


async def test_five_thousand_items_come_back_and_the_last_fifty_cost_as_little(
    sqlite_store: Store,
) -> None:
    session = OnrecordSession("one", sqlite_store)
    for start in range(0, 5_000, 500):
        await session.add_items(items(*range(start, start + 500)))
    assert await session.get_items() == items(*range(5_000))
    assert await session.get_items(limit=50) == items(*range(4_950, 5_000))


async def test_each_kind_of_item_comes_back_as_it_was(sqlite_store: Store) -> None:
    session = OnrecordSession("one", sqlite_store)
    kinds = cast("list[Any]", recorded_kinds("openai-responses"))
    await session.add_items(kinds)
    assert await session.get_items() == kinds


async def test_an_erased_session_is_gone_and_begins_anew(sqlite_store: Store) -> None:
    session, other = (OnrecordSession(name, sqlite_store) for name in ("one", "two"))
    await session.add_items(items(1))
    await other.add_items(items(2))
    sqlite_store.forget(session.conversation_key, reason="asked for")
    assert await session.get_items() == []
    await session.add_items(items(3))
    assert (await session.get_items(), await other.get_items()) == (items(3), items(2))
    assert sqlite_store.verify().is_whole
