"""Results of the caller's tools in Anthropic's spelling, and the documents that follow them."""

from __future__ import annotations

from typing import Any, cast

from onrecord.domain.content import Document, Native
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block
from onrecord.projections.requests.anthropic_draft import Draft, Piece, is_blank, text_block
from onrecord.projections.requests.anthropic_ids import CallIds
from onrecord.projections.requests.anthropic_references import REFERENCE
from onrecord.projections.requests.foreign import content_of
from onrecord.projections.requests.result_words import words_for_nothing
from onrecord.projections.requests.round_documents import Behind


class Results:
    """Spells the results of one request, in order."""

    def __init__(self, draft: Draft, ids: CallIds) -> None:
        """Spell into a draft, with the ids of the calls."""
        self._draft = draft
        self._ids = ids
        self._behind = self._none()

    def spell(self, block: Block) -> JsonObject:
        """Return the block of a result."""
        if block.mark == "missing":
            why = f"no result in time: {CANCELLED!r} stands in"
            self._draft.note("repaired", "R1", block.version, why)
        call_id = self._ids.of_result(block)
        if (value := self._draft.own(block)) is not None:
            return self._own(block, value, call_id)
        held = [self._part(block, part) for part in parts_of(self._draft, block)]
        result: JsonObject = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": worded(self._draft, block, held),
        }
        if block.is_error:
            result["is_error"] = True
        return result

    def following(self) -> list[Piece]:
        """Return what follows the results of the round that is spelled, and begin the next."""
        if not self._behind.parts:
            return []
        behind, self._behind = self._behind, self._none()
        return list(map(Piece, behind.parts, behind.blocks))

    def _none(self) -> Behind[JsonObject]:
        return Behind(self._draft.options.tags, text_block)

    def _part(self, block: Block, part: JsonObject) -> JsonObject:
        if part["kind"] == "text":
            return text_block(part["text"])
        draft, document = self._draft, Document.model_validate(part)
        where, spelled = draft.router.in_result(block, document, draft.spell)
        if spelled is None:
            return draft.words(block, document)
        if where == "inline":
            return spelled
        why = "a document of a result follows it: the model does not read it there"
        draft.note("moved", "document", block.version, why)
        return text_block(self._behind.add(block, document, spelled))

    def _own(self, block: Block, value: JsonObject, call_id: str) -> JsonObject:
        if value.get("tool_use_id") != call_id:
            value = {**value, "tool_use_id": call_id}
        content = value.get("content")
        if not isinstance(content, list):
            return value
        kept = self._kept(block, cast("list[Any]", content))
        if kept == content:
            return value
        return {**value, "content": kept or nothing(is_error=block.is_error)}

    def _kept(self, block: Block, content: list[Any]) -> list[Any]:
        """Return a result's blocks without blank texts (R10) and marks (R16)."""
        draft = self._draft
        kept: list[Any] = []
        for part in content:
            if not isinstance(part, dict):
                kept.append(part)
                continue
            value = cast("JsonObject", part)
            if is_blank(value):
                draft.note("left out", "R10", block.version, "blank text in a result")
            else:
                kept.append(draft.unmarked(value, block.version))
                if "tool_name" in value:
                    draft.types.add(REFERENCE)
        if not kept:
            draft.note("repaired", "R14", block.version, "a result without content")
        return kept


def parts_of(draft: Draft, block: Block) -> list[JsonObject]:
    """Return what a result holds that is not Anthropic's: texts and documents, as they are stored.

    Most are one text, and values of them would cost more than all else.
    """
    plain = block.plain
    if plain["kind"] != "native":
        content: list[JsonObject] = plain["content"]
        return content
    native = Native(api=plain["api"], value=plain["value"])
    held, note = content_of(draft.whole(native, block), block)
    draft.notes.append(note)
    return [part.model_dump() for part in held]


def worded(draft: Draft, block: Block, told: list[JsonObject]) -> list[JsonObject]:
    """Return the blocks of a result without blank text; words where nothing is left."""
    kept = [value for value in told if not is_blank(value)]
    if len(kept) < len(told):
        draft.note("left out", "R10", block.version, "blank text in a result")
    return kept or nothing(is_error=block.is_error)


def nothing(*, is_error: bool) -> list[JsonObject]:
    """Return what a result without content says."""
    return [text_block(words_for_nothing(is_error=is_error))]
