"""Texts in the history of a session of Microsoft's Agent Framework."""

from __future__ import annotations

from agent_framework import Message

from onrecord.adapters.store import Store
from onrecord.frameworks.agent_framework import OnrecordHistoryProvider
from tests.frameworks.session_texts import first_of_pairs


class SessionTexts:
    def __init__(self, store: Store) -> None:
        self._provider = OnrecordHistoryProvider(store)

    async def write(self, text: str) -> None:
        messages = [Message("user", [text]), Message("user", [f"{text}'"])]
        await self._provider.save_messages("one", messages)

    async def held(self) -> list[str]:
        messages = await self._provider.get_messages("one")
        return first_of_pairs([message.text for message in messages])
