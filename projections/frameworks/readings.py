"""What the items of a framework say: messages, in the JSON of the API that they hold.

Each framework has a module of its own, which tells what is a message among its items and what is none.
Nothing here knows how messages become turns: the reader of the API's requests does that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeAlias

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks import (
    adk,
    ag2,
    agent_framework,
    claude,
    langgraph,
    openai_agents,
    pydantic_ai,
)
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.item_messages import ItemContents, Reading
from onrecord.projections.frameworks.shared_values import ItemAt

ReadItem: TypeAlias = Callable[[JsonObject], ItemContents | None]
"""Reads one item for itself; None where it says nothing."""


_ITEM_READERS: Final[Mapping[str, ReadItem]] = {
    "ag2": ag2.read_item,
    "agent-framework": agent_framework.read_item,
    "google-adk": adk.read_item,
    "claude-agent-sdk": claude.read_item,
    "langgraph": langgraph.read_new,
    "openai-agents": openai_agents.read_item,
    "pydantic-ai": pydantic_ai.read_item,
}


def reading_of(
    framework: str,
    items: Sequence[HeldItem],
    state: Mapping[str, object],
    item_at: ItemAt,
    redacted: Collection[int],
) -> Reading | None:
    """Return what the items of a stream say; None where nothing is known of the framework.

    `state` is what the stream keeps by name. Long strings of the items are back in their place; `item_at`
    tells those that the stream held before, and `redacted` are the versions that were redacted.
    """
    match framework:
        case "ag2":
            return ag2.read_items(items)
        case "agent-framework":
            return agent_framework.read_items(items)
        case "pydantic-ai":
            return pydantic_ai.read_items(items, state)
        case "claude-agent-sdk":
            return claude.read_items(items)
        case "openai-agents":
            return openai_agents.read_items(items)
        case "google-adk":
            return adk.read_items(items)
        case "langgraph":
            return langgraph.read_items(items, item_at, redacted)
        case _:
            return None


def contents_of(framework: str, item: JsonObject) -> ItemContents | None:
    """Return what one item holds; None where it says nothing, or items of the framework are not read so."""
    read_item = _ITEM_READERS.get(framework)
    return None if read_item is None else read_item(item)


_ABOUT: Final[Mapping[str, Callable[[JsonObject], str]]] = {
    "ag2": ag2.about,
    "claude-agent-sdk": claude.about,
    "langgraph": langgraph.about,
}


def about_item(framework: str, item: JsonObject) -> str:
    """Return in a few words what an item is that says nothing; empty where nothing is known of it."""
    about = _ABOUT.get(framework)
    return "" if about is None else about(item)
