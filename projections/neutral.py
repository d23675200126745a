"""What another API's JSON says: blocks, instructions and tools in neutral form, a reader an API."""

from __future__ import annotations

from typing import Any

from onrecord.domain.content import Block, Document, Native, Opaque, ServerToolResult, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis import Reader, Replay, api_of


def neutral_of(api: str, value: JsonObject) -> Block:
    """Return an API's block in neutral form; Opaque where that says nothing to other APIs.

    A block of an API that has no reader is opaque.
    """
    reader = _reader(api)
    if reader is not None:
        return reader.block(value)
    kind: Any = value.get("type")
    return Opaque(api=api, type=kind if isinstance(kind, str) else "")


def outcome_of(api: str, value: JsonObject) -> ServerToolResult | None:
    """Return what a provider's own tool gave, if the block of its call holds that as well."""
    reader = _reader(api)
    return reader.outcome(value) if reader and reader.outcome else None


def replay_of(api: str, value: JsonObject) -> Replay:
    """Return how a block of an answer goes back to the API that gave it; most go verbatim."""
    reader = _reader(api)
    return reader.replay(value) if reader and reader.replay else "verbatim"


def parts_of(api: str, value: JsonObject) -> tuple[Text | Document, ...]:
    """Return what a message of the user's holds, none for a block that is no such message."""
    reader = _reader(api)
    return reader.parts(value) if reader and reader.parts else ()


def instructions_of(native: Native) -> str:
    """Return the text of an API's instructions; empty where nothing of them can be told."""
    reader = _reader(native.api)
    return reader.instructions(native.value) if reader else ""


def tool_of(native: Native) -> ToolDefinition | None:
    """Return the neutral definition of a tool; None for one that only its provider knows."""
    reader = _reader(native.api)
    return reader.tool(native.value) if reader else None


def says_it_failed(api: str, value: JsonObject) -> bool:
    """Return whether a result of an API says by itself that it failed; its strings may be in blobs."""
    reader = _reader(api)
    return bool(reader and reader.failed and reader.failed(value))


def _reader(api: str) -> Reader | None:
    found = api_of(api)
    return found.reader if found else None
