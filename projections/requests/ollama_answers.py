"""Answers as messages of the assistant's, in Ollama's spelling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never, cast

from hansard.domain.content import Document, Native, Reasoning, Text, ToolCall, ToolResult
from hansard.domain.jsontext import JsonObject
from hansard.projections.history import Block
from hansard.projections.neutral_ollama import kind_of
from hansard.projections.requests.document_tags import words_for
from hansard.projections.requests.foreign import arguments_of, goes_on, told_of
from hansard.projections.requests.ollama_draft import Draft


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
            answer.texts += [(block, text) for text in _texts(draft, block)]
    if answer is not None:
        yield answer


def message_of(
    draft: Draft, answer: Answer, results: Mapping[int | None, Block]
) -> JsonObject | None:
    """Return the message of an answer, with those calls that have a result; None if it is empty."""
    message: JsonObject = {"role": "assistant", "content": _joined(answer.texts)}
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


def _texts(draft: Draft, block: Block) -> list[str]:
    """Return what a block that is not of this API says."""
    if (native := draft.native(block)) is not None:
        told, note = told_of(native, block)
        draft.notes.append(note)
        texts = [part.text if isinstance(part, Text) else words_for(part) for part in told]
    else:
        texts = _neutral_texts(draft, block)
    kept = [text for text in texts if text.strip()]
    if len(kept) < len(texts):
        draft.leave_out("L4", block, "blank text")
    return kept


def _neutral_texts(draft: Draft, block: Block) -> list[str]:
    content = block.content
    match content:
        case Text():
            return [content.text]
        case Document():
            draft.leave_out("document", block, "an assistant's message holds no document")
            return [words_for(content)]
        case Native() | Reasoning() | ToolCall() | ToolResult():
            draft.leave_out("foreign", block, f"a {content.kind} that no answer of this API made")
            return []
        case _:
            assert_never(content)


def _joined(texts: list[tuple[Block, str]]) -> str:
    said = ""
    before: Block | None = None
    for block, text in texts:
        said += ("" if not said or goes_on(before, block) else "\n\n") + text
        before = block
    return said


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
    function = {"name": name, "arguments": _arguments(draft, block)}
    return {"id": block.call_id or "", "function": function}


def _arguments(draft: Draft, block: Block) -> JsonObject:
    """Return the arguments of a call that is not of this API: the server takes an object only."""
    if (native := draft.native(block)) is not None:
        arguments, note = arguments_of(native, block)
        draft.notes.append(note)
    else:
        arguments = block.plain["arguments"]
    if isinstance(arguments, dict):
        return cast("JsonObject", arguments)
    draft.note("translated", "L5", block.version, "the arguments of a call are an object")
    return {"arguments": arguments}
