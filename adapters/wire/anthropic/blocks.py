"""A block of an Anthropic stream while it arrives: what it began as, and its deltas since.

Text, thinking and the JSON of an input are joined; a signature replaces; a citation is one more; a
compaction's members are set. All other blocks arrive whole in their start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, Final, NamedTuple, cast

from onrecord.adapters.wire.answer import named
from onrecord.adapters.wire.stream_reader import in_whole_characters
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject, read_bounded


class _Joined(NamedTuple):
    """A delta whose pieces are joined: where a piece is, where it belongs, in which blocks."""

    piece: str
    member: str
    types: frozenset[str]


_JOINED: Final[Mapping[str, _Joined]] = {
    "text_delta": _Joined("text", "text", frozenset({"text"})),
    "thinking_delta": _Joined("thinking", "thinking", frozenset({"thinking"})),
    "input_json_delta": _Joined(
        "partial_json", "input", frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
    ),
}


class OpenAnthropicBlock:
    """A block that has begun and not yet stopped."""

    __slots__ = ("_joined", "_member", "_value")

    def __init__(self, start: JsonObject) -> None:
        """Begin with the block of its start event."""
        self._value = dict(start)
        self._member: str | None = None
        # A list of pieces and what they are joined to would be in memory twice.
        self._joined = StringIO()

    def is_untouched(self, start: JsonObject) -> bool:
        """Whether the block began as this and nothing came since."""
        return self._value == start and self._member is None

    def add(self, delta: JsonObject) -> str | None:
        """Take a delta in; return why it could not be, and then the block stays as it was."""
        kind = delta.get("type")
        match kind:
            case str() if kind in _JOINED:
                fits = self._join(_JOINED[kind], delta)
            case str() if kind in _MERGED:
                fits = _MERGED[kind](self._value, delta)
            case _:
                return f"a delta of unknown type {named(kind)}"
        return None if fits else f"a {kind} that does not fit its block"

    def _join(self, joined: _Joined, delta: JsonObject) -> bool:
        piece = delta.get(joined.piece)
        fits = joined.member in self._value or self._value.get("type") in joined.types
        same = self._member in (None, joined.member)
        if not (isinstance(piece, str) and fits and same):
            return False
        self._member = joined.member
        self._joined.write(piece)
        return True

    def stop(self) -> JsonObject:
        """Return the whole block; MalformedJson where its input is not JSON that can be kept."""
        text = in_whole_characters(self._joined.getvalue())
        match self._member:
            case None:
                return self._value
            case "input":
                return {**self._value, "input": read_bounded(text)} if text else self._value
            case member:
                begun = self._value.get(member)
                whole = begun + text if isinstance(begun, str) else text
                return {**self._value, member: whole}

    @property
    def replaces_input(self) -> bool:
        """Whether an input came in pieces, and another one before them."""
        return (
            self._member == "input" and self._joined.tell() > 0 and bool(self._value.get("input"))
        )

    def unfinished(self, index: int) -> Unfinished:
        """Return what is known of a block that did not arrive whole."""
        partial = in_whole_characters(self._joined.getvalue())
        return Unfinished(index=index, value=self._value, partial=partial)


def _sign(block: JsonObject, delta: JsonObject) -> bool:
    if block.get("type") != "thinking" or "signature" not in delta:
        return False
    block["signature"] = delta["signature"]
    return True


def _cite(block: JsonObject, delta: JsonObject) -> bool:
    cited: Any = block.get("citations") or []
    if block.get("type") != "text" or "citation" not in delta or not isinstance(cited, list):
        return False
    block["citations"] = [*cast("list[Any]", cited), delta["citation"]]
    return True


def _compact(block: JsonObject, delta: JsonObject) -> bool:
    if block.get("type") != "compaction":
        return False
    block.update({key: value for key, value in delta.items() if key != "type"})
    return True


_MERGED: Final[Mapping[str, Callable[[JsonObject, JsonObject], bool]]] = {
    "signature_delta": _sign,
    "citations_delta": _cite,
    "compaction_delta": _compact,
}

MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    **{kind: frozenset({"type", joined.piece}) for kind, joined in _JOINED.items()},
    # A count that grows, of what the usage has at the end (anthropic, `BetaThinkingDelta`).
    "thinking_delta": frozenset({"type", "thinking", "estimated_tokens"}),
    "signature_delta": frozenset({"type", "signature"}),
    "citations_delta": frozenset({"type", "citation"}),
}
"""What deltas hold, by their type; a compaction's may hold anything."""
