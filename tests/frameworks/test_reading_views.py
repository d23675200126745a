"""What each framework wrote by our store is in the views: found by its words, called, counted, shown."""

from __future__ import annotations

import asyncio
from typing import Any, cast
from uuid import UUID

import pytest
from ag2 import Agent, MemoryStream
from ag2.events import ModelMessage, ModelResponse, Usage
from ag2.testing import TestConfig
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.conversation import Conversation
from pydantic_ai.models.test import TestModel

from onrecord.adapters.store import Store
from onrecord.frameworks.ag2 import OnrecordStorage
from onrecord.frameworks.langgraph import OnrecordSaver
from onrecord.frameworks.pydantic_ai import OnrecordConversationStore
from tests.frameworks.test_reading_histories import WRITERS
from tests.frameworks.test_reading_threads import tracked
from tests.frameworks.threads import config, graph_of, prompt

STREAM = UUID(int=7)


@pytest.mark.parametrize("framework", WRITERS)
def test_a_history_is_found_and_its_call_has_its_result(
    sqlite_store: Store, framework: str
) -> None:
    key = WRITERS[framework](sqlite_store)
    views = sqlite_store.views
    assert [hit.role for hit in views.search('"in depot north"')] == ["assistant"]
    (call,) = views.tool_calls()
    assert (call.key, call.name, call.arguments, call.status) == (key, "track", '{"n":1}', "done")
    (told,) = views.conversations()
    assert (told.title, told.tool_calls) == ("Where is NW-1?", 1)
    assert [each.prompt for each in views.window(key)] == ["Sure?", "Where is NW-1?"]


def test_what_a_graph_answers_is_found_once_and_its_call_has_its_result(
    sqlite_store: Store,
) -> None:
    app = graph_of(OnrecordSaver(sqlite_store), tracked)
    for text in ("Where is it?", "And NW-2?"):
        app.invoke(prompt(text), config())
    views = sqlite_store.views
    assert len(list(views.search('"let me look"'))) == 1
    assert len(list(views.search("yes"))) == 1
    assert len(list(views.search("where"))) == 1
    (call,) = views.tool_calls()
    assert (call.name, call.status, call.result) == ("track", "done", "in depot North")
    (told,) = views.conversations()
    assert told.title == "Where is it?"


def test_what_a_run_of_ag2_took_is_counted_once(sqlite_store: Store) -> None:
    usage = Usage(prompt_tokens=5, completion_tokens=7)
    agent = Agent("desk", config=TestConfig(ModelResponse(ModelMessage("Hm."), usage=usage)))
    storage = OnrecordStorage(sqlite_store)

    async def run() -> None:
        await agent.ask("Where is it?", stream=MemoryStream(cast("Any", storage), id=STREAM))
        # What a compaction does: all is kept again behind something new.
        events = list(await storage.get_history(STREAM))
        await storage.set_history(STREAM, events[1:])

    asyncio.run(run())
    (counted,) = sqlite_store.views.usage()
    assert (counted.api, counted.responses) == ("ag2", 1)
    assert (counted.input_tokens, counted.output_tokens) == (5, 7)


def test_what_a_run_of_pydantic_ai_took_is_counted(sqlite_store: Store) -> None:
    conversations = OnrecordConversationStore(sqlite_store)

    async def run() -> int:
        result = await PydanticAgent(TestModel()).run("Where is it?")
        await conversations.save(
            Conversation(messages=result.all_messages(), conversation_id="one")
        )
        return result.usage.input_tokens

    read = asyncio.run(run())
    (counted,) = sqlite_store.views.usage()
    assert (counted.api, counted.model) == ("pydantic-ai", "test")
    assert counted.input_tokens == read > 0
