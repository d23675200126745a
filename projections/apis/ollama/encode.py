"""Answers as messages of the assistant's, in Ollama's spelling."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, assert_never
from uuid import UUID

from onrecord.domain.content import Document, Native, Reasoning, Role, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.documents import modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answer_words import (
    arguments_told,
    failed,
    headline,
    paragraphs,
    texts_of,
    words_for_nothing,
)
from onrecord.projections.apis.documents import Behind, texts_before, words_for
from onrecord.projections.apis.foreign import content_of, told_of
from onrecord.projections.apis.ollama.draft import Draft
from onrecord.projections.apis.ollama.read import kind_of, neutral
from onrecord.projections.history.document_bytes import (
    INLINE,
    bytes_of,
    is_base64,
    is_remote,
    told_in,
)
from onrecord.projections.history.history import Block
from onrecord.projections.history.tool_names import OPENAI, name_for


@dataclass(slots=True)
class Answer:
    """The blocks of one message; `first` tells whose they are."""

    first: Block
    message: JsonObject | None = None
    thinking: JsonObject = field(default_factory=dict[str, Any])
    texts: list[tuple[Block, str]] = field(default_factory=list[tuple[Block, str]])
    calls: list[Block] = field(default_factory=list[Block])

    def is_of(self, block: Block) -> bool:
        """Whether a block may be of the same message: of the same answer, or said along with it."""
        if block.response is not None or self.first.response is not None:
            return block.response == self.first.response
        if block.asked != self.first.asked:
            return False
        return _is_call(block) or (block.place == self.first.place and not self.calls)


def answers_in(draft: Draft, blocks: Iterable[Block]) -> Iterator[Answer]:
    """Yield the answers that the blocks of an assistant's turn make, in order."""
    answer: Answer | None = None
    for block in blocks:
        value = None if _is_call(block) else draft.own(block)
        if answer is not None and (not answer.is_of(block) or _is_over(answer, value)):
            yield answer
            answer = None
        answer = answer or Answer(block)
        if _is_call(block):
            answer.calls.append(block)
        elif value is not None:
            _add(draft, answer, block, value)
        else:
            answer.texts += [(block, text) for text in texts_of(draft, block, "L4")]
    if answer is not None:
        yield answer


def message_of(
    draft: Draft, answer: Answer, results: Mapping[int | None, Block]
) -> JsonObject | None:
    """Return the message of an answer, with those calls that have a result; None if it is empty."""
    message: JsonObject = {"role": "assistant", "content": paragraphs(answer.texts)}
    if answer.message is not None:
        message = {"role": "assistant", **answer.message}
    calls = _calls(draft, answer.calls, results)
    if not calls and not answer.thinking and not _says(message):
        draft.leave_out("L4", answer.first, "an answer that says nothing")
        return None
    return {**message, **answer.thinking, **({"tool_calls": calls} if calls else {})}


def _is_call(block: Block) -> bool:
    return block.mark in ("call", "unawaited")


def _is_over(answer: Answer, value: JsonObject | None) -> bool:
    """Whether a block of this API begins another message of the same answer."""
    if value is None:
        return False
    if kind_of(value) == "thinking":
        return bool(answer.thinking or answer.message or answer.calls)
    return bool(answer.message or answer.calls)


def _says(message: JsonObject) -> bool:
    content = message.get("content")
    return bool(message.get("images")) or (isinstance(content, str) and bool(content.strip()))


def _add(draft: Draft, answer: Answer, block: Block, value: JsonObject) -> None:
    match kind_of(value):
        case "thinking" if draft.options.thinking == "drop":
            draft.leave_out("thinking", block, "reasoning is dropped, as asked")
        case "thinking" if not draft.may_think(block):
            draft.leave_out("L6", block, "another model thought this")
        case "thinking":
            answer.thinking = value
        case "message":
            answer.message = value
        case "call":
            draft.leave_out("L1", block, "a call that was not recorded as one")


def _calls(
    draft: Draft, calls: list[Block], results: Mapping[int | None, Block]
) -> list[JsonObject]:
    told: list[JsonObject] = []
    for block in calls:
        if block.call in results:
            draft.answered.add(block.call)
            told.append(_call(draft, block))
        else:
            draft.leave_out("L1", block, "the call has no result")
    return told


def _call(draft: Draft, block: Block) -> JsonObject:
    """Return a call as it came, or with an id, which the result then names."""
    if (value := draft.own(block)) is not None:
        if not value.get("id"):
            draft.nameless.add(block.call)
        return value
    name = draft.tool_name(block.name or "", block.version)
    function = {"name": name, "arguments": arguments_told(draft, block, "L5")}
    return {"id": block.call_id or "", "function": function}


# What the user, the operator and tools said, as messages of Ollama's.

_Part = Text | Document


@dataclass(slots=True)
class _Said:
    """What goes into one message: texts, and pictures in base64."""

    texts: list[str] = field(default_factory=list[str])
    images: list[str] = field(default_factory=list[str])

    def add(self, other: _Said) -> None:
        """Add what another holds."""
        self.texts += other.texts
        self.images += other.images

    def message(self, role: str) -> JsonObject:
        """Return the message, pictures only where there are some."""
        message: JsonObject = {"role": role, "content": "\n\n".join(self.texts)}
        return {**message, "images": self.images} if self.images else message


def messages_said(draft: Draft, role: Role, blocks: Iterable[Block]) -> Iterator[JsonObject]:
    """Yield a message for each event that said something: neighbours of one role stay apart."""
    for _, together in groupby(blocks, _event):
        said = _Said()
        before: Block | None = None
        for block in together:
            value = draft.own(block) if block.mark in ("", "note") else None
            if value is not None and value.get("role") not in (None, "tool"):
                yield value
            else:
                _say(draft, block, role, said, before)
            before = block
        if said.texts or said.images:
            yield said.message(role)


def spell_results(draft: Draft, results: Iterable[Block]) -> Iterator[JsonObject]:
    """Yield the messages that answer the calls of one message, in their order.

    A tool's message holds text only, so pictures follow in one message of the user's, behind tags
    that stand in the tools' messages too.
    """
    behind = Behind(draft.options.tags, _text)
    for block in results:
        yield _result(draft, block, behind)
    if behind.parts:
        shown = _Said()
        for each in behind.parts:
            shown.add(each)
        yield {**shown.message("user"), "content": "\n".join(shown.texts)}


def _event(block: Block) -> tuple[int, str, UUID | None]:
    return block.version, "" if block.signal else block.mark, block.conversation


def _text(text: str) -> _Said:
    return _Said([text])


def _say(draft: Draft, block: Block, role: Role, said: _Said, before: Block | None) -> None:
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
            _show(draft, block, said, before)
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
        else:
            said.add(_shown(draft, block, held, is_user=is_user))


def _say_result(draft: Draft, block: Block, said: _Said) -> None:
    said.texts.append(headline(block))
    before = len(said.texts) + len(said.images)
    _put(draft, block, _parts(draft, block), said)
    if len(said.texts) + len(said.images) == before:
        said.texts.append(words_for_nothing(is_error=block.is_error))


def _show(draft: Draft, block: Block, said: _Said, before: Block | None) -> None:
    document = block.content
    if not isinstance(document, Document):
        return
    said.texts += texts_before(block, document, draft.options.tags, before)
    _put(draft, block, (document,), said)


def _result(draft: Draft, block: Block, behind: Behind[_Said]) -> JsonObject:
    if block.mark == "missing":
        why = f"no result in time: {CANCELLED!r} stands in"
        draft.note("repaired", "L1", block.version, why)
    value = draft.own(block)
    if value is not None and value.get("role") == "tool":
        return value
    held = _Said()
    for part in _parts(draft, block):
        if isinstance(part, Document):
            held.add(_in_result(draft, block, part, behind))
        elif part.text.strip():
            held.texts.append(part.text)
    told = "\n".join(held.texts)
    if told and block.is_error:
        told = failed(told)
    name = name_for(block.name, OPENAI) if block.name else ""
    named: dict[str, Any] = {
        "images": held.images,
        "tool_name": name,
        "tool_call_id": _call_id(draft, block),
    }
    return {
        "role": "tool",
        "content": told or words_for_nothing(is_error=block.is_error),
        **{name: held for name, held in named.items() if held},
    }


def _in_result(draft: Draft, block: Block, document: Document, behind: Behind[_Said]) -> _Said:
    """Return what stands in a result for a document: itself, its tag, or words."""
    where, spelled = draft.router.in_result(block, document, partial(_spell, draft))
    if spelled is None:
        return _in_words(draft, block, document)
    if where == "inline":
        return spelled
    draft.note("moved", "L3", block.version, "a document of a result follows it")
    return _text(behind.add(block, document, spelled))


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


def _shown(draft: Draft, block: Block, document: Document, *, is_user: bool) -> _Said:
    """Return what stands in a message for a document; pictures are the user's only."""
    if is_user:
        spelled = draft.router.in_message(block, document, partial(_spell, draft))
    else:
        is_text = modality_of(document.media_type) == "text"
        spelled = _spell(draft, document) if is_text else None
    return spelled or _in_words(draft, block, document)


def _in_words(draft: Draft, block: Block, document: Document) -> _Said:
    draft.leave_out("document", block, f"the API takes no {document.media_type} here")
    return _text(words_for(document))


def _spell(draft: Draft, document: Document) -> _Said | None:
    """Return a picture, or a text under its name; None for what is neither, or held elsewhere."""
    if is_remote(document):
        return None
    match modality_of(document.media_type):
        case "image":
            image = _image(draft, document)
            return _Said(images=[image]) if image else None
        case "text":
            text = told_in(document, draft.blobs)
            return None if text is None else _text(text)
        case _:
            return None


def _image(draft: Draft, document: Document) -> str | None:
    """Return a picture in base64; None for what is none."""
    about, _, data = (document.url or "").partition(",")
    if about.startswith(INLINE) and about.endswith(";base64"):
        return data if data and is_base64(data) else None
    held = bytes_of(document, draft.blobs)
    return b64encode(held).decode() if held else None
