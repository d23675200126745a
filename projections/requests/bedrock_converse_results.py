"""Results of tools in the spelling of Bedrock's Converse API, and the files that follow them."""

from __future__ import annotations

from typing import Any, Final

from onrecord.domain.content import Document, Text, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block
from onrecord.projections.native_members import objects
from onrecord.projections.neutral_bedrock import held, kind_of, neutral
from onrecord.projections.neutral_bedrock_documents import Part, document
from onrecord.projections.report import Where
from onrecord.projections.requests.bedrock_converse_documents import MEDIA
from onrecord.projections.requests.bedrock_converse_draft import Draft
from onrecord.projections.requests.bedrock_converse_media import Media
from onrecord.projections.requests.foreign import content_of
from onrecord.projections.requests.result_words import FAILURE, words_for_nothing
from onrecord.projections.requests.round_documents import Behind

_FILES: Final = MEDIA | {"searchResult"}


class Results:
    """Spells the results of one request, in order."""

    def __init__(self, draft: Draft, media: Media) -> None:
        """Spell into a draft."""
        self._draft = draft
        self._media = media
        self._behind = self._none()

    def spell(self, block: Block) -> JsonObject:
        """Return a result."""
        if block.mark == "missing":
            why = f"no result in time: {CANCELLED!r} stands in"
            self._draft.note("repaired", "B1", block.version, why)
        told: JsonObject = {"toolUseId": self._draft.ids.of_result(block)}
        if (own := self._draft.own(block)) is not None:
            told = {**held(own), **told}
            given = held(own).get("content")
            content = [part for each in objects(given) for part in self._kept(block, each)]
            is_bare = given == []
        else:
            content = [part for each in self.parts_of(block) for part in self._part(block, each)]
            is_bare = False
        if not content and not is_bare:
            content = [{"text": words_for_nothing(is_error=block.is_error)}]
        return {"toolResult": self._ended(block, {**told, "content": content})}

    def following(self) -> list[tuple[Block, JsonObject]]:
        """Return what follows the results of the round that is spelled, and begin the next."""
        behind, self._behind = self._behind, self._none()
        return list(zip(behind.blocks, behind.parts, strict=True))

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

    def _none(self) -> Behind[JsonObject]:
        return Behind(self._draft.options.tags, _text)

    def _kept(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return a part of a result of this API."""
        text: Any = value.get("text")
        if isinstance(text, str) and not text.strip():
            self._draft.leave_out("B4", block, "blank text in a result")
            return []
        if kind_of(value) not in _FILES:
            return [value]
        where, spelled = self._media.own_in_result(block, value)
        return [self._placed(block, document(value), where, spelled)]

    def _part(self, block: Block, part: Text | Document) -> list[JsonObject]:
        """Return a part of a result that another API or the caller spelled."""
        if isinstance(part, Text):
            return self._kept(block, _text(part.text))
        where, spelled = self._media.in_result(block, part)
        return [self._placed(block, part, where, spelled)]

    def _placed(
        self, block: Block, file: Part | None, where: Where, spelled: JsonObject
    ) -> JsonObject:
        """Return a file of a result, or the tag of one that follows it."""
        if where != "behind" or not isinstance(file, Document):
            self._draft.kinds.add(kind_of(spelled))
            return spelled
        why = "a file of a result follows it: the model does not read it there"
        self._draft.note("moved", "B8", block.version, why)
        return _text(self._behind.add(block, file, spelled))


def _text(text: str) -> JsonObject:
    return {"text": text}


def _part(plain: JsonObject) -> Part:
    if plain["kind"] == "text":
        return Text.model_construct(**plain)
    return Document.model_validate(plain)
