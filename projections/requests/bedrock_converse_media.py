"""Files in a request to Bedrock: where the model reads them, under which names, or in which words."""

from __future__ import annotations

from typing import Any

from hansard.domain.content import Document, Text
from hansard.domain.documents import modality_of
from hansard.domain.jsontext import JsonObject
from hansard.projections.history import Block
from hansard.projections.neutral_bedrock import held, kind_of
from hansard.projections.neutral_bedrock_documents import document
from hansard.projections.requests.bedrock_converse_documents import (
    Names,
    is_in_s3,
    spell_document,
)
from hansard.projections.requests.bedrock_converse_draft import Draft
from hansard.projections.requests.document_bytes import bytes_of, is_remote, text_of
from hansard.projections.requests.document_tags import words_for


class Media:
    """Spells the files of one request, in order."""

    def __init__(self, draft: Draft) -> None:
        """Spell into a draft."""
        self._draft = draft
        self._names = Names()

    def own(self, block: Block, value: JsonObject) -> JsonObject:
        """Return a block of this API as the user's; words where the model does not read it."""
        if self.reads(value):
            return self._named(block, value)
        return self.in_words(block, value)

    def said(self, block: Block, file: Document) -> JsonObject:
        """Return a document as the user's; words where the model does not read it."""
        value = spell_document(file, self._draft.blobs)
        if value is not None and self.reads(value):
            return self._named(block, value, file.name)
        return self._told(block, file)

    def in_result(
        self, block: Block, value: JsonObject, file: Document | None = None
    ) -> JsonObject | None:
        """Return a block as a part of a result; None where the model does not read it there.

        `file` is the document that it was made of, if it was.
        """
        model, kind = self._draft.model, kind_of(value)
        if kind not in model.reads_in_results or (model.vendor and is_in_s3(value, kind)):
            return None
        return self._named(block, value, file.name if file else None)

    def reads(self, value: JsonObject) -> bool:
        """Whether the model reads a block as the user's."""
        model, kind = self._draft.model, kind_of(value)
        is_there = model.reads_s3 or not model.vendor or not is_in_s3(value, kind)
        return is_there and kind in model.reads

    def in_words(self, block: Block, value: JsonObject) -> JsonObject:
        """Return the words for a block that the model does not read."""
        part = document(value)
        if isinstance(part, Document):
            return self._told(block, part)
        kind = kind_of(value)
        if isinstance(part, Text) and part.text.strip():
            why = f"the model reads no {kind}: it goes as text"
            self._draft.note("translated", "B8", block.version, why)
            return {"text": part.text}
        self._draft.leave_out("document", block, f"the model does not read a {kind}")
        return {"text": f"[A part of kind {kind} cannot be shown here.]"}

    def _told(self, block: Block, file: Document) -> JsonObject:
        """Return the text that a document holds, or words in its place."""
        if modality_of(file.media_type) == "text" and not is_remote(file):
            text = text_of(bytes_of(file, self._draft.blobs))
            if text is not None:
                return {"text": f"{file.name}\n{text}" if file.name else text}
        self._draft.leave_out("document", block, f"the model does not read {file.media_type}")
        return {"text": words_for(file)}

    def _named(self, block: Block, value: JsonObject, given: str | None = None) -> JsonObject:
        """Return the block of a file under a name that no other has (B7), if not as `given`."""
        if kind_of(value) != "document":
            return value
        told = held(value)
        before: Any = told.get("name")
        name = self._names.of(before)
        if name != (given or before):
            why = f"the document goes under the name {name!r}"
            self._draft.note("translated", "B7", block.version, why)
        return value if name == before else {"document": {**told, "name": name}}
