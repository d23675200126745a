"""What the items of a framework say: messages, in the JSON of the API that they hold.

Each framework has a module of its own, which tells what is a message among its items and what is none.
Nothing here knows how messages become turns: the reader of the API's requests does that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks import claude, openai_agents
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.item_messages import ItemContents, Reading

ReadItems: TypeAlias = Callable[[Sequence[HeldItem]], Reading]
"""Reads what a stream of a framework holds; long strings of its items are back in their place."""

ReadItem: TypeAlias = Callable[[JsonObject], ItemContents | None]
"""Reads one item for itself; None where it says nothing."""


class _Reader(NamedTuple):
    items: ReadItems
    item: ReadItem


_READERS: Final[Mapping[str, _Reader]] = {
    "claude-agent-sdk": _Reader(claude.read_items, claude.read_item),
    "openai-agents": _Reader(openai_agents.read_items, openai_agents.read_item),
}


def reading_of(framework: str, items: Sequence[HeldItem]) -> Reading | None:
    """Return what the items of a stream say; None where nothing is known of the framework."""
    reader = _READERS.get(framework)
    return None if reader is None else reader.items(items)


def contents_of(framework: str, item: JsonObject) -> ItemContents | None:
    """Return what one item holds; None where it says nothing, or nothing is known of the framework."""
    reader = _READERS.get(framework)
    return None if reader is None else reader.item(item)
