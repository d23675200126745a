"""Answers as messages of the assistant's: which blocks make one message, and what it says."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from functools import partial

from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import Answer, paragraphs
from onrecord.projections.apis.openai_chat.draft import ChatDraft
from onrecord.projections.apis.openai_chat.members import (
    call_back,
    message_back,
    reasoning_back,
    says_nothing,
    with_reasoning,
)
from onrecord.projections.apis.openai_chat.read import kind_of
from onrecord.projections.history.history import Block


@dataclass(slots=True)
class ChatAnswer(Answer[ChatDraft]):
    """The blocks of one message.

    `message` and `reasoning` are of this API, each with its value; `odd` are calls that have no id.
    """

    message: tuple[Block, JsonObject] | None = None
    reasoning: tuple[Block, JsonObject] | None = None
    odd: list[tuple[Block, JsonObject]] = field(default_factory=list[tuple[Block, JsonObject]])

    def is_over(self, value: JsonObject) -> bool:
        """Whether a block of this API begins another message of the same answer."""
        match kind_of(value):
            case None | "call":
                return False
            case "reasoning":
                return bool(self.message or self.reasoning or self.calls)
            case "message" | "part":
                return bool(self.message or self.calls)

    def add(self, draft: ChatDraft, block: Block, value: JsonObject) -> bool:
        """Add a block of this API, and return whether it is one that is known."""
        match kind_of(value):
            case None:
                return False
            case "message":
                self.message = block, value
            case "reasoning":
                self.reasoning = block, value
            case "call":
                self.odd.append((block, value))
            case "part":
                self.message = block, {"role": "assistant", "content": [value]}
        return True


def message_of(
    draft: ChatDraft, answer: ChatAnswer, results: Container[int | None]
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


def _calls(
    draft: ChatDraft, calls: list[Block], results: Container[int | None]
) -> list[JsonObject]:
    if not calls:
        return []
    draft.ids.begin_message()
    encoded: list[JsonObject] = []
    for block in calls:
        if block.call in results:
            encoded.append(_call(draft, block))
        else:
            draft.leave_out("C1", block, "the call has no result")
    return encoded


def _call(draft: ChatDraft, block: Block) -> JsonObject:
    value = draft.own(block)
    is_odd = value is not None and not draft.reader.takes_id(block.call_id or "")
    is_kin = is_odd and draft.is_kin(block)
    call_id = draft.ids.of_call(block, partial(draft.reader.takes_id, is_kin=is_kin))
    if call_id != block.call_id:
        draft.note("translated", "C5", block.version, "the id of the call is not one that may go")
    if value is not None:
        return call_back(draft, block, value, call_id)
    arguments = jsontext.write(draft.arguments(block)).decode()
    name = draft.tool_name(block.name or "", block.version)
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _with_odd(
    draft: ChatDraft, block: Block, value: JsonObject, message: JsonObject, calls: list[JsonObject]
) -> JsonObject:
    """Return the message with a call that has no id, or put that among its calls."""
    if "function_call" in value:
        return {**message, **value}
    if draft.reader.is_openai:
        draft.leave_out("C1", block, "a call without id can have no result")
    else:
        calls.append(call_back(draft, block, value, None))
    return message
