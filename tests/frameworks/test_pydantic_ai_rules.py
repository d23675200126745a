"""The rules of pydantic-ai for a store of conversations, on its own store and on ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationRecord,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelRequest,
    UserPromptPart,
)

from onrecord.frameworks.pydantic_ai import OnrecordConversationStore
from tests.adapters.frameworks.sessions_places import store_of
from tests.contract.places import prepared
from tests.frameworks.places import PLACES_OF_RULES
from tests.frameworks.turns import AGENT, text_of, texts, turn

KINDS = ["their own", *PLACES_OF_RULES]


@pytest.fixture(params=KINDS)
def conversations(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ConversationStore]:
    """Their store in memory, and ours in each database: what both have to do."""
    if request.param == "their own":
        yield InMemoryConversationStore()
        return
    places = prepared(request.param, tmp_path)
    with store_of(next(places).open(), tmp_path) as store:
        yield OnrecordConversationStore(store)
    next(places, None)


async def test_a_conversation_goes_on_where_it_was_left(conversations: ConversationStore) -> None:
    assert await texts(conversations) is None
    await turn(conversations, "one")
    entries = await turn(conversations, "two")
    assert await texts(conversations) == ["one", "answer 1", "two", "answer 3"]
    assert await texts(conversations, limit=3) == ["answer 1", "two", "answer 3"]
    assert await texts(conversations, limit=0) == []
    held = await conversations.load_entries("one", limit=2)
    assert held == entries
    assert await conversations.read_entry(entries[0].id) == entries[0]


async def test_a_stale_conversation_is_not_saved(conversations: ConversationStore) -> None:
    await turn(conversations, "one")
    first, second = [await conversations.load("one") for _ in range(2)]
    assert first is not None
    assert second is not None
    await conversations.save(await AGENT.run("two", conversation=first))
    with pytest.raises(ConversationConflict):
        await conversations.save(await AGENT.run("other", conversation=second))
    with pytest.raises(ConversationConflict):
        await conversations.save(Conversation(conversation_id="one"))
    assert await texts(conversations) == ["one", "answer 1", "two", "answer 3"]


async def test_a_record_that_points_at_nothing_is_a_conflict(
    conversations: ConversationStore,
) -> None:
    lost = ConversationRecord(conversation_id="one", head_id="nowhere")
    with pytest.raises(ConversationConflict):
        await conversations.write_record(lost, expected_revision=None)
    assert await conversations.read_record("one") is None
    with pytest.raises(LookupError):
        await conversations.read_entry("nowhere")


async def test_another_scope_does_not_have_it(conversations: ConversationStore) -> None:
    await turn(conversations, "one", scope="ana")
    await turn(conversations, "hers", key="two", scope="eve")
    assert await texts(conversations, scope="eve") is None
    assert await texts(conversations, scope="ana") == ["one", "answer 1"]
    await conversations.delete("one", scope="eve")
    listed = await conversations.list_conversations(scope="ana")
    assert [record.conversation_id for record in listed] == ["one"]


async def test_the_list_has_the_one_that_was_saved_last_first(
    conversations: ConversationStore,
) -> None:
    for key in ("a", "b", "c", "a"):
        await turn(conversations, "hello", key=key)
    listed = await conversations.list_conversations()
    assert [record.conversation_id for record in listed] == ["a", "c", "b"]
    assert [
        record.conversation_id for record in await conversations.list_conversations(limit=2)
    ] == ["a", "c"]


async def test_a_branch_keeps_the_history_that_it_leaves(conversations: ConversationStore) -> None:
    await turn(conversations, "one")
    left = await turn(conversations, "two")
    loaded = await conversations.load("one")
    assert loaded is not None
    assert loaded.revision is not None
    branched = await conversations.branch("one", at=2, expected_revision=loaded.revision)
    await conversations.save(await AGENT.run("other", conversation=branched))
    assert await texts(conversations) == ["one", "answer 1", "other", "answer 3"]
    record = await conversations.read_record("one")
    assert record is not None
    assert record.branches == [left[-1].id]
    back = await conversations.branch(
        "one", from_entry=left[-1].id, expected_revision=record.revision
    )
    assert [text_of(message) for message in back.messages] == ["one", "answer 1", "two", "answer 3"]


async def test_a_fork_goes_on_by_itself_and_outlives_its_origin(
    conversations: ConversationStore,
) -> None:
    await turn(conversations, "one")
    await turn(conversations, "two")
    await conversations.fork("one", at=2, new_conversation_id="fork")
    await turn(conversations, "other", key="fork")
    await conversations.delete("one")
    assert await texts(conversations) is None
    assert await texts(conversations, "fork") == ["one", "answer 1", "other", "answer 3"]
    with pytest.raises(UserError):
        await conversations.fork("one")


async def test_a_history_that_was_rewritten_branches_off(conversations: ConversationStore) -> None:
    await turn(conversations, "one")
    await turn(conversations, "two")
    stored = await conversations.load("one")
    assert stored is not None
    rewritten = Conversation(
        messages=[*stored.messages[:2], ModelRequest(parts=[UserPromptPart("summary")])],
        conversation_id="one",
        revision=stored.revision,
    )
    await conversations.save(rewritten)
    assert await texts(conversations) == ["one", "answer 1", "summary"]
    record = await conversations.read_record("one")
    assert record is not None
    assert len(record.branches) == 1


async def test_a_deleted_conversation_is_created_again_and_its_old_copy_is_stale(
    conversations: ConversationStore,
) -> None:
    await turn(conversations, "one")
    old = await conversations.load("one")
    assert old is not None
    await conversations.delete("one")
    assert (await texts(conversations), await conversations.list_conversations()) == (None, [])
    await turn(conversations, "anew")
    with pytest.raises(ConversationConflict):
        await conversations.save(await AGENT.run("late", conversation=old))
    assert await texts(conversations) == ["anew", "answer 1"]


async def test_what_was_loaded_is_its_callers_own_to_change(
    conversations: ConversationStore,
) -> None:
    await turn(conversations, "one")
    loaded = await conversations.load("one")
    assert loaded is not None
    loaded.messages[0].parts = []
    record = await conversations.read_record("one")
    assert record is not None
    record.branches.append("x")
    assert await texts(conversations) == ["one", "answer 1"]
    again = await conversations.read_record("one")
    assert again is not None
    assert again.branches == []
