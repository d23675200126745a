"""Texts in a transcript of Claude's SDK, which are the ids of its entries."""

from __future__ import annotations

from typing import Final

from onrecord.adapters.store import Store
from onrecord.frameworks.claude import ClaudeSessionStore, SessionKey
from tests.frameworks.session_texts import first_of_pairs

KEY: Final[SessionKey] = {"project_key": "project", "session_id": "one"}


class SessionTexts:
    def __init__(self, store: Store) -> None:
        self._sessions = ClaudeSessionStore(store)

    async def write(self, text: str) -> None:
        entries = [{"type": "user", "uuid": uuid} for uuid in (text, f"{text}'")]
        await self._sessions.append(KEY, entries)

    async def held(self) -> list[str]:
        entries = await self._sessions.load(KEY) or []
        return first_of_pairs([entry["uuid"] for entry in entries])
