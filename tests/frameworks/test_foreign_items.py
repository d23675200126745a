"""An item that another program recorded, and that is none of the framework's, is told as such."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pydantic_ai.exceptions import UserError

from onrecord.adapters.store import Store
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.items import ItemRecorded, StatePut
from onrecord.frameworks.ag2 import OnrecordStorage
from onrecord.frameworks.agent_framework import OnrecordHistoryProvider
from onrecord.frameworks.claude import ClaudeSessionStore
from onrecord.frameworks.openai_agents import OnrecordSession
from onrecord.frameworks.pydantic_ai import OnrecordConversationStore
from tests.frameworks.turns import texts, turn

FOREIGN: dict[str, Any] = {"nonsense": [1], "role": 7}


def record(store: Store, key: str, framework: str, item: dict[str, Any], name: str | None) -> None:
    """Record an item as a program does that appends events of its own."""
    log = store.conversation(key).log
    log.append(ItemRecorded(framework=framework, item_id=name, item=item))


def events(store: Store, key: str) -> list[object]:
    return [each.event() for each in store.conversation(key).log.read()]


async def test_stores_of_json_hand_it_back(sqlite_store: Store) -> None:
    session, sessions = OnrecordSession("one", sqlite_store), ClaudeSessionStore(sqlite_store)
    await session.add_items([{"role": "user", "content": "a"}])
    record(sqlite_store, session.conversation_key, "openai-agents", FOREIGN, None)
    assert (await session.get_items())[-1] == cast("Any", FOREIGN)
    turns = await session.get_conversation_turns()
    assert [each["content"] for each in turns] == ["a"]
    await sessions.append({"project_key": "p", "session_id": "one"}, [{"type": "user"}])
    key = sessions.conversation_key({"project_key": "p", "session_id": "one"})
    record(sqlite_store, key, "claude-agent-sdk", FOREIGN, None)
    entries = await sessions.load({"project_key": "p", "session_id": "one"})
    assert entries == [{"type": "user"}, FOREIGN]


async def test_a_provider_of_agent_framework_says_which_item_is_no_message(
    sqlite_store: Store,
) -> None:
    provider = OnrecordHistoryProvider(sqlite_store)
    record(sqlite_store, provider.conversation_key("one"), "agent-framework", FOREIGN, None)
    with pytest.raises(CorruptRecord, match="version 2"):
        await provider.get_messages("one")


@pytest.mark.parametrize("item", [FOREIGN, {"__event__": "no.such.Event", "data": {}}])
async def test_a_storage_of_ag2_says_which_item_is_no_event(
    sqlite_store: Store, item: dict[str, Any]
) -> None:
    storage = OnrecordStorage(sqlite_store)
    record(sqlite_store, '["ag2","one"]', "ag2", item, None)
    with pytest.raises(CorruptRecord, match="version 2"):
        await storage.get_history(cast("Any", "one"))


async def test_an_item_that_no_entry_leads_to_is_no_part_of_a_conversation(
    sqlite_store: Store,
) -> None:
    conversations = OnrecordConversationStore(sqlite_store)
    await turn(conversations, "one")
    record(sqlite_store, conversations.conversation_key("one"), "pydantic-ai", FOREIGN, "bad")
    assert await texts(conversations) == ["one", "answer 1"]
    await turn(conversations, "two")
    assert await texts(conversations) == ["one", "answer 1", "two", "answer 3"]


@pytest.mark.parametrize(
    "other",
    [
        {"message": {"kind": "unknown"}},
        {"message": 5},
        {"kind": 5},
        {"parent_id": ["x"]},
        {"parent_id": 5},
    ],
)
async def test_an_entry_that_is_none_is_an_error_of_pydantic_ai(
    sqlite_store: Store, other: dict[str, Any]
) -> None:
    conversations = OnrecordConversationStore(sqlite_store)
    (said, _) = await turn(conversations, "one")
    key = conversations.conversation_key("one")
    (good, *_) = [event for event in events(sqlite_store, key) if isinstance(event, ItemRecorded)]
    record(sqlite_store, key, "pydantic-ai", {**good.item, "id": "bad", **other}, "bad")
    with pytest.raises(UserError, match="bad"):
        await conversations.read_entry("bad")
    with pytest.raises(UserError, match="bad"):
        await conversations.read_history("bad")
    assert await conversations.read_entry(said.id) == said


async def test_an_item_that_has_no_id_of_an_entry_is_no_part_of_a_conversation(
    sqlite_store: Store,
) -> None:
    conversations = OnrecordConversationStore(sqlite_store)
    await turn(conversations, "one")
    key = conversations.conversation_key("one")
    record(sqlite_store, key, "pydantic-ai", {"id": ["x"], "parent_id": None}, None)
    assert await texts(conversations) == ["one", "answer 1"]
    assert [each.role for each in sqlite_store.conversation(key).history()] == ["user", "assistant"]


@pytest.mark.parametrize("said", [5, {"head_id": "e"}, {"conversation_id": "two", "head_id": []}])
async def test_a_record_that_is_none_is_an_error_of_pydantic_ai(
    sqlite_store: Store, said: Any
) -> None:
    conversations = OnrecordConversationStore(sqlite_store)
    await turn(conversations, "one", "one")
    entries = await turn(conversations, "two", "two")
    chat = sqlite_store.conversation(conversations.conversation_key("two"))
    done = chat.log.append(StatePut(framework="pydantic-ai", key="record", value=said))
    with pytest.raises(UserError, match="two"):
        await conversations.read_record("two")
    with pytest.raises(UserError, match="two"):
        await conversations.load("two")
    with pytest.raises(UserError, match="two"):
        await conversations.read_records()
    assert await texts(conversations, "one") == ["one", "answer 1"]
    chat.redact(done.last)
    assert len(await conversations.read_records()) == 2
    assert await conversations.load_entries("two") == entries
