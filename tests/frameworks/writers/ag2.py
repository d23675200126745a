"""Texts in the history of a stream of AG2, which brings one event a call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from ag2.events import ModelRequest, TextInput

from onrecord.adapters.store import Store
from onrecord.frameworks.ag2 import OnrecordStorage


class SessionTexts:
    def __init__(self, store: Store) -> None:
        self._storage = OnrecordStorage(store)

    async def write(self, text: str) -> None:
        context: Any = SimpleNamespace(stream=SimpleNamespace(id="one"))
        await self._storage.save_event(ModelRequest([TextInput(text)]), context)

    async def held(self) -> list[str]:
        history = await self._storage.get_history(cast("Any", "one"))
        return [part.content for event in history for part in cast("Any", event).parts]
