"""pydantic-ai keeps its conversations in our store: the contracts that it does not test."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    BinaryImage,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from onrecord.adapters.store import Store, backend_of
from onrecord.frameworks.pydantic_ai import OnrecordConversationStore
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import Place
from tests.frameworks.recorded_blocks import recorded_kinds
from tests.frameworks.turns import texts, turn


@pytest.fixture
def ours(sqlite_store: Store) -> OnrecordConversationStore:
    return OnrecordConversationStore(sqlite_store)


def parts() -> list[ModelMessage]:
    image = BinaryImage(b"\x00\xff" * 9, media_type="image/png")
    return [
        ModelRequest(parts=[UserPromptPart(["look", image])], instructions="be brief"),
        ModelResponse(
            parts=[
                ThinkingPart("hm", signature="sig", provider_name="anthropic"),
                TextPart("\u2028 text"),
                ToolCallPart("track", {"parcel": "NW-1", "weight": 0.1}, tool_call_id="c1"),
            ],
            provider_response_id="msg_1",
        ),
        ModelRequest(parts=[ToolReturnPart("track", {"at": [1, None, True]}, tool_call_id="c1")]),
    ]


async def test_messages_come_back_equal(ours: OnrecordConversationStore) -> None:
    messages = parts()
    await ours.save(Conversation(messages=messages, conversation_id="one"))
    loaded = await ours.load("one")
    assert loaded is not None
    assert loaded.messages == messages


@pytest.mark.parametrize("service", ["anthropic", "openai-responses", "gemini"])
async def test_each_kind_of_block_comes_back_as_it_was(
    ours: OnrecordConversationStore, service: str
) -> None:
    blocks = recorded_kinds(service)
    returned = [ToolReturnPart("tool", block, tool_call_id="c") for block in blocks]
    messages: list[ModelMessage] = [ModelRequest(parts=[part]) for part in returned]
    await ours.save(Conversation(messages=messages, conversation_id="one"))
    loaded = await ours.load("one")
    assert loaded is not None
    held = [cast("Any", part) for message in loaded.messages for part in message.parts]
    assert [part.content for part in held] == blocks


async def test_a_write_that_comes_again_changes_nothing(ours: OnrecordConversationStore) -> None:
    entry = ConversationEntry(parent_id=None, message=parts()[0])
    record = ConversationRecord(conversation_id="one", head_id=entry.id)
    for _ in range(2):
        await ours.write_record(record, new_entries=[entry], expected_revision=None)
    assert await ours.load_entries("one") == [entry]


async def test_those_who_save_at_once_lose_nothing_silently(
    ours: OnrecordConversationStore,
) -> None:
    await turn(ours, "one")

    async def save(text: str) -> bool:
        try:
            await turn(ours, text)
        except ConversationConflict:
            return False
        return True

    saved = await asyncio.gather(*(save(f"say {number}") for number in range(8)))
    held = await texts(ours)
    assert held is not None
    assert len(held) == 2 + 2 * saved.count(True)


@pytest.mark.parametrize("key", ["", "  ", "a\0b", "x" * 5_000, "\ud800"])
async def test_what_is_no_id_is_refused(ours: OnrecordConversationStore, key: str) -> None:
    with pytest.raises(UserError):
        await ours.save(Conversation(conversation_id=key))
    assert await ours.list_conversations() == []


async def test_what_is_no_json_is_refused_whole(ours: OnrecordConversationStore) -> None:
    bad = ModelRequest(parts=[ToolReturnPart("tool", float("nan"), tool_call_id="c")])
    with pytest.raises(UserError):
        await ours.save(Conversation(messages=[parts()[0], bad], conversation_id="one"))
    assert await ours.load("one") is None


async def test_a_conversation_of_another_id_or_tenant_is_not_seen(
    place: Place, tmp_path: Path
) -> None:
    with store_of(place.open(), tmp_path) as store:
        ours = OnrecordConversationStore(store)
        (entry, _) = await turn(ours, "one")
        for crafted in ("../one", 'one","x', "ONE", "one ", "one\u0301"):
            assert await ours.load(crafted) is None
        others = OnrecordConversationStore(store_of(backend_of(store), tmp_path, UUID(int=77)))
        assert (await others.load("one"), await others.list_conversations()) == (None, [])
        with pytest.raises(LookupError):
            await others.read_entry(entry.id)


async def test_an_erased_conversation_is_gone_and_begins_anew(
    ours: OnrecordConversationStore, sqlite_store: Store
) -> None:
    await turn(ours, "one")
    await turn(ours, "two", key="two")
    sqlite_store.forget(ours.conversation_key("one"), reason="asked for")
    assert await ours.load("one") is None
    await turn(ours, "anew")
    assert (await texts(ours), await texts(ours, "two")) == (
        ["anew", "answer 1"],
        ["two", "answer 1"],
    )
    assert sqlite_store.verify().is_whole


async def test_what_was_cancelled_is_saved_or_not_but_no_half_of_it(
    ours: OnrecordConversationStore,
) -> None:
    messages = parts()
    for attempt in range(12):
        key = f"c{attempt}"
        saving = asyncio.ensure_future(
            ours.save(Conversation(messages=messages, conversation_id=key))
        )
        for _ in range(attempt % 6):
            await asyncio.sleep(0)
        saving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await saving
        loaded = await ours.load(key)
        assert loaded is None or loaded.messages == messages


async def test_five_thousand_messages_come_back_and_the_last_ones_alone(
    ours: OnrecordConversationStore,
) -> None:
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(f"say {number}")]) for number in range(5_000)
    ]
    await ours.save(Conversation(messages=messages, conversation_id="one"))
    assert await texts(ours) == [f"say {number}" for number in range(5_000)]
    assert await texts(ours, limit=3) == ["say 4997", "say 4998", "say 4999"]


async def test_an_entry_is_found_by_a_process_that_never_saw_it(
    ours: OnrecordConversationStore, sqlite_store: Store
) -> None:
    first, last = await turn(ours, "one")
    fresh = OnrecordConversationStore(sqlite_store)
    assert await fresh.read_entry(first.id) == first
    assert await fresh.read_history(last.id) == [first, last]
