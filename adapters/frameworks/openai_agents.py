"""Sessions of the OpenAI Agents SDK: what its `Session` protocol asks for, over one log.

The protocol is `agents.memory.session.Session`, and docs/frameworks-openai-agents.md says how it is used. A
session is a conversation, an item of a run's history is an item of its one stream. The SDK's items have
no id that stands for them, so what comes twice is there twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from onrecord.adapters.frameworks.awaiting import settled
from onrecord.adapters.frameworks.session import NewItem
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import NotInstalled, VersionConflict
from onrecord.projections.frameworks.current_items import HeldItem

try:
    from agents.memory.session_settings import (
        SessionSettings,
        coerce_session_settings,
        resolve_session_limit,
    )
except ModuleNotFoundError as exc:
    raise NotInstalled("the session of the SDK", "openai-agents", "openai-agents") from exc

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

T = TypeVar("T")

FRAMEWORK: Final = "openai-agents"


@dataclass(frozen=True)
class CompactionSnapshot:
    """The last items of a session, and how to put others in the place of the end of them.

    The SDK's `OpenAIResponsesCompactionSession` asks for it. `complete` says that there are no earlier
    items. `replace_suffix` takes the place among `items` from which on others come, and those; it
    returns False, and changes nothing, where the end is no longer what it was.
    """

    items: list[TResponseInputItem]
    complete: bool
    replace_suffix: Callable[[int, list[TResponseInputItem]], Awaitable[bool]]


class OnrecordSession:
    """A `Session` for `Runner.run(agent, ..., session=...)`; safe to share between tasks.

    What is refused raises an `OnrecordError`, and nothing of it is recorded.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        store: Store,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """Keep the session of an id in a store; close the store when done."""
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or SessionSettings())
        self._store = store
        sessions = Sessions(store, FRAMEWORK)
        self._session = sessions.session(session_id)
        self.conversation_key = sessions.key(session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the history, or its last items, in order; `limit` before that of the settings."""
        last = resolve_session_limit(limit, self.session_settings)
        if last is not None and last <= 0:
            return []
        loaded = await self._settled(partial(self._session.load, last=last))
        return _items(loaded.items)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Record items behind the history, all or none."""
        new = [NewItem(dict(item)) for item in items]
        await self._settled(partial(self._session.record, new))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item off the history and return it; the record keeps it."""
        popped = await self._settled(self._session.pop)
        return None if popped is None else _items((popped,))[0]

    async def clear_session(self) -> None:
        """Empty the history; the record keeps it, and the id can be used again."""
        await self._settled(self._session.clear)

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[TResponseInputItem], bool] | None = None
    ) -> CompactionSnapshot:
        # One more than was asked for says whether there are earlier ones.
        loaded = await self._settled(partial(self._session.load, last=limit + 1))
        held = loaded.items[-limit:]

        async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
            step = partial(self._replace, held[start:], output, prune_prefix)
            return await self._settled(step)

        return CompactionSnapshot(_items(held), len(loaded.items) <= limit, replace_suffix)

    def _replace(
        self,
        suffix: tuple[HeldItem, ...],
        output: list[TResponseInputItem],
        prune: Callable[[TResponseInputItem], bool] | None,
    ) -> bool:
        """Put other items in the place of the last ones; False where others are the last by now."""
        if not suffix:
            return False
        new = [NewItem(dict(item)) for item in output]
        while True:
            loaded = self._session.load(last=len(suffix) if prune is None else None)
            if loaded.items[-len(suffix) :] != suffix:
                return False
            pruned = 0 if prune is None else _pruned(loaded.items[: -len(suffix)], prune)
            first, last = pruned + 1, suffix[0].version - 1
            kept = [(first, last)] if first <= last else []
            try:
                self._session.replace(kept, new, expected_version=loaded.version)
            except VersionConflict:
                continue
            return True

    async def _settled(self, step: Callable[[], T]) -> T:
        return await settled(self._store, step)


def _pruned(prefix: tuple[HeldItem, ...], prune: Callable[[TResponseInputItem], bool]) -> int:
    """Return the version of the last of the first items that may go; 0 where none may."""
    pruned = 0
    for held in prefix:
        if not prune(_items((held,))[0]):
            break
        pruned = held.version
    return pruned


def _items(held: tuple[HeldItem, ...]) -> list[TResponseInputItem]:
    return [cast("TResponseInputItem", each.item) for each in held]
