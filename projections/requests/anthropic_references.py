"""References to tools in a request to Anthropic: what a search found, and is among the tools (R14).

"Tool reference '...' has no corresponding tool definition"; `tool_reference_unresolved` among the
SDK's error codes. A tool is defined in `tools`, or amid the conversation by an addition that holds
its definition (beta, "mid-conversation tool changes"). The tools of an MCP server are known to the
service alone, so nothing is said of references where one is connected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from onrecord.domain.content import ServerToolCall, ServerToolResult
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.neutral import neutral_of
from onrecord.projections.requests.activity_words import words_of
from onrecord.projections.requests.anthropic_draft import API, Draft, Piece, kind_of, message_of
from onrecord.projections.requests.result_words import words_for_nothing

REFERENCE: Final = "tool_reference"
SEARCH_RESULT: Final = "tool_search_tool_result"


def mend_references(draft: Draft) -> None:
    """Leave out references to tools that are not defined before them.

    A result of the caller's that then holds nothing says so. A search of the service's own goes
    as words then, its call too: a result without references is refused.
    """
    if any(tool.get("type") == "mcp_toolset" for tool in draft.tools or ()):
        return
    mended = _Mended(draft)
    draft.messages = [
        message_of(message.role, map(mended.piece, message.pieces)) for message in draft.messages
    ]
    draft.messages = [
        message_of(message.role, map(mended.as_words, message.pieces)) for message in draft.messages
    ]


class _Mended:
    """The tools that are defined so far, and the searches that found none of them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        names: Iterable[Any] = (tool.get("name") for tool in draft.tools or ())
        self._defined = {name for name in names if isinstance(name, str)}
        self._barren: set[str] = set()

    def piece(self, piece: Piece) -> Piece:
        """Return a piece without references to unknown tools; call it for each in order."""
        match piece.value:
            case {"type": "tool_addition", "tool": {"name": str(name)} as tool}:
                self._defined |= set() if kind_of(tool) == REFERENCE else {name}
                return piece
            case {"type": "tool_result", "content": [*parts]}:
                return self._result(piece, parts)
            case {
                "type": "tool_search_tool_result",
                "tool_use_id": str(call_id),
                "content": {"tool_references": [*found]} as content,
            }:
                return self._search(piece, call_id, content, found)
            case _:
                return piece

    def as_words(self, piece: Piece) -> Piece:
        """Return a piece, or words for it if it is half of a search that found nothing."""
        link = piece.value.get("tool_use_id" if piece.type == SEARCH_RESULT else "id")
        if not (isinstance(link, str) and link in self._barren):
            return piece
        neutral = neutral_of(API, piece.value)
        if not isinstance(neutral, ServerToolCall | ServerToolResult):
            return piece
        why = "a search for tools that are gone goes as words"
        self._draft.note("translated", "R14", piece.block.version, why)
        return Piece({"type": "text", "text": words_of(neutral)}, piece.block)

    def _result(self, piece: Piece, parts: list[Any]) -> Piece:
        kept = list(self._kept(piece, parts))
        if len(kept) == len(parts):
            return piece
        said = words_for_nothing(is_error=piece.value.get("is_error") is True)
        told = kept or [{"type": "text", "text": said}]
        return Piece({**piece.value, "content": told}, piece.block)

    def _search(self, piece: Piece, call_id: str, content: JsonObject, found: list[Any]) -> Piece:
        kept = list(self._kept(piece, found))
        if len(kept) == len(found):
            return piece
        if not kept:
            self._barren.add(call_id)
            return piece
        return Piece({**piece.value, "content": {**content, "tool_references": kept}}, piece.block)

    def _kept(self, piece: Piece, parts: Iterable[Any]) -> Iterator[Any]:
        for part in parts:
            name = _referred(part)
            if name is None or name in self._defined:
                yield part
            else:
                self._draft.leave_out("R14", piece, f"{name} is not among the tools any more")


def _referred(part: Any) -> str | None:
    """Return the name of the tool that a part refers to; None for any other part."""
    if not isinstance(part, dict):
        return None
    value = cast("JsonObject", part)
    name = value.get("tool_name")
    return name if kind_of(value) == REFERENCE and isinstance(name, str) else None
