"""Answers as messages of the assistant's: which blocks make one message, and what it says."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

from onrecord.domain import jsontext
from onrecord.domain.content import Document, Role
from onrecord.domain.documents import Modality
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import FAILURE, Answer, failed, text_of, words_for_nothing
from onrecord.projections.apis.documents import Behind
from onrecord.projections.apis.openai_chat.draft import ChatDraft, encode_document
from onrecord.projections.apis.openai_chat.members import (
    call_back,
    message_back,
    reasoning_back,
    says_nothing,
    with_reasoning,
)
from onrecord.projections.apis.openai_chat.read import kind_of, kind_of_part, part
from onrecord.projections.apis.user_messages import UserMessages
from onrecord.projections.history.history import Block
from onrecord.projections.members import list_of, objects


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
            case "call":
                return False
            case "reasoning":
                return bool(self.message or self.reasoning or self.calls)
            case "message" | "part":
                return bool(self.message or self.calls)

    def add(self, draft: ChatDraft, block: Block, value: JsonObject) -> bool:
        """Add a block of this API, and return whether it is one that is known."""
        match kind_of(value):
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
    message: JsonObject = {"role": "assistant", "content": text_of(draft, answer.texts) or None}
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
    if value is not None and value.get("id") in (None, ""):
        why = "the server gave the call no id: it goes with one that was made for it"
        draft.note("translated", "C5", block.version, why)
    elif call_id != block.call_id:
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


# What the user and the operator say to Chat Completions; and results of calls.

_SPEAKERS: Final = frozenset({"user", "system", "developer", "function"})
_OTHERS: Final[tuple[Modality, ...]] = ("image", "document", "audio", "video")
_MODALITIES: Final[Mapping[str, Modality]] = {
    "text": "text",
    "image_url": "image",
    "file": "document",
    "input_audio": "audio",
}
"""What a part of a type holds."""


def text_part(text: str) -> JsonObject:
    """Return a text as a part of a message."""
    return {"type": "text", "text": text}


class ChatMessages(UserMessages[ChatDraft]):
    """Makes the messages of one request that are not the assistant's, in order."""

    TAKES_BLANKS = True

    def text(self, text: str) -> JsonObject:
        """Return a text as a part."""
        return text_part(text)

    def encode(self, document: Document) -> JsonObject | None:
        """Return a document as a part; None where no part can hold it."""
        return encode_document(document, self.draft.blobs)

    def message(
        self, role: Role, parts: list[JsonObject], blocks: Sequence[Block]
    ) -> JsonObject | None:
        """Return a message: texts alone as a string, which every server takes.

        What the caller gave as a part makes a list.
        """
        content: str | list[JsonObject] = parts
        if not any(self._is_part(block) for block in blocks):
            texts = [part["text"] for part in parts if part.get("type") == "text"]
            if len(texts) == len(parts):
                content = self.joined(texts, blocks[0])
            elif not all(text.strip() for text in texts):
                self.draft.leave_out_blank(blocks[0])
                content = [part for part in parts if part.get("text", "file").strip()]
        return {"role": self.draft.reader.role(role), "content": content} if content else None

    def whole_message(self, block: Block) -> JsonObject | None:
        """Return a message that was recorded whole, for what it has beside role and content."""
        draft = self.draft
        value = draft.own(block) if block.mark in ("", "note") else None
        role = value.get("role") if value is not None else None
        if value is None or not isinstance(role, str) or role not in _SPEAKERS:
            return None
        members = draft.reader.members
        if members is not None and not value.keys() <= members:
            left = ", ".join(name for name in value if name not in members)
            draft.leave_out("C7", block, f"{left}: the service does not take it in a message")
            value = {name: member for name, member in value.items() if name in members}
        value = self._with_read_parts(block, value)
        role_taken = draft.reader.role(role)
        if role_taken == role:
            return value
        draft.note("translated", "C6", block.version, f"the model takes no message of role {role}")
        return {**value, "role": role_taken}

    def own_parts(self, block: Block, role: Role) -> list[JsonObject] | None:
        """Return a part of this API as it goes; a tool's message goes as text.

        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        """
        value = self.draft.own(block)
        if value is None:
            return None
        return self.stray(block) if "role" in value else self._read(block, value)

    def results(self, results: Iterable[Block]) -> list[JsonObject]:
        """Return the messages that answer the calls of one message, in their order.

        A tool's message holds text only, so documents follow in one message of the user's, each
        behind a tag that stands in the tool's message too.
        """
        behind = self.behind()
        messages = [self._result(block, behind) for block in results]
        if behind.parts:
            messages.append({"role": "user", "content": behind.parts})
        return messages

    def _with_read_parts(self, block: Block, value: JsonObject) -> JsonObject:
        """Return a message with those parts in words that the model does not read."""
        parts = objects(value.get("content"))
        if all(_is_read(self.draft, part) for part in parts):
            return value
        return {**value, "content": [read for part in parts for read in self._read(block, part)]}

    def _read(self, block: Block, value: JsonObject) -> list[JsonObject]:
        """Return a part as this API has it, in words where the model does not read it."""
        if _is_read(self.draft, value):
            return [value]
        if (neutral := part(value)) is not None:
            return self.encoded(block, (neutral,))
        kind = kind_of_part(value)
        self.draft.leave_out("document", block, f"the model does not read a part of type {kind}")
        return [text_part(f"[A part of type {kind} cannot be shown here.]")]

    def _is_part(self, block: Block) -> bool:
        """Whether a block is a part of a message as this API has it: its message has a list."""
        value = self.draft.own(block) if block.mark in ("", "note") else None
        return value is not None and "role" not in value

    def _result(self, block: Block, behind: Behind[JsonObject]) -> JsonObject:
        self.draft.note_missing(block)
        call_id = self.draft.ids.of_result(block)
        value = self.draft.own(block)
        if value is not None and value.get("role") == "tool":
            return self._own_result(block, {**value, "tool_call_id": call_id}, behind)
        parts = self.result_parts(block, self.draft.result_parts(block), behind)
        content = _content(block, parts) or words_for_nothing(is_error=block.is_error)
        return {"role": "tool", "tool_call_id": call_id, "content": content}

    def _own_result(
        self, block: Block, value: JsonObject, behind: Behind[JsonObject]
    ) -> JsonObject:
        """Return a tool's message of this API, its parts such as the model reads there."""
        content = value.get("content")
        if isinstance(content, str):
            return value
        items = list_of(content)
        parts = [part for item in items for part in self._own_result_parts(block, item, behind)]
        return {**value, "content": parts or words_for_nothing(is_error=block.is_error)}

    def _own_result_parts(
        self, block: Block, item: Any, behind: Behind[JsonObject]
    ) -> list[JsonObject]:
        match item:
            case {"type": "text"}:
                return [cast("JsonObject", item)]
            case _ if (neutral := part(item)) is not None:
                return self.result_parts(block, (neutral,), behind)
            case _:
                self.draft.leave_out("C3", block, "a part of a result that is not known")
                return []


def _content(block: Block, parts: list[JsonObject]) -> str | list[JsonObject]:
    """Return the parts of a result as content: texts alone as a string; words say that it failed."""
    if any(part.get("type") != "text" for part in parts):
        return [text_part(FAILURE), *parts] if block.is_error else parts
    text = "\n".join(part["text"] for part in parts)
    return failed(text) if text and block.is_error else text


def _is_read(draft: ChatDraft, value: JsonObject) -> bool:
    """Whether the model may take a part of this API; all may go to one not known.

    "unknown variant `image_url`, expected `text`" is what a model says that reads texts only,
    "Content blocks are expected to be either text or image_url type." one that hears no sound.
    """
    router = draft.router
    if router.model is None:
        return True
    modality = _MODALITIES.get(kind_of_part(value))
    return router.reads(modality) if modality else any(map(router.reads, _OTHERS))
