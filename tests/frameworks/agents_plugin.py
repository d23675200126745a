"""A plugin of pytest for the SDK's own tests: `SQLiteSession` is our session in a SQLite store."""

from __future__ import annotations

import atexit
import importlib
import tempfile
from pathlib import Path
from typing import Any

import onrecord
from onrecord.adapters.store import Store
from onrecord.frameworks.openai_agents import OnrecordSession

agents: Any = importlib.import_module("agents")
memory: Any = importlib.import_module("agents.memory")

FOLDER = tempfile.TemporaryDirectory()
STORES: dict[str, Store] = {}


def store_at(path: str) -> Store:
    if path not in STORES:
        place = Path(FOLDER.name) / f"{len(STORES)}.db"
        STORES[path] = onrecord.connect(f"sqlite:///{place}")
    return STORES[path]


class SessionInStore(OnrecordSession):
    """Our session, made as the SDK's own is."""

    made = 0

    def __init__(self, session_id: str, db_path: Any = ":memory:", **settings: Any) -> None:
        if str(db_path) == ":memory:":
            SessionInStore.made += 1
            db_path = f"memory {SessionInStore.made}"
        super().__init__(session_id, store_at(str(db_path)), **settings)

    def close(self) -> None:
        """The stores are closed at the end."""


@atexit.register
def _close() -> None:
    for store in STORES.values():
        store.close()
    FOLDER.cleanup()


agents.SQLiteSession = memory.SQLiteSession = SessionInStore
