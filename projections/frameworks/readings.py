"""What the items of a framework say: messages, in the JSON of the API that they hold.

Each framework has a module of its own, which tells what is a message among its items and what is none.
Nothing here knows how messages become turns: the reader of the API's requests does that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from onrecord.projections.frameworks import claude, openai_agents
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.item_messages import Reading

ReadItems: TypeAlias = Callable[[Sequence[HeldItem]], Reading]
"""Reads what a stream of a framework holds; long strings of its items are back in their place."""

_READERS: Final[Mapping[str, ReadItems]] = {
    "claude-agent-sdk": claude.read_items,
    "openai-agents": openai_agents.read_items,
}


def reading_of(framework: str, items: Sequence[HeldItem]) -> Reading | None:
    """Return what the items of a stream say; None where nothing is known of the framework."""
    read_items = _READERS.get(framework)
    return None if read_items is None else read_items(items)
