"""A request to OpenAI's Responses API while it is made: items that know where they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from onrecord.domain.content import Document
from onrecord.domain.documents import Modality, modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block
from onrecord.projections.report import Deed, Note
from onrecord.projections.requests.document_bytes import told_in
from onrecord.projections.requests.document_tags import words_for
from onrecord.projections.requests.foreign import goes_on
from onrecord.projections.requests.openai_responses_documents import spell_document
from onrecord.projections.requests.openai_responses_items import kind_of
from onrecord.projections.requests.request import Options
from onrecord.projections.requests.routing import Router


class Piece(NamedTuple):
    """An item as it will be sent, the block of the history that it stands for, and its type.

    `item` is the one that words stand for: the pictures that it holds come behind them.
    """

    value: JsonObject
    block: Block
    kind: str = "message"
    item: JsonObject | None = None


def text_part(text: str) -> JsonObject:
    """Return a text as a part of a message."""
    return {"type": "input_text", "text": text}


def piece_of(value: JsonObject, block: Block) -> Piece:
    """Return an item with its type."""
    return Piece(value, block, kind_of(value))


@dataclass(slots=True)
class Draft:
    """The items so far, and what was done to get there.

    `types` are the types of the items that were spelled, but for plain messages: a rule has nothing
    to do where what it looks for never occurs. `broken` are the responses of which an item does not
    go as it came, and why: their reasoning cannot go either. `has_unfit_ids` says that an item has an
    id that OpenAI did not give it. `router` decides for documents, `blobs` has the bytes that blocks
    refer to, by digest.
    """

    options: Options
    router: Router
    blobs: Mapping[str, bytes]
    pieces: list[Piece] = field(default_factory=list[Piece])
    notes: list[Note] = field(default_factory=list[Note])
    types: set[Any] = field(default_factory=set[Any])
    broken: dict[str, str] = field(default_factory=dict[str, str])
    has_unfit_ids: bool = False

    def add(self, value: JsonObject, block: Block) -> None:
        """Add an item."""
        piece = piece_of(value, block)
        self.types.add(piece.kind)
        self.pieces.append(piece)

    def say(self, text: str, block: Block) -> None:
        """Add a text of the assistant's that this API did not make; pieces of one are joined."""
        if self.pieces and goes_on((last := self.pieces[-1]).block, block):
            text = f"{last.value['content']}{text}"
            self.pieces.pop()
        self.pieces.append(Piece({"role": "assistant", "content": text}, block))
        self.types.add("message")

    def note(self, deed: Deed, rule: str, version: int | None, why: str) -> None:
        """Add a note to the report."""
        self.notes.append(Note(deed, rule, version, why))

    def spell(self, document: Document) -> JsonObject | None:
        """Return a document as a part of a message; None where the service reads no such thing."""
        return self._part(document, self.router.reads)

    def spell_in_output(self, document: Document) -> JsonObject | None:
        """Return a document as a part of a function's output; None where that cannot hold it."""
        return self._part(document, self.router.reads_in_results)

    def _part(self, document: Document, reads: Callable[[Modality], bool]) -> JsonObject | None:
        """Return the part of a document; of a text, where no files are read, a text."""
        if modality_of(document.media_type) != "text" or reads("document"):
            return spell_document(document, self.blobs)
        text = told_in(document, self.blobs)
        return None if text is None else text_part(text)

    def words(self, block: Block, document: Document) -> str:
        """Return the words in place of a document that was last decided on, with a note on why."""
        why = f"the document ({document.media_type}) {self.router.routes[-1].why}"
        self.note("left out", "document", block.version, why)
        return words_for(document)

    def break_up(self, block: Block, why: str) -> None:
        """Note that an item of a response does not go as it came."""
        if block.response is not None:
            self.broken.setdefault(block.response, why)
