"""What the user, the operator and tools said, as messages of Ollama's."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, assert_never
from uuid import UUID

from hansard.domain.content import Document, Native, Reasoning, Role, Text, ToolCall, ToolResult
from hansard.domain.conversation import CANCELLED
from hansard.domain.documents import modality_of
from hansard.domain.jsontext import JsonObject
from hansard.projections.history import Block
from hansard.projections.neutral_ollama import neutral
from hansard.projections.requests.document_bytes import (
    INLINE,
    bytes_of,
    is_base64,
    is_remote,
    text_of,
)
from hansard.projections.requests.document_tags import PREAMBLE, tag_of, words_for
from hansard.projections.requests.foreign import content_of, told_of
from hansard.projections.requests.ollama_draft import Draft
from hansard.projections.requests.result_words import failed, headline, words_for_nothing
from hansard.projections.requests.tool_names import OPENAI, name_for

_Part = Text | Document


@dataclass(slots=True)
class _Said:
    """What goes into one message: texts, and pictures in base64."""

    texts: list[str] = field(default_factory=list[str])
    images: list[str] = field(default_factory=list[str])

    def message(self, role: str) -> JsonObject:
        """Return the message, pictures only where there are some."""
        message: JsonObject = {"role": role, "content": "\n\n".join(self.texts)}
        return {**message, "images": self.images} if self.images else message


def messages_said(draft: Draft, role: Role, blocks: Iterable[Block]) -> Iterator[JsonObject]:
    """Yield a message for each event that said something: neighbours of one role stay apart."""
    for _, together in groupby(blocks, _event):
        said = _Said()
        for block in together:
            value = draft.own(block) if block.mark in ("", "note") else None
            if value is not None and value.get("role") not in (None, "tool"):
                yield value
            else:
                _say(draft, block, role, said)
        if said.texts or said.images:
            yield said.message(role)


def spell_results(draft: Draft, results: Iterable[Block]) -> Iterator[JsonObject]:
    """Yield the messages that answer the calls of one message, in their order.

    A tool's message holds text only, so pictures follow in one message of the user's, behind tags
    that stand in the tools' messages too.
    """
    shown = _Said()
    for block in results:
        yield _result(draft, block, shown)
    if shown.images:
        shown.texts.insert(0, PREAMBLE)
        yield {"role": "user", "content": "\n".join(shown.texts), "images": shown.images}


def _event(block: Block) -> tuple[int, str, UUID | None]:
    return block.version, block.mark, block.conversation


def _say(draft: Draft, block: Block, role: Role, said: _Said) -> None:
    match block.mark:
        case "late" if block.cancelled:
            draft.leave_out("late", block, "the call was given up, and was answered so before")
        case "late":
            draft.note("moved", "late", block.version, "a result came late: it goes as text")
            _say_result(draft, block, said)
        case "result" | "missing":
            draft.note("moved", "L2", block.version, "a result of no call goes as text")
            _say_result(draft, block, said)
        case "document":
            _show(draft, block, said)
        case _:
            _put(draft, block, _told(draft, block), said, is_user=role == "user")


def _told(draft: Draft, block: Block) -> tuple[_Part, ...]:
    if (native := draft.foreign(block)) is not None:
        told, note = told_of(native, block)
        draft.notes.append(note)
        return told
    content = block.content
    match content:
        case Text() | Document():
            return (content,)
        case ToolResult():
            draft.note("moved", "L2", block.version, "a result of no call goes as text")
            return (Text(text=headline(block)), *content.content)
        case Native() | Reasoning() | ToolCall():
            draft.leave_out("foreign", block, f"a {content.kind} is the assistant's alone")
            return ()
        case _:
            assert_never(content)


def _put(
    draft: Draft, block: Block, told: Iterable[_Part], said: _Said, *, is_user: bool = True
) -> None:
    """Put texts and documents into a message; of pictures only the user's messages have any."""
    for held in told:
        if isinstance(held, Text):
            if held.text.strip():
                said.texts.append(held.text)
            else:
                draft.leave_out("L4", block, "blank text")
        elif is_user and (image := _image(draft, held)) is not None:
            said.images.append(image)
        else:
            said.texts.append(_in_words(draft, block, held))


def _say_result(draft: Draft, block: Block, said: _Said) -> None:
    said.texts.append(headline(block))
    before = len(said.texts) + len(said.images)
    _put(draft, block, _parts(draft, block), said)
    if len(said.texts) + len(said.images) == before:
        said.texts.append(words_for_nothing(is_error=block.is_error))


def _show(draft: Draft, block: Block, said: _Said) -> None:
    document = block.content
    if not isinstance(document, Document):
        return
    tag = tag_of(block, document)
    said.texts.append(f"{PREAMBLE}\n{tag}" if block.call_id else tag)
    _put(draft, block, (document,), said)


def _result(draft: Draft, block: Block, shown: _Said) -> JsonObject:
    if block.mark == "missing":
        why = f"no result in time: {CANCELLED!r} stands in"
        draft.note("repaired", "L1", block.version, why)
    value = draft.own(block)
    if value is not None and value.get("role") == "tool":
        return value
    texts: list[str] = []
    for held in _parts(draft, block):
        if isinstance(held, Text):
            texts += [held.text] if held.text.strip() else []
        elif (image := _image(draft, held)) is not None:
            tag = tag_of(block, held)
            texts.append(tag)
            shown.texts.append(tag)
            shown.images.append(image)
            draft.note("moved", "L3", block.version, "a picture of a result follows it")
        else:
            texts.append(_in_words(draft, block, held))
    told = "\n".join(texts)
    if told and block.is_error:
        told = failed(told)
    name = name_for(block.name, OPENAI) if block.name else ""
    named: dict[str, Any] = {"tool_name": name, "tool_call_id": _call_id(draft, block)}
    return {
        "role": "tool",
        "content": told or words_for_nothing(is_error=block.is_error),
        **{name: held for name, held in named.items() if held},
    }


def _call_id(draft: Draft, block: Block) -> str:
    """Return the id by which a result names its call; none where the call goes without one."""
    return "" if block.call in draft.nameless else block.call_id or ""


def _parts(draft: Draft, block: Block) -> tuple[_Part, ...]:
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


def _image(draft: Draft, document: Document) -> str | None:
    """Return a picture in base64; None for what is none, or is held elsewhere (no address goes)."""
    if modality_of(document.media_type) != "image" or is_remote(document):
        return None
    about, _, data = (document.url or "").partition(",")
    if about.startswith(INLINE) and about.endswith(";base64"):
        return data if data and is_base64(data) else None
    held = bytes_of(document, draft.blobs)
    return b64encode(held).decode() if held else None


def _in_words(draft: Draft, block: Block, document: Document) -> str:
    """Return the text of a document, or words that stand for it."""
    if modality_of(document.media_type) == "text" and not is_remote(document):
        text = text_of(bytes_of(document, draft.blobs))
        if text is not None:
            return f"{document.name}\n{text}" if document.name else text
    draft.leave_out("document", block, f"the API takes no {document.media_type} here")
    return words_for(document)
