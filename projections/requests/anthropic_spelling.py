"""Blocks of a history in Anthropic's spelling: its own as they came, all others from neutral form.

What is repaired here concerns one block: ids, marks, empty results, what cannot be told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, assert_never, cast

from hansard.domain.blobs import restore
from hansard.domain.content import Document, Native, Reasoning, Text, ToolCall, ToolResult
from hansard.domain.conversation import CANCELLED
from hansard.domain.jsontext import JsonObject
from hansard.domain.prefix import MARK
from hansard.projections.history import Block
from hansard.projections.neutral import replay_of
from hansard.projections.requests.anthropic_documents import spell_document
from hansard.projections.requests.anthropic_draft import API, Draft, is_blank, kind_of
from hansard.projections.requests.anthropic_ids import CallIds
from hansard.projections.requests.anthropic_references import REFERENCE
from hansard.projections.requests.document_tags import PREAMBLE, tag_of, words_for
from hansard.projections.requests.foreign import arguments_of, content_of, told_of, whole
from hansard.projections.requests.result_words import headline, words_for_nothing
from hansard.projections.requests.tool_names import ANTHROPIC, name_for, renamed

_BY_REFERENCE: Final = frozenset({"image", "document", "container_upload"})
_TELLING: Final = frozenset({"text", "image", "document", "search_result"})


class Speller:
    """Spells the blocks of one request, in order."""

    def __init__(self, draft: Draft, blobs: Mapping[str, bytes]) -> None:
        """Spell into a draft, with the blobs that its blocks refer to."""
        self._draft = draft
        self._blobs = blobs
        self._ids = CallIds()

    def spell(self, block: Block) -> list[JsonObject]:
        """Return the blocks that stand for a block; none where nothing of it can be told."""
        match block.mark:
            case "" | "note":
                return self._said(block)
            case "call" | "unawaited":
                return self._call(block)
            case "result" | "missing":
                return self._result(block)
            case "late":
                return self._late(block)
            case "document":
                return self._found(block)
            case _:
                assert_never(block.mark)

    def _own(self, block: Block) -> JsonObject | None:
        """Return a block of Anthropic's as it came; None for any other."""
        plain = block.plain
        if plain["kind"] != "native" or plain["api"] != API:
            return None
        value: JsonObject = plain["value"]
        if block.spilled:
            value = restore(value, self._blobs)
        return self._unmarked(value, block.version)

    def _unmarked(self, value: JsonObject, version: int) -> JsonObject:
        """Return a block without its cache mark (R16)."""
        if MARK not in value:
            return value
        self._draft.note("repaired", "R16", version, "cache marks are placed anew")
        return {key: held for key, held in value.items() if key != MARK}

    def _said(self, block: Block) -> list[JsonObject]:
        if (value := self._own(block)) is not None:
            return self._native(block, value)
        content = block.content
        match content:
            case Native():
                return self._foreign(block, content)
            case Text():
                return [_text(content.text)]
            case Document():
                return [self._document(block, content)]
            case Reasoning():
                self._leave_out("R9", block, "the reasoning is not signed by Anthropic")
                return []
            case ToolCall():
                return self._call(block)
            case ToolResult():
                return self._result(block)
            case _:
                assert_never(content)

    def _native(self, block: Block, value: JsonObject) -> list[JsonObject]:
        kind = kind_of(value)
        if kind == "fallback" and block.response is None:
            self._leave_out("R19", block, "the service refuses a fallback that it did not make")
            return []
        if kind == "tool_use":
            self._leave_out("R1", block, "a call that was not recorded as one")
            return []
        if kind == "tool_result":
            self._draft.note("moved", "R2", block.version, "a result of no call goes as text")
            return self._own_words(block, value)
        if block.response is not None and replay_of(API, value) == "record":
            self._leave_out("record", block, f"the service takes no {kind} back")
            return []
        if kind in _BY_REFERENCE and _file_id(value) is not None:
            self._note_file(block)
        return [value]

    def _foreign(self, block: Block, native: Native) -> list[JsonObject]:
        told, note = told_of(self._whole(native, block), block)
        self._draft.notes.append(note)
        return [self._part(block, part.model_dump()) for part in told]

    def _whole(self, native: Native, block: Block) -> Native:
        return whole(native, self._blobs) if block.spilled else native

    def _document(self, block: Block, document: Document) -> JsonObject:
        spelled = spell_document(document, self._blobs)
        if spelled is not None:
            return spelled
        why = f"Anthropic does not read {document.media_type}"
        self._leave_out("document", block, why)
        return _text(words_for(document))

    def _call(self, block: Block) -> list[JsonObject]:
        call_id = self._ids.of_call(block)
        if call_id != block.call_id:
            why = "the id of the call is not one that Anthropic takes"
            self._draft.note("translated", "R15", block.version, why)
        if (value := self._own(block)) is not None:
            return [value if value.get("id") == call_id else {**value, "id": call_id}]
        content = block.content
        arguments: Any = content.arguments if isinstance(content, ToolCall) else {}
        if isinstance(content, Native):
            arguments, note = arguments_of(self._whole(content, block), block)
            self._draft.notes.append(note)
        if not isinstance(arguments, dict):
            why = "the arguments of a call are an object"
            self._draft.note("translated", "R15", block.version, why)
            arguments = {"arguments": arguments}
        given = block.name or ""
        name = name_for(given, ANTHROPIC)
        if name != given:
            self._draft.note("translated", "R15", block.version, renamed(given, name))
        return [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}]

    def _result(self, block: Block) -> list[JsonObject]:
        if block.mark == "missing":
            why = f"no result in time: {CANCELLED!r} stands in"
            self._draft.note("repaired", "R1", block.version, why)
        call_id = self._ids.of_result(block)
        if (value := self._own(block)) is not None:
            return [self._own_result(block, value, call_id)]
        result: JsonObject = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": self._contents(block, is_error=block.is_error),
        }
        if block.is_error:
            result["is_error"] = True
        return [result]

    def _own_result(self, block: Block, value: JsonObject, call_id: str) -> JsonObject:
        if value.get("tool_use_id") != call_id:
            value = {**value, "tool_use_id": call_id}
        content = value.get("content")
        if not isinstance(content, list):
            return value
        kept = self._kept(block, cast("list[Any]", content))
        if kept == content:
            return value
        return {**value, "content": kept or _nothing(is_error=block.is_error)}

    def _kept(self, block: Block, content: list[Any]) -> list[Any]:
        """Return a result's blocks without blank texts (R10) and marks (R16)."""
        kept: list[Any] = []
        for part in content:
            if not isinstance(part, dict):
                kept.append(part)
                continue
            value = cast("JsonObject", part)
            if is_blank(value):
                self._leave_out("R10", block, "blank text in a result")
            else:
                kept.append(self._unmarked(value, block.version))
                if "tool_name" in value:
                    self._draft.types.add(REFERENCE)
        if not kept:
            self._draft.note("repaired", "R14", block.version, "a result without content")
        return kept

    def _contents(self, block: Block, *, is_error: bool) -> list[JsonObject]:
        """Return the blocks of a result that is not Anthropic's."""
        told = [self._part(block, part) for part in self._parts(block)]
        kept = [value for value in told if not is_blank(value)]
        if len(kept) < len(told):
            self._leave_out("R10", block, "blank text in a result")
        return kept or _nothing(is_error=is_error)

    def _parts(self, block: Block) -> list[JsonObject]:
        plain = block.plain
        if plain["kind"] != "native":
            parts: list[JsonObject] = plain["content"]
            return parts
        native = Native(api=plain["api"], value=plain["value"])
        held, note = content_of(self._whole(native, block), block)
        self._draft.notes.append(note)
        return [part.model_dump() for part in held]

    def _part(self, block: Block, part: JsonObject) -> JsonObject:
        if part["kind"] == "text":
            return _text(part["text"])
        return self._document(block, Document.model_validate(part))

    def _late(self, block: Block) -> list[JsonObject]:
        """Return a result that came too late as the user's words."""
        value = self._own(block)
        if block.cancelled:
            self._leave_out("late", block, "the call was given up, and was answered so before")
            return []
        self._draft.note("moved", "late", block.version, "a result came late: it goes as text")
        if value is None:
            told = self._contents(block, is_error=block.is_error)
        else:
            told = self._own_words(block, value)
        return [_text(headline(block)), *told]

    def _own_words(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return those blocks of a result that a user's message may hold as well."""
        content = value.get("content")
        if isinstance(content, str):
            content = [_text(content)]
        parts = cast("list[Any]", content) if isinstance(content, list) else []
        told = [
            self._unmarked(value, block.version)
            for part in parts
            if isinstance(part, dict)
            and kind_of(value := cast("JsonObject", part)) in _TELLING
            and not is_blank(value)
        ]
        if len(told) < len(parts):
            self._leave_out("late", block, "parts of the result that only a result may hold")
        return told or _nothing(is_error=block.is_error)

    def _found(self, block: Block) -> list[JsonObject]:
        if not isinstance(block.content, Document):
            return []
        tag = tag_of(block, block.content)
        told = f"{PREAMBLE}\n{tag}" if block.call_id else tag
        return [_text(told), self._document(block, block.content)]

    def _note_file(self, block: Block) -> None:
        why = "refers to a file that the provider keeps: it may be gone"
        self._draft.note("noted", "R23", block.version, why)

    def _leave_out(self, rule: str, block: Block, why: str) -> None:
        self._draft.note("left out", rule, block.version, why)


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _nothing(*, is_error: bool) -> list[JsonObject]:
    return [_text(words_for_nothing(is_error=is_error))]


def _file_id(value: JsonObject) -> str | None:
    source = value.get("source")
    held = cast("JsonObject", source) if isinstance(source, dict) else value
    file_id = held.get("file_id")
    return file_id if isinstance(file_id, str) else None
