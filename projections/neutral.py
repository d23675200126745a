"""What another API's JSON says: blocks, instructions and tools in neutral form, a reader an API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hansard.domain.content import Block, Document, Native, Opaque, ServerToolResult, Text
from hansard.domain.jsontext import JsonObject
from hansard.domain.tools import ToolDefinition
from hansard.projections import (
    neutral_anthropic,
    neutral_openai_chat,
    neutral_openai_responses,
    neutral_openai_responses_activity,
)


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads an API's JSON: a block's, that of instructions, that of a tool's definition.

    Each takes the value of a `Native`, whole: strings that were moved to blobs are back in their
    place. A block that says nothing to other APIs is Opaque, instructions without text are empty, a
    tool that the provider itself runs is None. `outcome`, where an API has blocks that hold both a
    call of the provider's own tool and its result, returns that result of such a block. `parts`, where
    an API has blocks that are whole messages of the user's, returns what such a message holds.
    """

    block: Callable[[JsonObject], Block]
    instructions: Callable[[JsonObject], str]
    tool: Callable[[JsonObject], ToolDefinition | None]
    outcome: Callable[[JsonObject], ServerToolResult | None] | None = None
    parts: Callable[[JsonObject], tuple[Text | Document, ...]] | None = None


READERS: Final[dict[str, Reader]] = {
    neutral_anthropic.API: Reader(
        neutral_anthropic.neutral, neutral_anthropic.instructions, neutral_anthropic.tool
    ),
    neutral_openai_chat.API: Reader(
        neutral_openai_chat.neutral,
        neutral_openai_chat.instructions,
        neutral_openai_chat.tool,
        parts=neutral_openai_chat.said_by_the_user,
    ),
    neutral_openai_responses.API: Reader(
        neutral_openai_responses.block,
        neutral_openai_responses.instructions,
        neutral_openai_responses.tool,
        neutral_openai_responses_activity.gave,
        neutral_openai_responses.said_by_the_user,
    ),
}
"""Name to reader, of each API whose blocks can be told to others."""

FAILED: Final[dict[str, Callable[[JsonObject], bool]]] = {
    neutral_openai_responses.API: neutral_openai_responses.says_it_failed
}
"""Name to what tells whether a result says by itself that it failed; strings of it may be in blobs.

Of each API that has no flag for it, which would be recorded with the result.
"""


def neutral_of(api: str, value: JsonObject) -> Block:
    """Return an API's block in neutral form; Opaque where that says nothing to other APIs.

    A block of an API that has no reader is opaque.
    """
    reader = READERS.get(api)
    if reader is not None:
        return reader.block(value)
    kind: Any = value.get("type")
    return Opaque(api=api, type=kind if isinstance(kind, str) else "")


def outcome_of(api: str, value: JsonObject) -> ServerToolResult | None:
    """Return what a provider's own tool gave, if the block of its call holds that as well."""
    reader = READERS.get(api)
    return reader.outcome(value) if reader and reader.outcome else None


def parts_of(api: str, value: JsonObject) -> tuple[Text | Document, ...]:
    """Return what a message of the user's holds, none for a block that is no such message."""
    reader = READERS.get(api)
    return reader.parts(value) if reader and reader.parts else ()


def instructions_of(native: Native) -> str:
    """Return the text of an API's instructions; empty where nothing of them can be told."""
    reader = READERS.get(native.api)
    return reader.instructions(native.value) if reader else ""


def tool_of(native: Native) -> ToolDefinition | None:
    """Return the neutral definition of a tool; None for one that only its provider knows."""
    reader = READERS.get(native.api)
    return reader.tool(native.value) if reader else None
