"""Texts in a conversation of pydantic-ai: a turn is a prompt and its answer."""

from __future__ import annotations

from pydantic_ai.conversation_store import ConversationConflict

from onrecord.adapters.store import Store
from onrecord.frameworks.pydantic_ai import OnrecordConversationStore
from tests.frameworks.turns import texts, turn


class SessionTexts:
    def __init__(self, store: Store) -> None:
        self._conversations = OnrecordConversationStore(store)

    async def write(self, text: str) -> None:
        while True:
            try:
                await turn(self._conversations, text)
            except ConversationConflict:
                continue
            return

    async def held(self) -> list[str]:
        messages = await texts(self._conversations) or []
        assert messages[1::2] == [f"answer {number}" for number in range(1, len(messages) + 1, 2)]
        return messages[::2]
