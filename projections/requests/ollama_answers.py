"""Answers as messages of the assistant's, in Ollama's spelling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block
from onrecord.projections.neutral_ollama import kind_of
from onrecord.projections.requests.answer_words import arguments_told, paragraphs, texts_of
from onrecord.projections.requests.ollama_draft import Draft


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
