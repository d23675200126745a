"""What the user and the operator said, as contents; and results that come as the user's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import assert_never
from uuid import UUID

from onrecord.domain.content import Document, Native, Reasoning, Role, Text, ToolCall, ToolResult
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block
from onrecord.projections.neutral_gemini import result_content
from onrecord.projections.neutral_gemini_parts import RESPONSE, Part, object_in
from onrecord.projections.requests.document_tags import texts_before, words_for
from onrecord.projections.requests.foreign import content_of, told_of
from onrecord.projections.requests.gemini_answers import own_part
from onrecord.projections.requests.gemini_draft import Draft
from onrecord.projections.requests.result_words import headline, words_for_nothing


def contents_said(draft: Draft, role: Role, blocks: Iterable[Block]) -> Iterator[JsonObject]:
    """Yield a content for each event that said something: neighbours of one role stay apart.

    So a later request begins with the contents of the earlier one, whatever was said after it.
    """
    for _, said in groupby(blocks, _event):
        together = list(said)
        pairs = zip([None, *together], together, strict=False)
        parts = [part for before, block in pairs for part in _parts(draft, role, block, before)]
        if parts:
            yield {"role": "user", "parts": parts}


def text_part(text: str) -> JsonObject:
    """Return a text as a part."""
    return {"text": text}


def document_part(draft: Draft, block: Block, document: Document) -> JsonObject:
    """Return a document as a part; words where the service cannot read it."""
    spelled = draft.router.in_message(block, document, draft.spell)
    if spelled is not None:
        return spelled
    draft.leave_out("document", block, f"the service does not read {document.media_type}")
    return text_part(words_for(document))


def _noted(draft: Draft, block: Block, document: Document) -> JsonObject:
    draft.leave_out("document", block, "a note of the operator's holds no document")
    return text_part(words_for(document))


def held_by(draft: Draft, block: Block) -> tuple[Part, ...]:
    """Return what a result holds, whichever API it is of."""
    if (value := draft.own(block)) is not None:
        return result_content(object_in(value, RESPONSE) or {})
    if (native := draft.foreign(block)) is not None:
        held, note = content_of(native, block)
        draft.notes.append(note)
        return held
    content = block.content
    return content.content if isinstance(content, ToolResult) else ()


def _event(block: Block) -> tuple[int, str, UUID | None]:
    return block.version, "" if block.signal else block.mark, block.conversation


def _parts(draft: Draft, role: Role, block: Block, before: Block | None) -> list[JsonObject]:
    match block.mark:
        case "late":
            return _late(draft, block)
        case "document":
            return _found(draft, block, before)
        case "result" | "missing":
            return _stray(draft, block)
        case "note":
            why = "the service knows no notes of the operator's: it goes as the user's"
            draft.note("translated", "G7", block.version, why)
            return _said(draft, role, block)
        case _:
            return _said(draft, role, block)


def _said(draft: Draft, role: Role, block: Block) -> list[JsonObject]:
    value = draft.own(block)
    if value is not None:
        if object_in(value, RESPONSE) is not None:
            return _stray(draft, block)
        part = own_part(draft, block, value)
        return [] if part is None else [part]
    if (native := draft.foreign(block)) is not None:
        told, note = told_of(native, block)
        draft.notes.append(note)
        return _spelled(draft, block, told, is_heard=role == "user")
    content = block.content
    match content:
        case Text() | Document():
            return _spelled(draft, block, (content,), is_heard=role == "user")
        case ToolResult():
            return _stray(draft, block)
        case Native() | Reasoning() | ToolCall():
            draft.leave_out("foreign", block, f"a {content.kind} is the model's alone")
            return []
        case _:
            assert_never(content)


def _spelled(
    draft: Draft, block: Block, told: Iterable[Part], *, is_heard: bool = True
) -> list[JsonObject]:
    """Return what is told as parts, without blank texts (G6)."""
    spelled: list[JsonObject] = []
    for held in told:
        if isinstance(held, Document):
            spelled.append(
                document_part(draft, block, held) if is_heard else _noted(draft, block, held)
            )
        elif held.text.strip():
            spelled.append(text_part(held.text))
        else:
            draft.leave_out("G6", block, "blank text")
    return spelled


def _late(draft: Draft, block: Block) -> list[JsonObject]:
    if block.cancelled:
        draft.leave_out("late", block, "the call was given up, and was answered so before")
        return []
    draft.note("moved", "late", block.version, "a result came late: it goes as text")
    return _as_words(draft, block)


def _stray(draft: Draft, block: Block) -> list[JsonObject]:
    """Return a result whose call does not go.

    "Please ensure that function response turn comes immediately after a function call turn."
    """
    draft.note("moved", "G2", block.version, "a result of no call goes as text")
    return _as_words(draft, block)


def _as_words(draft: Draft, block: Block) -> list[JsonObject]:
    told = _spelled(draft, block, held_by(draft, block))
    words = words_for_nothing(is_error=block.is_error)
    return [text_part(headline(block)), *(told or [text_part(words)])]


def _found(draft: Draft, block: Block, before: Block | None) -> list[JsonObject]:
    document = block.content
    if not isinstance(document, Document):
        return []
    texts = texts_before(block, document, draft.options.tags, before)
    return [*map(text_part, texts), document_part(draft, block, document)]
