"""Results of tools in the spelling of Bedrock's Converse API, and the files that follow them."""

from __future__ import annotations

from typing import Any, Final

from hansard.domain.content import Document, Text, ToolResult
from hansard.domain.conversation import CANCELLED
from hansard.domain.jsontext import JsonObject
from hansard.projections.history import Block
from hansard.projections.native_members import objects
from hansard.projections.neutral_bedrock import held, kind_of, neutral
from hansard.projections.neutral_bedrock_documents import Part, document
from hansard.projections.requests.bedrock_converse_documents import MEDIA, spell_document
from hansard.projections.requests.bedrock_converse_draft import Draft
from hansard.projections.requests.bedrock_converse_media import Media
from hansard.projections.requests.document_tags import PREAMBLE, tag_of
from hansard.projections.requests.foreign import content_of
from hansard.projections.requests.result_words import FAILURE, words_for_nothing

_FILES: Final = MEDIA | {"searchResult"}


class Results:
    """Spells the results of one request, in order."""

    def __init__(self, draft: Draft, media: Media) -> None:
        """Spell into a draft."""
        self._draft = draft
        self._media = media

    def spell(self, block: Block) -> tuple[JsonObject, list[JsonObject]]:
        """Return a result, and what follows the results of its round."""
        if block.mark == "missing":
            why = f"no result in time: {CANCELLED!r} stands in"
            self._draft.note("repaired", "B1", block.version, why)
        following: list[JsonObject] = []
        told: JsonObject = {"toolUseId": self._draft.ids.of_result(block)}
        if (own := self._draft.own(block)) is not None:
            told = {**held(own), **told}
            given = held(own).get("content")
            content = [
                part for each in objects(given) for part in self._kept(block, each, following)
            ]
            is_bare = given == []
        else:
            parts = self.parts_of(block)
            content = [part for each in parts for part in self._part(block, each, following)]
            is_bare = False
        if not content and not is_bare:
            content = [{"text": words_for_nothing(is_error=block.is_error)}]
        return {"toolResult": self._ended(block, {**told, "content": content})}, following

    def parts_of(self, block: Block) -> tuple[Part, ...]:
        """Return what a result holds, whichever API it is of."""
        if (value := self._draft.own(block)) is not None:
            result = neutral(value)
            return result.content if isinstance(result, ToolResult) else ()
        if (native := self._draft.foreign(block)) is not None:
            content, note = content_of(native, block)
            self._draft.notes.append(note)
            return content
        plain = block.plain
        if plain["kind"] != "tool_result":
            return ()
        return tuple(map(_part, plain["content"]))

    def _ended(self, block: Block, told: JsonObject) -> JsonObject:
        """Return a result that says whether it failed, as the model takes it (B12)."""
        model = self._draft.model
        if model.reads_status:
            return {**told, "status": "error"} if block.is_error else told
        if "status" in told and not model.takes_status:
            self._draft.leave_out("B12", block, "the model takes no status of a result")
            told = {name: value for name, value in told.items() if name != "status"}
        if block.is_error and block.mark != "missing":
            return {**told, "content": [{"text": FAILURE}, *told["content"]]}
        return told

    def _kept(
        self, block: Block, value: JsonObject, following: list[JsonObject]
    ) -> list[JsonObject]:
        """Return a part of a result of this API."""
        text: Any = value.get("text")
        if isinstance(text, str) and not text.strip():
            self._draft.leave_out("B4", block, "blank text in a result")
            return []
        return [self._file(block, value, following) if kind_of(value) in _FILES else value]

    def _part(
        self, block: Block, part: Text | Document, following: list[JsonObject]
    ) -> list[JsonObject]:
        """Return a part of a result that another API or the caller spelled."""
        if isinstance(part, Text):
            return self._kept(block, {"text": part.text}, following)
        value = spell_document(part, self._draft.blobs)
        if value is None:
            return [self._media.said(block, part)]
        return [self._file(block, value, following, part)]

    def _file(
        self,
        block: Block,
        value: JsonObject,
        following: list[JsonObject],
        part: Document | None = None,
    ) -> JsonObject:
        """Return a file of a result: there, behind a tag among what follows it, or in words."""
        if (told := self._media.in_result(block, value, part)) is not None:
            self._draft.kinds.add(kind_of(told))
            return told
        found = part or document(value)
        if not isinstance(found, Document) or not self._media.reads(value):
            return self._media.in_words(block, value)
        why = "a file of a result follows it: the model does not read it there"
        self._draft.note("moved", "B8", block.version, why)
        tag = tag_of(block, found)
        words = tag if following else f"{PREAMBLE}\n{tag}"
        following += [{"text": words}, self._media.own(block, value)]
        return {"text": tag}


def _part(plain: JsonObject) -> Part:
    if plain["kind"] == "text":
        return Text.model_construct(**plain)
    return Document.model_validate(plain)
