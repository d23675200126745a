"""Answers as messages of the assistant's: which blocks make one message, and what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, assert_never, cast

from onrecord.domain import jsontext
from onrecord.domain.content import Document
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answer_words import (
    FAILURE,
    arguments_told,
    failed,
    paragraphs,
    texts_of,
    words_for_nothing,
)
from onrecord.projections.apis.documents import Behind, words_for
from onrecord.projections.apis.openai_chat.draft import Draft
from onrecord.projections.apis.openai_chat.members import (
    call_back,
    message_back,
    reasoning_back,
    says_nothing,
    with_reasoning,
)
from onrecord.projections.apis.openai_chat.read import Kind, Part, kind_of, part
from onrecord.projections.apis.openai_chat.user_messages import result_parts, text_part
from onrecord.projections.history.history import Block, Turn


@dataclass(slots=True)
class Answer:
    """The blocks of one message; `first` tells whose they are.

    `message` and `reasoning` are of this API, each with its value; `odd` are calls that have no id;
    `texts` are what blocks of other APIs say.
    """

    first: Block
    message: tuple[Block, JsonObject] | None = None
    reasoning: tuple[Block, JsonObject] | None = None
    odd: list[tuple[Block, JsonObject]] = field(default_factory=list[tuple[Block, JsonObject]])
    texts: list[tuple[Block, str]] = field(default_factory=list[tuple[Block, str]])
    calls: list[Block] = field(default_factory=list[Block])

    def is_of(self, block: Block) -> bool:
        """Whether a block may be of the same message: of the same answer, or said along with it.

        What was said by itself is a message each, but for calls, which go with what precedes them.
        """
        if block.response is not None or self.first.response is not None:
            return block.response == self.first.response
        if block.asked != self.first.asked:
            return False
        return is_call(block) or (block.place == self.first.place and not self.calls)


def is_call(block: Block) -> bool:
    """Whether a block is a call of one of the caller's tools."""
    return block.mark in ("call", "unawaited")


def answers_in(draft: Draft, blocks: Iterable[Block]) -> Iterator[Answer]:
    """Yield the answers that the blocks of an assistant's turn make, in order."""
    answer: Answer | None = None
    for block in blocks:
        value = None if is_call(block) else draft.own(block)
        kind = None if value is None else kind_of(value)
        if answer is not None and (not answer.is_of(block) or _is_over(answer, kind)):
            yield answer
            answer = None
        answer = answer or Answer(block)
        if is_call(block):
            answer.calls.append(block)
        elif value is None or kind is None:
            answer.texts += [(block, text) for text in texts_of(draft, block, "C4")]
        else:
            _add(answer, block, value, kind)
    if answer is not None:
        yield answer


def message_of(
    draft: Draft, answer: Answer, results: Mapping[int | None, Block]
) -> JsonObject | None:
    """Return the message of an answer, with those calls that have a result; None if it is empty.

    "An assistant message with 'tool_calls' must be followed by tool messages responding to each
    'tool_call_id'." A message without content and without calls is refused, too: "Invalid value for
    'content': expected a string, got null."
    """
    message: JsonObject = {"role": "assistant", "content": paragraphs(answer.texts) or None}
    if answer.message is not None:
        message = message_back(draft, *answer.message)
    calls = _calls(draft, answer.calls, results)
    for block, value in answer.odd:
        message = _with_odd(draft, block, value, message, calls)
    if not calls and says_nothing(draft, message):
        for block, _ in filter(None, (answer.message, answer.reasoning)):
            draft.leave_out("C4", block, "an answer that says nothing")
        return None
    if answer.reasoning is not None:
        message = {**message, **reasoning_back(draft, *answer.reasoning)}
    if not calls:
        return message
    return {**with_reasoning(draft, answer.first, message), "tool_calls": calls}


def _add(answer: Answer, block: Block, value: JsonObject, kind: Kind) -> None:
    match kind:
        case "message":
            answer.message = block, value
        case "reasoning":
            answer.reasoning = block, value
        case "call":
            answer.odd.append((block, value))
        case "part":
            answer.message = block, {"role": "assistant", "content": [value]}
        case _:
            assert_never(kind)


def _is_over(answer: Answer, kind: Kind | None) -> bool:
    """Whether a block of this API begins another message of the same answer."""
    match kind:
        case None | "call":
            return False
        case "reasoning":
            return bool(answer.message or answer.reasoning or answer.calls)
        case "message" | "part":
            return bool(answer.message or answer.calls)
        case _:
            assert_never(kind)


def _calls(
    draft: Draft, calls: list[Block], results: Mapping[int | None, Block]
) -> list[JsonObject]:
    if not calls:
        return []
    draft.ids.begin_message()
    told: list[JsonObject] = []
    for block in calls:
        if block.call in results:
            told.append(_call(draft, block))
        else:
            draft.leave_out("C1", block, "the call has no result")
    return told


def _call(draft: Draft, block: Block) -> JsonObject:
    value = draft.own(block)
    is_odd = value is not None and not draft.reader.takes_id(block.call_id or "")
    call_id = draft.ids.of_call(block, is_kin=is_odd and draft.is_kin(block))
    if call_id != block.call_id:
        draft.note("translated", "C5", block.version, "the id of the call is not one that may go")
    if value is not None:
        return call_back(draft, block, value, call_id)
    arguments = jsontext.write(arguments_told(draft, block, "C10")).decode()
    name = draft.tool_name(block.name or "", block.version)
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _with_odd(
    draft: Draft, block: Block, value: JsonObject, message: JsonObject, calls: list[JsonObject]
) -> JsonObject:
    """Return the message with a call that has no id, or put that among its calls."""
    if "function_call" in value:
        return {**message, **value}
    if draft.reader.is_openai:
        draft.leave_out("C1", block, "a call without id can have no result")
    else:
        calls.append(call_back(draft, block, value, None))
    return message


# Results of a round of calls: a tool's message each, and one of the user's for their documents.

_RESULTS: Final = ("result", "missing")


def results_in(turn: Turn | None) -> dict[int | None, Block]:
    """Return the results that a user's turn begins with, by call; none if it is no user's turn."""
    if turn is None or turn.role != "user":
        return {}
    return {block.call: block for block in turn.blocks if block.mark in _RESULTS}


def spell_results(draft: Draft, results: Iterable[Block]) -> list[JsonObject]:
    """Return the messages that answer the calls of one message, in their order.

    A tool's message holds text only, so documents follow in one message of the user's, each behind
    a tag that stands in the tool's message too.
    """
    behind = Behind(draft.options.tags, text_part)
    messages = [_result(draft, block, behind) for block in results]
    if behind.parts:
        messages.append({"role": "user", "content": behind.parts})
    return messages


def _result(draft: Draft, block: Block, behind: Behind[JsonObject]) -> JsonObject:
    if block.mark == "missing":
        why = f"no result in time: {CANCELLED!r} stands in"
        draft.note("repaired", "C1", block.version, why)
    call_id = draft.ids.of_result(block)
    value = draft.own(block)
    if value is not None and value.get("role") == "tool":
        return _own_result(draft, block, {**value, "tool_call_id": call_id}, behind)
    told = _content(block, _told(draft, block, result_parts(draft, block), behind))
    content = told or words_for_nothing(is_error=block.is_error)
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _content(block: Block, parts: list[JsonObject]) -> str | list[JsonObject]:
    """Return the parts of a result as content: texts alone as a string; words say that it failed."""
    if any(part.get("type") != "text" for part in parts):
        return [text_part(FAILURE), *parts] if block.is_error else parts
    said = "\n".join(part["text"] for part in parts)
    return failed(said) if said and block.is_error else said


def _own_result(
    draft: Draft, block: Block, value: JsonObject, behind: Behind[JsonObject]
) -> JsonObject:
    """Return a tool's message of this API, its parts such as the model reads there."""
    content = value.get("content")
    if isinstance(content, str):
        return value
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    kept = [held for item in parts for held in _own_parts(draft, block, item, behind)]
    return {**value, "content": kept or words_for_nothing(is_error=block.is_error)}


def _own_parts(
    draft: Draft, block: Block, item: Any, behind: Behind[JsonObject]
) -> list[JsonObject]:
    match item:
        case {"type": "text"}:
            return [cast("JsonObject", item)]
        case _ if (held := part(item)) is not None:
            return _told(draft, block, (held,), behind)
        case _:
            draft.leave_out("C3", block, "a part of a result that is not known")
            return []


def _told(
    draft: Draft, block: Block, told: Iterable[Part], behind: Behind[JsonObject]
) -> list[JsonObject]:
    """Return what a result holds, without blank texts; what it cannot hold is put behind it."""
    parts: list[JsonObject] = []
    for held in told:
        if isinstance(held, Document):
            parts.append(_document(draft, block, held, behind))
        elif held.text.strip():
            parts.append(text_part(held.text))
    return parts


def _document(
    draft: Draft, block: Block, document: Document, behind: Behind[JsonObject]
) -> JsonObject:
    """Return what stands in a result for a document: itself, its tag, or words."""
    where, spelled = draft.router.in_result(block, document, draft.spell)
    if spelled is None:
        draft.leave_out("document", block, f"the model does not read {document.media_type}")
        return text_part(words_for(document))
    if where == "inline":
        return spelled
    draft.note("moved", "C3", block.version, "a document of a result follows it")
    return text_part(behind.add(block, document, spelled))
