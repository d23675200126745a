"""Turns of agents of pydantic-ai for tests."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationEntry,
    ConversationStore,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel


def reply(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart(f"answer {len(messages)}")])


AGENT = Agent(FunctionModel(reply))


async def turn(
    store: ConversationStore, text: str, key: str = "one", scope: str | None = None
) -> list[ConversationEntry]:
    conversation = await store.load(key, scope=scope) or Conversation(conversation_id=key)
    result = await AGENT.run(text, conversation=conversation)
    return await store.save(result, scope=scope)


async def texts(store: ConversationStore, key: str = "one", **asked: Any) -> list[str] | None:
    loaded = await store.load(key, **asked)
    return None if loaded is None else [text_of(message) for message in loaded.messages]


def text_of(message: ModelMessage) -> str:
    return "".join(str(getattr(part, "content", "")) for part in message.parts)
