"""The turns of a session of the OpenAI Agents SDK, as its `AdvancedSQLiteSession` counts them.

A turn is a user's message and what comes up to the next one. The first one is turn 1; what comes before
any is turn 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.members import objects

_CALLS: Final = frozenset(
    {
        *("tool_call", "function_call", "custom_tool_call", "computer_call", "file_search_call"),
        *("web_search_call", "code_interpreter_call", "tool_search_call", "mcp_call"),
        *("mcp_approval_request", "shell_call", "apply_patch_call"),
    }
)
_NAMED_BY_TYPE: Final = frozenset(
    {
        *("computer_call", "file_search_call", "web_search_call", "code_interpreter_call"),
        *("shell_call", "apply_patch_call"),
    }
)
_OF_MCP: Final = frozenset({"mcp_call", "mcp_approval_request"})
_OF_TOOL_SEARCH: Final = frozenset({"tool_search_call", "tool_search_output"})


class Turn(NamedTuple):
    """A turn: its number, and its items in order, one at least."""

    number: int
    items: tuple[HeldItem, ...]

    @property
    def first(self) -> HeldItem:
        """The item that the turn begins with: the user's message, but for turn 0."""
        return self.items[0]

    @property
    def content(self) -> Any:
        """What the user's message says, as it was given: a text, or a list of parts."""
        return self.first.item.get("content", "")


def turns_of(items: Iterable[HeldItem]) -> list[Turn]:
    """Return the turns of a history."""
    turns: list[list[HeldItem]] = [[]]
    for item in items:
        if is_prompt(item.item):
            turns.append([])
        turns[-1].append(item)
    return [Turn(number, tuple(turn)) for number, turn in enumerate(turns) if turn]


def is_prompt(item: JsonObject) -> bool:
    """Whether an item is a user's message: a turn begins with it."""
    return item.get("role") == "user"


def message_type(item: JsonObject) -> str:
    """Return what an item is: the speaker of a message, else its type."""
    match item:
        case {"role": "user" | "assistant"}:
            return str(item["role"])
        case {"type": str(kind)} if kind:
            return kind
        case _:
            return "other"


def tool_name(item: JsonObject) -> str | None:
    """Return the tool that an item calls or answers for, with its namespace or server; None for others."""
    kind, name = item.get("type"), item.get("name")
    if kind in _OF_MCP and "server_label" in item:
        return ".".join(str(part) for part in (item["server_label"], name) if part) or None
    if kind in _NAMED_BY_TYPE:
        return str(kind)
    if kind in _OF_TOOL_SEARCH:
        return "tool_search"
    if name is None:
        return None
    # The SDK writes a tool without a namespace as if it were in one of its own name.
    namespace = item.get("namespace")
    is_plain = namespace == name or not isinstance(namespace, str) or not namespace
    return str(name) if is_plain else f"{namespace}.{name}"


def tool_counts(turn: Turn) -> list[tuple[str, int]]:
    """Return the tools that a turn calls, and how often, by name.

    A search for tools is counted once: by its call, or by its outcome where that stands alone.
    """
    types = {message_type(item.item) for item in turn.items}
    counted = _CALLS if "tool_search_call" in types else _CALLS | {"tool_search_output"}
    calls = (item.item for item in turn.items if message_type(item.item) in counted)
    return sorted(Counter(tool_name(call) or message_type(call) for call in calls).items())


def says(content: Any, term: str) -> bool:
    """Whether the texts of a message hold a term, in upper or lower case."""
    pattern = re.compile(re.escape(term), re.IGNORECASE)
    return any(pattern.search(text) for text in _texts(content))


def _texts(content: Any) -> Sequence[str]:
    match content:
        case str():
            return (content,)
        case _:
            return [part["text"] for part in objects(content) if isinstance(part.get("text"), str)]
