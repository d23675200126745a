"""Claude's SDK keeps its sessions in our store: its own contracts, and those that it does not test."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.store import Store
from onrecord.frameworks.claude import ClaudeSessionStore, SessionKey
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place
from tests.frameworks.recorded_blocks import recorded_kinds

# Not imported by name: the environment of the type checkers does not have it.
sdk: Any = importlib.import_module("claude_agent_sdk")
protocol: Any = importlib.import_module("claude_agent_sdk.types").SessionStore
conformance: Any = importlib.import_module("claude_agent_sdk.testing")

KEY: SessionKey = {"project_key": "project", "session_id": "one"}
SUBAGENT: SessionKey = {**KEY, "subpath": "subagents/agent-1"}


def entry(number: int, **members: Any) -> dict[str, Any]:
    parent = None if number == 0 else f"uuid-{number - 1}"
    message = {"role": "user", "content": f"say {number}"}
    return {
        "type": "user",
        "uuid": f"uuid-{number}",
        "parentUuid": parent,
        "message": message,
        "timestamp": "2026-11-24T09:00:00.000Z",
        "sessionId": "one",
        **members,
    }


@pytest.fixture
def sessions(store: Store) -> ClaudeSessionStore:
    return ClaudeSessionStore(store)


async def uuids(sessions: ClaudeSessionStore, key: SessionKey = KEY) -> list[str]:
    return [held["uuid"] for held in await sessions.load(key) or []]


def test_it_keeps_the_contracts_of_the_sdk(each_place: Place, tmp_path: Path) -> None:
    made: list[Store] = []

    def make() -> ClaudeSessionStore:
        # Each contract wants a store that is empty; a tenant of its own is.
        tenant = UUID(int=len(made) + 1)
        made.append(store_of(each_place.open(), tmp_path, tenant))
        return ClaudeSessionStore(made[-1])

    try:
        asyncio.run(conformance.run_session_store_conformance(make))
    finally:
        for store in made:
            store.close()
    # The first is only asked for its methods; then each of the 14 contracts has one.
    assert len(made) == 15


def test_its_methods_are_those_of_the_protocol() -> None:
    for name, method in inspect.getmembers(protocol, inspect.isfunction):
        if name.startswith("_"):
            continue
        ours = inspect.signature(getattr(ClaudeSessionStore, name))
        assert list(ours.parameters) == list(inspect.signature(method).parameters), name


async def test_the_same_batch_twice_is_recorded_once(sessions: ClaudeSessionStore) -> None:
    batch = [entry(0), {"type": "custom-title", "customTitle": "x"}, entry(1)]
    await sessions.append(KEY, batch[:1])
    await sessions.append(KEY, [entry(0), entry(1)])
    await sessions.append(KEY, [entry(0), entry(1)])
    assert await uuids(sessions) == ["uuid-0", "uuid-1"]
    await sessions.append(KEY, batch)
    assert [held["type"] for held in await sessions.load(KEY) or []] == [
        *("user", "user", "custom-title"),
    ]


async def test_a_deleted_session_takes_the_same_entries_again(sessions: ClaudeSessionStore) -> None:
    await sessions.append(KEY, [entry(0), entry(1)])
    await sessions.append(SUBAGENT, [entry(7)])
    await sessions.delete(SUBAGENT)
    assert (await sessions.load(SUBAGENT), await uuids(sessions)) == (None, ["uuid-0", "uuid-1"])
    await sessions.append(SUBAGENT, [entry(7)])
    assert await sessions.list_subkeys(KEY) == ["subagents/agent-1"]
    await sessions.delete(KEY)
    assert (await sessions.load(KEY), await sessions.load(SUBAGENT)) == (None, None)
    assert (await sessions.list_sessions("project"), await sessions.list_subkeys(KEY)) == ([], [])
    await sessions.append(KEY, [entry(1)])
    assert await uuids(sessions) == ["uuid-1"]


async def test_a_summary_tells_nothing_of_a_session_that_was_forgotten(sqlite_store: Store) -> None:
    sessions = ClaudeSessionStore(sqlite_store)
    for text in ("a secret", "a question"):
        message = {"role": "user", "content": text}
        await sessions.append(KEY, [{"type": "user", "uuid": text, "message": message}])
        (summary,) = await sessions.list_session_summaries("project")
        assert text in str(summary)
        sqlite_store.forget(sessions.conversation_key(KEY), reason="asked for")


async def test_true_is_not_one(sqlite_store: Store) -> None:
    sessions = ClaudeSessionStore(sqlite_store)
    for flag in (1, True, 1.0, 1):
        await sessions.append(KEY, [{"type": "user", "uuid": "one", "flag": flag}])
    kept = sqlite_store.conversation(sessions.conversation_key(KEY)).events()
    assert len([event for event in kept if event.type == "item.recorded"]) == 3


async def test_summaries_are_those_of_the_sdks_own_store(
    store: Store, sessions: ClaudeSessionStore
) -> None:
    theirs = sdk.InMemorySessionStore()
    batches = [
        [entry(0), entry(1, gitBranch="main")],
        [{"type": "summary", "summary": "what was said", "leafUuid": "uuid-1"}],
        [entry(2), {"type": "custom-title", "customTitle": "Title", "sessionId": "one"}],
    ]
    ours: list[dict[str, Any]] = []
    for batch in batches:
        await sessions.append(KEY, batch)
        await theirs.append(KEY, batch)
        ours = await sessions.list_session_summaries("project")
        (expected,) = await theirs.list_session_summaries("project")
        assert [{**each, "mtime": 0} for each in ours] == [{**expected, "mtime": 0}]
        (listed,) = await sessions.list_sessions("project")
        assert ours[0]["mtime"] >= listed["mtime"] > 1e12
    again = ClaudeSessionStore(store)
    assert await again.list_session_summaries("project") == ours


async def test_the_functions_of_the_sdk_read_and_change_what_is_there(
    sessions: ClaudeSessionStore, tmp_path: Path
) -> None:
    session_id = "01932f1e-5c00-4000-8000-000000004711"
    directory = str(tmp_path)
    key: SessionKey = {
        "project_key": sdk.project_key_for_directory(directory),
        "session_id": session_id,
    }
    answer = {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}
    said = [
        entry(0, uuid="01932f1e-5c00-4000-8000-000000000000", sessionId=session_id),
        entry(
            1,
            type="assistant",
            uuid="01932f1e-5c00-4000-8000-000000000001",
            parentUuid="01932f1e-5c00-4000-8000-000000000000",
            message=answer,
            sessionId=session_id,
        ),
    ]
    await sessions.append(key, said)
    listed = await sdk.list_sessions_from_store(sessions, directory=directory)
    assert [info.session_id for info in listed] == [session_id]
    messages = await sdk.get_session_messages_from_store(sessions, session_id, directory=directory)
    assert [message.uuid for message in messages] == [each["uuid"] for each in said]
    await sdk.rename_session_via_store(sessions, session_id, "A title", directory=directory)
    info = await sdk.get_session_info_from_store(sessions, session_id, directory=directory)
    assert info is not None
    assert info.custom_title == "A title"
    forked = await sdk.fork_session_via_store(sessions, session_id, directory=directory)
    copied = await sessions.load({**key, "session_id": forked.session_id})
    assert [each["message"] for each in copied or [] if "message" in each] == [
        each["message"] for each in said
    ]
    await sdk.delete_session_via_store(sessions, session_id, directory=directory)
    assert await sessions.load(key) is None


async def test_batches_that_were_dropped_are_told(sessions: ClaudeSessionStore) -> None:
    await sessions.append(KEY, [entry(0), entry(1), entry(4)])
    assert await sessions.missing_parents(KEY) == ["uuid-3"]
    await sessions.append(KEY, [entry(number) for number in range(5)])
    assert await sessions.missing_parents(KEY) == []


async def test_a_batch_with_what_is_no_json_leaves_nothing(sessions: ClaudeSessionStore) -> None:
    for bad in ({"a": float("nan")}, {1: 2}, "text", None):
        with pytest.raises(onrecord.OnrecordError):
            await sessions.append(KEY, [entry(0), bad])  # type: ignore[list-item]
    assert await sessions.load(KEY) is None


@pytest.mark.parametrize(
    "key",
    [{}, {"project_key": "a"}, {"project_key": "", "session_id": "b"}, {**KEY, "subpath": ""}],
)
async def test_a_key_that_names_nothing_is_refused(sessions: ClaudeSessionStore, key: Any) -> None:
    with pytest.raises(onrecord.OnrecordError):
        await sessions.append(key, [entry(0)])
    with pytest.raises(onrecord.OnrecordError):
        await sessions.load(key)


async def test_a_crafted_id_reaches_no_other_session(sessions: ClaudeSessionStore) -> None:
    await sessions.append(KEY, [entry(0)])
    for crafted in ("../one", "one/subagents", 'one","x', "ONE", "one ", "%6fne", "x" * 4096):
        assert await sessions.load({"project_key": "project", "session_id": crafted}) is None
    assert await sessions.load({"project_key": "project/one", "session_id": "one"}) is None


async def test_five_thousand_entries_come_back(sqlite_store: Store) -> None:
    sessions = ClaudeSessionStore(sqlite_store)
    entries = [entry(number, blob="x" * 200) for number in range(5_000)]
    for start in range(0, len(entries), 500):
        await sessions.append(KEY, entries[start : start + 500])
    assert await sessions.load(KEY) == entries


async def test_what_was_cancelled_is_recorded_or_not_but_no_half_of_it(
    sqlite_store: Store,
) -> None:
    sessions = ClaudeSessionStore(sqlite_store)
    for attempt in range(20):
        batch = [entry(attempt * 10 + number) for number in range(10)]
        appending = asyncio.ensure_future(sessions.append(KEY, batch))
        for _ in range(attempt % 4):
            await asyncio.sleep(0)
        appending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await appending
        # Its outcome is known by now: what is there stays, and nothing comes later.
        there = len(await uuids(sessions))
        assert there % 10 == 0
        await sessions.append(KEY, batch)
        assert len(await uuids(sessions)) == (attempt + 1) * 10


async def test_each_kind_of_block_comes_back_as_it_was(sqlite_store: Store) -> None:
    blocks = recorded_kinds("anthropic")
    sessions = ClaudeSessionStore(sqlite_store)
    entries = [
        entry(number, type="assistant", message={"role": "assistant", "content": [block]})
        for number, block in enumerate(blocks)
    ]
    await sessions.append(KEY, entries)
    assert await sessions.load(KEY) == entries


async def test_an_erased_session_is_gone_and_begins_anew(sqlite_store: Store) -> None:
    sessions = ClaudeSessionStore(sqlite_store)
    await sessions.append(KEY, [entry(0)])
    await sessions.append({**KEY, "session_id": "two"}, [entry(0)])
    sqlite_store.forget(sessions.conversation_key(KEY), reason="asked for")
    assert await sessions.load(KEY) is None
    assert [each["session_id"] for each in await sessions.list_sessions("project")] == ["two"]
    await sessions.append(KEY, [entry(0)])
    assert await uuids(sessions) == ["uuid-0"]
    assert sqlite_store.verify().is_whole
