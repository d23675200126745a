"""A plugin of pytest for the SDK's own tests: `InMemorySessionStore` is our session store in a SQLite store."""

from __future__ import annotations

import atexit
import importlib
import tempfile
from pathlib import Path
from typing import Any

import onrecord
from onrecord.adapters.store import Store
from onrecord.domain.jsontext import JsonObject
from onrecord.frameworks.claude import ClaudeSessionStore

sdk: Any = importlib.import_module("claude_agent_sdk")

FOLDER = tempfile.TemporaryDirectory()
STORES: list[Store] = []


class SessionStoreInLog(ClaudeSessionStore):
    """Our store, made as the SDK's own is: each has a log of its own, and what tests look into it by."""

    def __init__(self) -> None:
        store = onrecord.connect(f"sqlite:///{Path(FOLDER.name) / f'{len(STORES)}.db'}")
        STORES.append(store)
        super().__init__(store)

    def get_entries(self, key: Any) -> list[JsonObject]:
        session = self._session(key)
        return [held.item for held in session.load(key.get("subpath") or "").items]

    @property
    def size(self) -> int:
        return sum(1 for _ in self._sessions.listed(parts=2))


@atexit.register
def _close() -> None:
    for store in STORES:
        store.close()
    FOLDER.cleanup()


sdk.InMemorySessionStore = SessionStoreInLog
