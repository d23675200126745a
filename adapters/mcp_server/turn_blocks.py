"""Blocks of a history as the MCP server shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from uuid import UUID

from onrecord.adapters.mcp_server.answers import TurnBlock
from onrecord.adapters.mcp_server.passages import document_uri, event_uri, named, passage, shown_key
from onrecord.domain.content import (
    Document,
    Native,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.projections.api import neutral_of
from onrecord.projections.history.history import Block, Turn
from onrecord.projections.history.responses import Place
from onrecord.projections.history.timeline_text import Speaker, compact, document, gave

_RESULTS: Final = ("tool_result", "server_tool_result")


def shown_blocks(
    turns: Iterable[Turn], hidden: frozenset[Place]
) -> Iterator[tuple[int, Turn, Block]]:
    """Yield the blocks of turns, each with the number of its turn, without those that are hidden."""
    for number, turn in enumerate(turns, 1):
        for block in turn.blocks:
            if block.place not in hidden:
                yield number, turn, block


def turn_block(
    number: int,
    turn: Turn,
    block: Block,
    *,
    keys: Mapping[UUID, str],
    room: int,
    withholds_results: bool,
) -> TurnBlock:
    """Return a block as fields, with at most so many bytes of what it says.

    A result may name a document that was redacted: `withholds_results` leaves out what results say.
    """
    content = block.content
    plain = neutral_of(content.api, content.value) if isinstance(content, Native) else content
    kind = plain.kind
    words = "" if withholds_results and kind in _RESULTS else _words(plain)
    key = None if block.conversation is None else keys.get(block.conversation)
    return TurnBlock(
        key=shown_key(key),
        version=block.version,
        resource=event_uri(key, block.version),
        turn=number,
        role=turn.role,
        speaker=_speaker(turn, block, kind),
        kind=kind,
        tool=named(_tool(plain) or block.name),
        call_id=named(block.call_id),
        is_error=block.is_error,
        said=passage(words, room),
        document=_bytes_of(plain),
    )


def _speaker(turn: Turn, block: Block, kind: str) -> Speaker:
    if block.signal:
        return "outside"
    if kind == "server_tool_result":
        return "provider"
    if kind == "tool_result" or block.mark in ("result", "missing", "late"):
        return "tool"
    return turn.role


def _words(content: object) -> str:
    match content:
        case Text(text=text) | Reasoning(text=text):
            return text
        case ToolCall(arguments=arguments) | ServerToolCall(arguments=arguments):
            return compact(arguments)
        case ToolResult(content=parts):
            return "\n".join(
                part.text if isinstance(part, Text) else document(part) for part in parts
            )
        case ServerToolResult():
            return gave(content)
        case Document():
            return document(content)
        case _:
            return ""


def _tool(content: object) -> str | None:
    match content:
        case ToolCall(name=name) | ServerToolCall(name=name) | ServerToolResult(name=name):
            return name
        case _:
            return None


def _bytes_of(content: object) -> str | None:
    if not isinstance(content, Document) or content.blob is None:
        return None
    return document_uri(content.blob.sha256)
