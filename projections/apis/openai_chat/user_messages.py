"""What the user and the operator said, as messages; and results that come as the user's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, assert_never
from uuid import UUID

from onrecord.domain.content import Document, Native, Reasoning, Role, Text, ToolCall, ToolResult
from onrecord.domain.documents import Modality
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answer_words import headline, words_for_nothing
from onrecord.projections.apis.documents import texts_before, words_for
from onrecord.projections.apis.foreign import content_of, told_of
from onrecord.projections.apis.openai_chat.draft import Draft
from onrecord.projections.apis.openai_chat.read import Part, kind_of_part, neutral, objects_in, part
from onrecord.projections.history.history import Block

_SPEAKERS: Final = frozenset({"user", "system", "developer", "function"})
_OTHERS: Final[tuple[Modality, ...]] = ("image", "document", "audio", "video")
_MODALITIES: Final[Mapping[str, Modality]] = {
    "text": "text",
    "image_url": "image",
    "file": "document",
    "input_audio": "audio",
}
"""What a part of a type holds."""


def messages_said(draft: Draft, role: Role, blocks: Iterable[Block]) -> Iterator[JsonObject]:
    """Yield a message for each event that said something: neighbours of one role stay apart.

    So a later request begins with the bytes of the earlier one, whatever was said after it.
    """
    speaks = draft.reader.role(role)
    for _, said in groupby(blocks, _event):
        together = list(said)
        parts: list[JsonObject] = []
        for before, block in zip([None, *together], together, strict=False):
            message = _whole_message(draft, block)
            if message is not None:
                yield message
            else:
                parts += _parts_of(draft, block, role, before)
        if parts:
            is_list = any(_is_part(draft, block) for block in together)
            yield {"role": speaks, "content": parts if is_list else content_with(parts)}


def content_with(parts: list[JsonObject]) -> str | list[JsonObject]:
    """Return parts as content: texts alone as a string, which every server takes."""
    if any(part.get("type") != "text" for part in parts):
        return parts
    return "\n\n".join(part["text"] for part in parts)


def text_part(text: str) -> JsonObject:
    """Return a text as a part of a message."""
    return {"type": "text", "text": text}


def document_part(draft: Draft, block: Block, document: Document) -> JsonObject:
    """Return a document as a part of a user's message; words where the model cannot read it."""
    spelled = draft.router.in_message(block, document, draft.spell)
    if spelled is not None:
        return spelled
    draft.leave_out("document", block, f"the model does not read {document.media_type}")
    return text_part(words_for(document))


def _noted(draft: Draft, block: Block, document: Document) -> JsonObject:
    draft.leave_out("document", block, "a note of the operator's holds no document")
    return text_part(words_for(document))


def _event(block: Block) -> tuple[int, str, UUID | None]:
    return block.version, "" if block.signal else block.mark, block.conversation


def _whole_message(draft: Draft, block: Block) -> JsonObject | None:
    """Return a message that was recorded whole, for what it has beside role and content."""
    value = draft.own(block) if block.mark in ("", "note") else None
    role = value.get("role") if value is not None else None
    if value is None or not isinstance(role, str) or role not in _SPEAKERS:
        return None
    taken = draft.reader.members
    if taken is not None and not value.keys() <= taken:
        left = ", ".join(name for name in value if name not in taken)
        draft.leave_out("C7", block, f"{left}: the service does not take it in a message")
        value = {name: held for name, held in value.items() if name in taken}
    value = _with_read_parts(draft, block, value)
    speaks = draft.reader.role(role)
    if speaks == role:
        return value
    draft.note("translated", "C6", block.version, f"the model takes no message of role {role}")
    return {**value, "role": speaks}


def _with_read_parts(draft: Draft, block: Block, value: JsonObject) -> JsonObject:
    """Return a message with those parts in words that the model does not read."""
    content = value.get("content")
    parts = objects_in(content)
    if all(_is_read(draft, part) for part in parts):
        return value
    return {**value, "content": [told for part in parts for told in _read(draft, block, part)]}


def _read(draft: Draft, block: Block, value: JsonObject) -> list[JsonObject]:
    """Return a part as this API spells it, in words where the model does not read it."""
    if _is_read(draft, value):
        return [value]
    if (told := part(value)) is not None:
        return _spelled(draft, block, (told,))
    kind = kind_of_part(value)
    draft.leave_out("document", block, f"the model does not read a part of type {kind}")
    return [text_part(f"[A part of type {kind} cannot be shown here.]")]


def _is_read(draft: Draft, value: JsonObject) -> bool:
    """Whether the model may take a part that this API spells so; all may go to one not known.

    "unknown variant `image_url`, expected `text`" is what a model says that reads texts only,
    "Content blocks are expected to be either text or image_url type." one that hears no sound.
    """
    router = draft.router
    if router.model is None:
        return True
    modality = _MODALITIES.get(kind_of_part(value))
    return router.reads(modality) if modality else any(map(router.reads, _OTHERS))


def _is_part(draft: Draft, block: Block) -> bool:
    """Whether a block is a part of a message as this API spells it: then its message has a list."""
    value = draft.own(block) if block.mark in ("", "note") else None
    return value is not None and "role" not in value


def _parts_of(draft: Draft, block: Block, role: Role, before: Block | None) -> list[JsonObject]:
    match block.mark:
        case "late":
            return _late(draft, block)
        case "document":
            return _found(draft, block, before)
        case "result" | "missing":
            return _stray(draft, block)
        case _:
            return _said(draft, block, role)


def _said(draft: Draft, block: Block, role: Role) -> list[JsonObject]:
    value = draft.own(block)
    if value is not None:
        return _stray(draft, block) if "role" in value else _read(draft, block, value)
    if (native := draft.foreign(block)) is not None:
        told, note = told_of(native, block)
        draft.notes.append(note)
        return _spelled(draft, block, told, role)
    content = block.content
    match content:
        case Text() | Document():
            return _spelled(draft, block, (content,), role)
        case ToolResult():
            return _stray(draft, block)
        case Native() | Reasoning() | ToolCall():
            draft.leave_out("foreign", block, f"a {content.kind} is the assistant's alone")
            return []
        case _:
            assert_never(content)


def _spelled(
    draft: Draft, block: Block, told: Iterable[Part], role: Role = "user"
) -> list[JsonObject]:
    """Return what is told as parts, without blank texts (C4)."""
    spelled: list[JsonObject] = []
    for held in told:
        if isinstance(held, Document):
            is_user = role == "user"
            spelled.append(
                document_part(draft, block, held) if is_user else _noted(draft, block, held)
            )
        elif held.text.strip():
            spelled.append(text_part(held.text))
        else:
            draft.leave_out("C4", block, "blank text")
    return spelled


def _late(draft: Draft, block: Block) -> list[JsonObject]:
    if block.cancelled:
        draft.leave_out("late", block, "the call was given up, and was answered so before")
        return []
    draft.note("moved", "late", block.version, "a result came late: it goes as text")
    return _as_words(draft, block)


def _stray(draft: Draft, block: Block) -> list[JsonObject]:
    """Return a result whose call does not go.

    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    """
    draft.note("moved", "C2", block.version, "a result of no call goes as text")
    return _as_words(draft, block)


def _as_words(draft: Draft, block: Block) -> list[JsonObject]:
    told = _spelled(draft, block, result_parts(draft, block))
    words = words_for_nothing(is_error=block.is_error)
    return [text_part(headline(block)), *(told or [text_part(words)])]


def result_parts(draft: Draft, block: Block) -> tuple[Part, ...]:
    """Return what a result holds, whichever API it is of."""
    if (value := draft.own(block)) is not None:
        result = neutral(value)
        return result.content if isinstance(result, ToolResult) else ()
    if (native := draft.foreign(block)) is not None:
        held, note = content_of(native, block)
        draft.notes.append(note)
        return held
    content = block.content
    return content.content if isinstance(content, ToolResult) else ()


def _found(draft: Draft, block: Block, before: Block | None) -> list[JsonObject]:
    document = block.content
    if not isinstance(document, Document):
        return []
    texts = texts_before(block, document, draft.options.tags, before)
    return [*map(text_part, texts), document_part(draft, block, document)]
