"""A request to Anthropic while it is made: messages of pieces that know where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from hansard.domain.content import Role
from hansard.domain.jsontext import JsonObject
from hansard.projections.frozen import frozen
from hansard.projections.history import Block
from hansard.projections.report import Deed, Note

API: Final = "anthropic-messages"

SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
"""Blocks that call a tool which Anthropic runs."""

THINKING: Final = frozenset({"thinking", "redacted_thinking"})
"""Blocks that are valid only behind the prefix they were made under."""


class Piece(NamedTuple):
    """A block as it will be sent, and the block of the history that it stands for."""

    value: JsonObject
    block: Block

    @property
    def type(self) -> str:
        """The block's type; empty if it has none."""
        return kind_of(self.value)


@frozen
class Message:
    """A message as it will be sent: its content, and for each block of it the history's."""

    role: Role
    content: list[JsonObject]
    blocks: Sequence[Block]

    @property
    def pieces(self) -> list[Piece]:
        """The blocks of the content, each with the history's."""
        return list(map(Piece, self.content, self.blocks))


def message_of(role: Role, pieces: Iterable[Piece]) -> Message:
    """Return the message that holds these pieces."""
    kept = list(pieces)
    return Message(role, [value for value, _ in kept], [block for _, block in kept])


@dataclass(slots=True)
class Draft:
    """The messages so far, the instructions and tools, and what was done to get there.

    `types` are the types of all blocks that were spelled, but for plain text, and words for what
    else a rule looks for: "system" for an operator's note, "blank" for blank text, "empty" for a
    message without content. A rule has nothing to do where what it looks for never occurs.
    `container` is the id of the one that code goes on in.
    """

    messages: list[Message] = field(default_factory=list[Message])
    system: str | list[JsonObject] | None = None
    tools: list[JsonObject] | None = None
    notes: list[Note] = field(default_factory=list[Note])
    types: set[str] = field(default_factory=set[str])
    container: str | None = None

    def note(self, deed: Deed, rule: str, version: int | None, why: str) -> None:
        """Add a note to the report."""
        self.notes.append(Note(deed, rule, version, why))

    def leave_out(self, rule: str, piece: Piece, why: str) -> None:
        """Add a note that a piece does not go."""
        self.note("left out", rule, piece.block.version, why)


def kind_of(value: JsonObject) -> str:
    """Return a block's type; empty if it has none, or one that is no word."""
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def text_of(value: JsonObject, member: str) -> str | None:
    """Return a member of a block, such as an id; None for one that is no text."""
    found = value.get(member)
    return found if isinstance(found, str) else None


def code_of(value: JsonObject) -> str | None:
    """Return the id of the call whose code made this one, if code did."""
    caller = value.get("caller")
    return text_of(cast("JsonObject", caller), "tool_id") if isinstance(caller, dict) else None


def is_server_result(kind: str) -> bool:
    """Whether blocks of this type are what a tool gave that Anthropic runs."""
    return kind.endswith("_tool_result")


def is_blank(value: JsonObject) -> bool:
    """Whether a block is a text that says nothing."""
    text = value.get("text")
    return isinstance(text, str) and not text.strip() and value.get("type") == "text"


def joined(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without empty ones, neighbours of one role made one (R5)."""
    kept: list[Message] = []
    for message in messages:
        if not message.content:
            continue
        if kept and kept[-1].role == message.role:
            last = kept[-1]
            content, blocks = [*last.content, *message.content], [*last.blocks, *message.blocks]
            kept[-1] = Message(message.role, content, blocks)
        else:
            kept.append(message)
    return kept
