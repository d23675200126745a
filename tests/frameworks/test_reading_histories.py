"""What pydantic-ai, Microsoft's Agent Framework and AG2 wrote is a history, and goes on at each API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ag2.events import (
    BaseEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextInput,
    ToolCallEvent,
    ToolCallsEvent,
    ToolResultEvent,
    ToolResultsEvent,
)
from agent_framework import Content, Message
from pydantic_ai import messages as pydantic_messages
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import (
    BinaryImage,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

import onrecord
from onrecord.adapters.store import Store
from onrecord.frameworks.ag2 import OnrecordStorage
from onrecord.frameworks.agent_framework import OnrecordHistoryProvider
from onrecord.frameworks.pydantic_ai import OnrecordConversationStore
from tests.adapters.frameworks.written_sessions import APIS, complaints

SAID = [("user", "Where is NW-1?"), ("assistant", "In depot North."), ("user", "Sure?")]
PICTURE = BinaryImage(b"\x89PNG\xfb\xff" * 3, media_type="image/png")


def by_pydantic_ai(store: Store) -> str:
    conversations = OnrecordConversationStore(store)
    request, response = pydantic_messages.ModelRequest, pydantic_messages.ModelResponse
    said: list[pydantic_messages.ModelMessage] = [
        request(parts=[SystemPromptPart("be brief"), UserPromptPart("Where is NW-1?")]),
        response(parts=[ThinkingPart("hm"), ToolCallPart("track", {"n": 1}, tool_call_id="c1")]),
        request(parts=[ToolReturnPart("track", {"at": "North"}, tool_call_id="c1")]),
        response(parts=[TextPart("In depot North.")]),
        request(parts=[UserPromptPart(["Sure?", PICTURE])]),
    ]

    async def write() -> None:
        await conversations.save(Conversation(messages=said, conversation_id="one"))
        left = await conversations.load("one")
        assert left is not None
        left.messages.append(response(parts=[TextPart("left behind")]))
        await conversations.save(left)
        assert left.revision is not None
        await conversations.branch("one", at=5, expected_revision=left.revision)

    asyncio.run(write())
    return conversations.conversation_key("one")


def by_agent_framework(store: Store) -> str:
    provider = OnrecordHistoryProvider(store)
    call = Content.from_function_call("c1", "track", arguments={"n": 1})
    result = Content.from_function_result("c1", result={"at": "North"})
    picture = Content.from_data(PICTURE.data, "image/png")
    said = [
        Message("system", ["be brief"]),
        Message("user", ["Where is NW-1?"]),
        Message("assistant", [call]),
        Message("tool", [result]),
        Message("assistant", ["In depot North."]),
        Message("user", ["Sure?", picture]),
    ]
    asyncio.run(provider.save_messages("one", said))
    return provider.conversation_key("one")


def by_ag2(store: Store) -> str:
    storage = OnrecordStorage(store)
    call = ToolCallEvent(name="track", arguments='{"n":1}', id="c1")
    said: list[BaseEvent] = [
        ModelRequest([TextInput("Where is NW-1?")]),
        ModelResponse(tool_calls=ToolCallsEvent([call])),
        ToolCallsEvent([call]),
        ToolResultsEvent([ToolResultEvent.from_call(call, "at North")]),
        ModelResponse(message=ModelMessage("In depot North.")),
        ModelRequest([TextInput("Sure?")]),
    ]

    async def write() -> None:
        context = cast("Any", SimpleNamespace(stream=SimpleNamespace(id="one")))
        for event in said:
            await storage.save_event(event, context)

    asyncio.run(write())
    return storage.conversation_key("one")


WRITERS: dict[str, Callable[[Store], str]] = {
    "pydantic-ai": by_pydantic_ai,
    "agent-framework": by_agent_framework,
    "ag2": by_ag2,
}


@pytest.fixture(params=WRITERS)
def conversation(request: pytest.FixtureRequest, sqlite_store: Store) -> onrecord.Conversation:
    return sqlite_store.conversation(WRITERS[request.param](sqlite_store))


def test_a_history_is_what_was_said_on_the_branch_that_goes_on(
    conversation: onrecord.Conversation,
) -> None:
    turns = [(turn.role, turn.text) for turn in conversation.history() if turn.text]
    assert turns == SAID


@pytest.mark.parametrize("api", APIS)
def test_it_goes_on_at_each_api_by_its_rules(conversation: onrecord.Conversation, api: str) -> None:
    request = conversation.request(api)
    assert complaints(api, request) == ()
    spelled = str(request.body)
    assert all(said in spelled for _, said in SAID)
    assert "North" in spelled
    assert "track" in spelled
    assert "left behind" not in spelled


def test_what_goes_nowhere_is_reported(sqlite_store: Store) -> None:
    conversation = sqlite_store.conversation(by_pydantic_ai(sqlite_store))
    report = conversation.request("openai-chat").report
    assert any("thinking" in str(note) for note in report)


def test_an_item_that_is_none_of_theirs_is_reported(sqlite_store: Store) -> None:
    provider = OnrecordHistoryProvider(sqlite_store)
    odd = Message("user", [Content.from_uri("http://x/y.wav", media_type="audio/wav")])
    asyncio.run(provider.save_messages("one", [Message("user", ["Hello"]), odd]))
    conversation = sqlite_store.conversation(provider.conversation_key("one"))
    assert [turn.text for turn in conversation.history()] == ["Hello"]
    assert any("uri" in str(note) for note in conversation.request("gemini").report)
