"""A request to Anthropic while it is made: messages of pieces that know where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from onrecord.domain.blobs import restore
from onrecord.domain.content import Document, Native, Role
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import MARK
from onrecord.projections.frozen import frozen
from onrecord.projections.history import Block
from onrecord.projections.report import Deed, Note
from onrecord.projections.requests.anthropic_documents import spell_document
from onrecord.projections.requests.document_tags import words_for
from onrecord.projections.requests.foreign import whole
from onrecord.projections.requests.request import Options
from onrecord.projections.requests.routing import Router

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
    `container` is the id of the one that code goes on in. `router` decides for documents, `blobs`
    has the bytes that blocks refer to, by digest.
    """

    options: Options
    router: Router
    blobs: Mapping[str, bytes]
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

    def own(self, block: Block) -> JsonObject | None:
        """Return a block of Anthropic's as it came, but for its mark; None for any other."""
        plain = block.plain
        if plain["kind"] != "native" or plain["api"] != API:
            return None
        value: JsonObject = plain["value"]
        return self.unmarked(restore(value, self.blobs) if block.spilled else value, block.version)

    def unmarked(self, value: JsonObject, version: int) -> JsonObject:
        """Return a block without its cache mark (R16)."""
        if MARK not in value:
            return value
        self.note("repaired", "R16", version, "cache marks are placed anew")
        return {key: held for key, held in value.items() if key != MARK}

    def whole(self, native: Native, block: Block) -> Native:
        """Return a block of another API with the strings that were moved to blobs."""
        return whole(native, self.blobs) if block.spilled else native

    def document(self, block: Block, document: Document) -> JsonObject:
        """Return a document as a message has it, or the words in its place."""
        spelled = self.router.in_message(block, document, self.spell)
        return self.words(block, document) if spelled is None else spelled

    def spell(self, document: Document) -> JsonObject | None:
        """Return the block of a document; None where Anthropic reads no such thing."""
        return spell_document(document, self.blobs)

    def words(self, block: Block, document: Document) -> JsonObject:
        """Return the words in place of a document that was last decided on, with a note on why."""
        why = f"the document ({document.media_type}) {self.router.routes[-1].why}"
        self.note("left out", "document", block.version, why)
        return text_block(words_for(document))


def text_block(text: str) -> JsonObject:
    """Return a block of text."""
    return {"type": "text", "text": text}


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
