"""Compaction of a session: other items in the place of its end, at once, where that is still the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from onrecord.adapters.frameworks.openai_agents.branches import Branches
from onrecord.adapters.frameworks.openai_agents.stored_session import StoredSession, items_of
from onrecord.adapters.frameworks.session import NewItem, until_first
from onrecord.projections.frameworks.current_items import HeldItem

if TYPE_CHECKING:
    from agents.items import TResponseInputItem


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


async def compaction_snapshot(
    session: StoredSession, limit: int, prune: Callable[[TResponseInputItem], bool] | None
) -> CompactionSnapshot:
    """Return the last items of the current branch; `prune` says which of the first ones may go besides."""
    branch = await session.settled(session.branches.resolved)
    # One more than was asked for says whether there are earlier ones.
    loaded = await session.settled(partial(session.branches.load, branch, limit + 1))
    items = loaded.items[-limit:]

    async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
        step = partial(_replace, session.branches, branch, items[start:], output, prune)
        return await session.settled(step)

    return CompactionSnapshot(items_of(items), len(loaded.items) <= limit, replace_suffix)


def _replace(
    branches: Branches,
    branch: str,
    suffix: tuple[HeldItem, ...],
    output: list[TResponseInputItem],
    prune: Callable[[TResponseInputItem], bool] | None,
) -> bool:
    """Put other items in the place of the last ones; False where others are the last by now."""
    if not suffix:
        return False
    new = [NewItem(dict(item)) for item in output]

    def replace() -> bool:
        loaded = branches.load(branch, len(suffix) if prune is None else None)
        if loaded.items[-len(suffix) :] != suffix:
            return False
        pruned = 0 if prune is None else _pruned(loaded.items[: -len(suffix)], prune)
        first, last = pruned + 1, suffix[0].version - 1
        kept = [(first, last)] if first <= last else []
        branches.replace(kept, new, branch=branch, expected_version=loaded.version)
        return True

    return until_first(replace)


def _pruned(prefix: tuple[HeldItem, ...], prune: Callable[[TResponseInputItem], bool]) -> int:
    """Return the version of the last of the first items that may go; 0 where none may."""
    pruned = 0
    for item in prefix:
        if not prune(items_of((item,))[0]):
            break
        pruned = item.version
    return pruned
