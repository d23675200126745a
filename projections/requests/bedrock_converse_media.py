"""Files in a request to Bedrock: where the model reads them, under which names, or in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onrecord.domain.content import Document, Text
from onrecord.domain.documents import Modality
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block
from onrecord.projections.neutral_bedrock import held, kind_of
from onrecord.projections.neutral_bedrock_documents import document
from onrecord.projections.report import Where
from onrecord.projections.requests.bedrock_converse_documents import (
    Names,
    is_in_s3,
    kind_read_as,
    spell_document,
)
from onrecord.projections.requests.bedrock_converse_draft import Draft
from onrecord.projections.requests.document_bytes import told_in
from onrecord.projections.requests.document_tags import words_for

Reads = Callable[[Modality], bool]
Spelled = Callable[[], JsonObject | None]


class Media:
    """Spells the files of one request, in order."""

    def __init__(self, draft: Draft) -> None:
        """Spell into a draft."""
        self._draft = draft
        self._names = Names()

    def own(self, block: Block, value: JsonObject) -> JsonObject:
        """Return a block of this API as the user's; words where the model does not read it."""
        file = document(value)
        if isinstance(file, Document):
            return self._of_user(block, file, lambda: value)
        return self._whole(block, value, self._draft.router.reads)

    def said(self, block: Block, file: Document) -> JsonObject:
        """Return a document as the user's; words where the model does not read it."""
        return self._of_user(block, file, self._spell(file), file.name)

    def own_in_result(self, block: Block, value: JsonObject) -> tuple[Where, JsonObject]:
        """Return a block of this API as a part of a result, or as what follows it."""
        file = document(value)
        if isinstance(file, Document):
            return self._of_result(block, file, lambda: value)
        return "inline", self._whole(block, value, self._draft.router.reads_in_results)

    def in_result(self, block: Block, file: Document) -> tuple[Where, JsonObject]:
        """Return a document as a part of a result, or as what follows it; or words."""
        return self._of_result(block, file, self._spell(file), file.name)

    def _spell(self, file: Document) -> Spelled:
        # Only what goes is spelled: the bytes of all else were not read.
        return lambda: spell_document(file, self._draft.blobs)

    def _of_user(
        self, block: Block, file: Document, spell: Spelled, name: str | None = None
    ) -> JsonObject:
        spelled = self._draft.router.in_message(block, file, lambda _: self._by_user(file, spell()))
        return (
            self._named(block, spelled, name) if spelled is not None else self._words(block, file)
        )

    def _of_result(
        self, block: Block, file: Document, spell: Spelled, name: str | None = None
    ) -> tuple[Where, JsonObject]:
        where, spelled = self._draft.router.in_result(
            block,
            file,
            lambda _: self._by_tool(file, spell()),
            lambda _: self._by_user(file, spell()),
        )
        if spelled is None:
            return where, self._words(block, file)
        return where, self._named(block, spelled, name)

    def _by_user(self, file: Document, value: JsonObject | None) -> JsonObject | None:
        """Return the block of a file as a message may hold it; None where none does."""
        model = self._draft.model
        if value is None or (is_in_s3(value, kind_of(value)) and not model.may_read_s3):
            return None
        return self._fit(file, value, self._draft.router.reads)

    def _by_tool(self, file: Document, value: JsonObject | None) -> JsonObject | None:
        """Return the block of a file as a result may hold it; None where none does."""
        if value is None or (is_in_s3(value, kind_of(value)) and self._draft.model.vendor):
            return None
        return self._fit(file, value, self._draft.router.reads_in_results)

    def _fit(self, file: Document, value: JsonObject, reads: Reads) -> JsonObject | None:
        """Return the block of a file; of a text, where no files are read, a block of text."""
        if kind_of(value) != "document" or reads("document"):
            return value
        text = told_in(file, self._draft.blobs)
        return None if text is None else {"text": text}

    def _whole(self, block: Block, value: JsonObject, reads: Reads) -> JsonObject:
        """Return a block that holds no file of its own, if the model reads its kind; or words."""
        kind = kind_of(value)
        modality = kind_read_as(kind)
        is_read = self._draft.model.reads_pages if modality is None else reads(modality)
        return self._named(block, value) if is_read else self._told(block, value)

    def _told(self, block: Block, value: JsonObject) -> JsonObject:
        """Return the text of a block that the model does not read, or words in its place."""
        part, kind = document(value), kind_of(value)
        if isinstance(part, Text) and part.text.strip():
            why = f"the model reads no {kind}: it goes as text"
            self._draft.note("translated", "B8", block.version, why)
            return {"text": part.text}
        self._draft.leave_out("document", block, f"the model does not read a {kind}")
        return {"text": f"[A part of kind {kind} cannot be shown here.]"}

    def _words(self, block: Block, file: Document) -> JsonObject:
        """Return the words in place of a document that was last decided on."""
        why = f"the document ({file.media_type}) {self._draft.router.routes[-1].why}"
        self._draft.leave_out("document", block, why)
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
