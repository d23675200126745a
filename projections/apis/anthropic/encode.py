"""Blocks of a history as Anthropic has them: its own as they came, others from neutral form.

What is repaired here concerns one block: ids, marks, empty results, what cannot be told.
"""

from __future__ import annotations

import re
from typing import Any, Final, assert_never, cast

from onrecord.domain.content import Document, Native, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import replay_of
from onrecord.projections.apis.answers import headline, words_for_nothing
from onrecord.projections.apis.anthropic.draft import (
    API,
    AnthropicDraft,
    Message,
    is_blank,
    kind_of,
    text_block,
)
from onrecord.projections.apis.anthropic.pairing import REFERENCE
from onrecord.projections.apis.documents import Behind, texts_before
from onrecord.projections.apis.draft import CallIds, IdForm
from onrecord.projections.apis.foreign import Part, told_of, whole
from onrecord.projections.history.history import Block, Turn
from onrecord.projections.members import list_of

# Results of the caller's tools, and the documents that follow them.


class Results:
    """Encodes the results of one request, in order."""

    def __init__(self, draft: AnthropicDraft, call_ids: CallIds) -> None:
        """Encode into a draft, with the ids of the calls."""
        self._draft = draft
        self._ids = call_ids
        self._behind = self._none()

    def encode(self, block: Block) -> JsonObject:
        """Return the block of a result."""
        self._draft.note_missing(block)
        call_id = self._ids.of_result(block) or block.call_id or ""
        if (value := self._draft.own(block)) is not None:
            return self._own(block, value, call_id)
        parts = [self._part(block, part) for part in self._draft.result_parts(block)]
        result: JsonObject = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": worded(self._draft, block, parts),
        }
        if block.is_error:
            result["is_error"] = True
        return result

    def follow(self, content: list[JsonObject], blocks: list[Block]) -> None:
        """Add what follows the results of the round that is spelled, and begin the next."""
        if not self._behind.parts:
            return
        behind, self._behind = self._behind, self._none()
        content += behind.parts
        blocks += behind.blocks

    def _none(self) -> Behind[JsonObject]:
        return Behind(self._draft.options.tags, text_block, self._draft.as_sent)

    def _part(self, block: Block, part: Part) -> JsonObject:
        if isinstance(part, Text):
            return text_block(part.text)
        draft, document = self._draft, part
        where, encoded = draft.router.in_result(block, document, draft.encode)
        if encoded is None:
            return text_block(draft.words(block, document))
        if where == "inline":
            return encoded
        why = "a document of a result follows it: the model does not read it there"
        draft.note("moved", "document", block.version, why)
        return text_block(self._behind.add(block, document, encoded))

    def _own(self, block: Block, value: JsonObject, call_id: str) -> JsonObject:
        if value.get("tool_use_id") != call_id:
            value = {**value, "tool_use_id": call_id}
        content = value.get("content")
        if not isinstance(content, list):
            return value
        rest = self._kept(block, cast("list[Any]", content))
        if rest == content:
            return value
        return {**value, "content": rest or nothing(is_error=block.is_error)}

    def _kept(self, block: Block, content: list[Any]) -> list[Any]:
        """Return a result's blocks without blank texts (R10) and marks (R16)."""
        draft = self._draft
        rest: list[Any] = []
        for part in content:
            if not isinstance(part, dict):
                rest.append(part)
                continue
            value = cast("JsonObject", part)
            if is_blank(value):
                draft.leave_out_blank(block, "blank text in a result")
            else:
                rest.append(draft.unmarked(value, block.version))
                if "tool_name" in value:
                    draft.types.add(REFERENCE)
        if not rest:
            draft.note("repaired", "R14", block.version, "a result without content")
        return rest


def worded(draft: AnthropicDraft, block: Block, blocks: list[JsonObject]) -> list[JsonObject]:
    """Return the blocks of a result without blank text; words where nothing is left."""
    rest = [value for value in blocks if not is_blank(value)]
    if len(rest) < len(blocks):
        draft.leave_out_blank(block, "blank text in a result")
    return rest or nothing(is_error=block.is_error)


def nothing(*, is_error: bool) -> list[JsonObject]:
    """Return what a result without content says."""
    return [text_block(words_for_nothing(is_error=is_error))]


# "messages.N.content.M.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'" (R15).
_IDS: Final = IdForm(re.compile(r"[a-zA-Z0-9_-]{1,128}\Z"), "toolu_")

_RESULTS: Final = frozenset({"result", "missing"})
_BY_REFERENCE: Final = frozenset({"image", "document", "container_upload"})
_TELLING: Final = frozenset({"text", "image", "document", "search_result"})


class Encoder:
    """Encodes the blocks of one request, in order."""

    def __init__(self, draft: AnthropicDraft) -> None:
        """Encode into a draft."""
        self._draft = draft
        self._ids = CallIds(_IDS, draft.call_ids)
        self._results = Results(draft, self._ids)

    def encode(self, turn: Turn) -> Message:
        """Return a turn as a message; documents that results cannot hold follow the last of them."""
        content: list[JsonObject] = []
        blocks: list[Block] = []
        before: Block | None = None
        for block in turn.blocks:
            if block.mark not in _RESULTS:
                self._results.follow(content, blocks)
            for value in self._encoded(block, before):
                content.append(value)
                blocks.append(block)
            before = block
        self._results.follow(content, blocks)
        return Message(turn.role, content, blocks)

    def _encoded(self, block: Block, before: Block | None) -> list[JsonObject]:
        """Return the blocks that stand for a block; none where nothing of it can be told."""
        match block.mark:
            case "" | "note":
                return self._content_blocks(block)
            case "call" | "unawaited":
                return self._call(block)
            case "result" | "missing":
                return [self._results.encode(block)]
            case "late":
                return self._late(block)
            case "document":
                return self._found(block, before)
            case _:
                assert_never(block.mark)

    def _content_blocks(self, block: Block) -> list[JsonObject]:
        if (value := self._draft.own(block)) is not None:
            return self._native(block, value)
        content = block.content
        match content:
            case Native():
                return self._foreign(block, content)
            case Text():
                return [text_block(content.text)]
            case Document():
                return [self._draft.document(block, content)]
            case Reasoning():
                self._draft.leave_out("R9", block, "the reasoning is not signed by Anthropic")
                return []
            case ToolCall():
                return self._call(block)
            case ToolResult():
                return [self._results.encode(block)]
            case _:
                assert_never(content)

    def _native(self, block: Block, value: JsonObject) -> list[JsonObject]:
        kind = kind_of(value)
        if kind == "fallback" and block.response is None:
            self._draft.leave_out(
                "R19", block, "the service refuses a fallback that it did not make"
            )
            return []
        if kind == "tool_use":
            self._draft.leave_out("R1", block, "a call that was not recorded as one")
            return []
        if kind == "tool_result":
            self._draft.note("moved", "R2", block.version, "a result of no call goes as text")
            return self._own_words(block, value)
        if block.response is not None and replay_of(API, value) == "record":
            self._draft.leave_out("record", block, f"the service takes no {kind} back")
            return []
        if kind in _BY_REFERENCE and _file_id(value) is not None:
            self._note_file(block)
        return [value]

    def _foreign(self, block: Block, native: Native) -> list[JsonObject]:
        parts, note = told_of(whole(native, self._draft.blobs), block)
        self._draft.notes.append(note)
        return [self._part(block, part) for part in parts]

    def _call(self, block: Block) -> list[JsonObject]:
        call_id = self._ids.of_call(block)
        if call_id != block.call_id:
            why = "the id of the call is not one that Anthropic takes"
            self._draft.note("translated", "R15", block.version, why)
        if (value := self._draft.own(block)) is not None:
            return [value if value.get("id") == call_id else {**value, "id": call_id}]
        arguments = self._draft.arguments(block)
        name = self._draft.tool_name(block.name or "", block.version)
        return [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}]

    def _part(self, block: Block, part: Part) -> JsonObject:
        if isinstance(part, Text):
            return text_block(part.text)
        return self._draft.document(block, part)

    def _late(self, block: Block) -> list[JsonObject]:
        """Return a result that came too late as the user's words."""
        value = self._draft.own(block)
        if not self._draft.goes_late(block):
            return []
        if value is None:
            parts = [self._part(block, part) for part in self._draft.result_parts(block)]
            blocks = worded(self._draft, block, parts)
        else:
            blocks = self._own_words(block, value)
        return [text_block(headline(block)), *blocks]

    def _own_words(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return those blocks of a result that a user's message may hold as well."""
        content = value.get("content")
        if isinstance(content, str):
            content = [text_block(content)]
        parts = list_of(content)
        blocks = [
            self._draft.unmarked(value, block.version)
            for part in parts
            if isinstance(part, dict)
            and kind_of(value := cast("JsonObject", part)) in _TELLING
            and not is_blank(value)
        ]
        if len(blocks) < len(parts):
            self._draft.leave_out("late", block, "parts of the result that only a result may hold")
        return blocks or nothing(is_error=block.is_error)

    def _found(self, block: Block, before: Block | None) -> list[JsonObject]:
        content = block.content
        if not isinstance(content, Document):
            return []
        named = self._draft.as_sent(block)
        texts = texts_before(named, content, self._draft.options.tags, before)
        return [*map(text_block, texts), self._draft.document(block, content)]

    def _note_file(self, block: Block) -> None:
        why = "refers to a file that the provider keeps: it may be gone"
        self._draft.note("noted", "R23", block.version, why)


def _file_id(value: JsonObject) -> str | None:
    source = value.get("source")
    fields = cast("JsonObject", source) if isinstance(source, dict) else value
    file_id = fields.get("file_id")
    return file_id if isinstance(file_id, str) else None
