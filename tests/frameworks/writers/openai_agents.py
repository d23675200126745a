"""Texts in a session of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any, cast

from onrecord.adapters.store import Store
from onrecord.frameworks.openai_agents import OnrecordSession
from tests.frameworks.session_texts import first_of_pairs


class SessionTexts:
    def __init__(self, store: Store) -> None:
        self._session = OnrecordSession("one", store)

    async def write(self, text: str) -> None:
        await self._session.add_items(
            [{"role": "user", "content": text}, {"role": "user", "content": f"{text}'"}]
        )

    async def held(self) -> list[str]:
        items = cast("list[Any]", await self._session.get_items())
        return first_of_pairs([item["content"] for item in items])
