"""Requests to Ollama's chat API.

The rules L1 to L8 are listed in docs/rendering.md. The server checks next to nothing: what is
obeyed here is what its models and templates can read. Each event is a message of its own and each
answer one, so that a later request begins with the bytes of the earlier ones.
"""

from __future__ import annotations

import binascii
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final, cast

from onrecord.domain.content import Document, Role
from onrecord.domain.documents import modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader
from onrecord.projections.apis.answers import Answer, failed, text_of, words_for_nothing
from onrecord.projections.apis.documents import Behind
from onrecord.projections.apis.draft import Draft, RuleNames, present
from onrecord.projections.apis.ollama import read
from onrecord.projections.apis.ollama.read import NAME, kind_of
from onrecord.projections.apis.openai_chat import read as read_openai_chat
from onrecord.projections.apis.request import Options, Request, nothing_to_send, outside
from onrecord.projections.apis.tools import OLLAMA
from onrecord.projections.apis.user_messages import (
    UserMessages,
    answered_messages,
    has_text_behind,
    messages_of,
)
from onrecord.projections.history.held_documents import (
    INLINE,
    bytes_of,
    is_base64,
    is_remote,
    told_in,
)
from onrecord.projections.history.history import Block, History, Turn
from onrecord.projections.members import objects

# What a history says as messages of Ollama's: answers, what others say, and results of calls.


@dataclass(slots=True)
class OllamaDraft(Draft):
    """A request to Ollama while it is made.

    `model` is the one that the request is for, if that is known. `answered` are the calls whose
    results went behind them, `nameless` those that have no id on the wire.
    """

    API: ClassVar[str] = NAME
    RULES: ClassVar[RuleNames] = RuleNames("L7", "L5", "L4", "L1", "L2", "L3")

    model: str | None
    answered: set[int | None] = field(default_factory=set[int | None])
    nameless: set[int | None] = field(default_factory=set[int | None])

    def may_think(self, block: Block) -> bool:
        """Whether the model that a request is for is the one that gave an answer."""
        if block.response is None or self.model is None:
            return True
        model = self.history.responses.model_of(block.response)
        return model is None or model == self.model


def draft_of(history: History, options: Options, blobs: Mapping[str, bytes]) -> OllamaDraft:
    """Return the draft of a request for the model that is wished, or that answered last."""
    model = options.model or history.responses.last_model(NAME)
    return OllamaDraft(history, options, blobs, model)


# Answers.


@dataclass(slots=True)
class OllamaAnswer(Answer[OllamaDraft]):
    """The blocks of one message; `message` and `thinking` are of this API."""

    message: JsonObject | None = None
    thinking: JsonObject = field(default_factory=dict[str, Any])

    def is_over(self, value: JsonObject) -> bool:
        """Whether a block of this API begins another message of the same answer."""
        if kind_of(value) == "thinking":
            return bool(self.thinking or self.message or self.calls)
        return bool(self.message or self.calls)

    def add(self, draft: OllamaDraft, block: Block, value: JsonObject) -> bool:
        """Add a block of this API."""
        match kind_of(value):
            case "thinking" if draft.options.thinking == "drop":
                draft.leave_out("thinking", block, "reasoning is dropped, as asked")
            case "thinking" if not draft.may_think(block):
                draft.leave_out("L6", block, "another model thought this")
            case "thinking":
                self.thinking = value
            case "message":
                self.message = value
            case "call":
                draft.leave_out("L1", block, "a call that was not recorded as one")
        return True


def message_of(
    draft: OllamaDraft, answer: OllamaAnswer, results: Container[int | None]
) -> JsonObject | None:
    """Return the message of an answer, with those calls that have a result; None if it is empty."""
    message: JsonObject = {"role": "assistant", "content": text_of(draft, answer.texts)}
    if answer.message is not None:
        message = {"role": "assistant", **answer.message}
    calls = _calls(draft, answer.calls, results)
    if not calls and not answer.thinking and not _says(message):
        draft.leave_out("L4", answer.first, "an answer that says nothing")
        return None
    return {**message, **answer.thinking, **({"tool_calls": calls} if calls else {})}


def _says(message: JsonObject) -> bool:
    content = message.get("content")
    return bool(message.get("images")) or (isinstance(content, str) and bool(content.strip()))


def _calls(
    draft: OllamaDraft, calls: list[Block], results: Container[int | None]
) -> list[JsonObject]:
    encoded: list[JsonObject] = []
    for block in calls:
        if block.call in results:
            draft.answered.add(block.call)
            encoded.append(_call(draft, block))
        else:
            draft.leave_out("L1", block, "the call has no result")
    return encoded


def _call(draft: OllamaDraft, block: Block) -> JsonObject:
    """Return a call as it came, or with an id, which the result then names."""
    if (value := draft.own(block)) is not None:
        if not value.get("id"):
            draft.nameless.add(block.call)
        return value
    name = draft.tool_name(block.name or "", block.version)
    function = {"name": name, "arguments": _arguments(draft, block)}
    return {"id": block.call_id or "", "function": function}


_GREATEST: Final = int(sys.float_info.max)


def _arguments(draft: OllamaDraft, block: Block) -> JsonObject:
    """Return the arguments of a call that is not this API's, as its server and SDK can read them."""
    arguments = draft.arguments(block)
    readable: JsonObject = _readable(arguments)
    if readable != arguments:
        why = "numbers beyond a double go as text, halves of characters as \ufffd"
        draft.note("translated", "L5", block.version, why)
    return readable


def _readable(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int() if abs(value) > _GREATEST:
            return str(value)
        case str():
            return _HALVES.sub("\ufffd", value)
        case dict():
            members = cast("JsonObject", value).items()
            return {_HALVES.sub("\ufffd", name): _readable(held) for name, held in members}
        case list():
            return [_readable(item) for item in cast("list[Any]", value)]
        case _:
            return value


_HALVES: Final = re.compile("[\ud800-\udfff]")
"""Halves of surrogate pairs: the server reads U+FFFD for one, and the SDK cannot write it."""


# All other messages, and results. A part is a text, or a picture in base64.


class OllamaMessages(UserMessages[OllamaDraft]):
    """Makes the messages of one request that are not the assistant's, in order."""

    TAKES_BLANKS = True

    def text(self, text: str) -> JsonObject:
        """Return a text as a part."""
        return {"text": text}

    def encode(self, document: Document) -> JsonObject | None:
        """Return a picture, or a text under its name; None for what is neither, or held elsewhere."""
        if is_remote(document):
            return None
        match modality_of(document.media_type):
            case "image":
                image = _image(document, self.draft.blobs)
                return {"image": image} if image else None
            case "text":
                text = told_in(document, self.draft.blobs)
                return None if text is None else {"text": text}
            case _:
                return None

    def message(
        self, role: Role, parts: list[JsonObject], blocks: Sequence[Block]
    ) -> JsonObject | None:
        """Return the message, pictures only where there are some: beside its text, not amid it."""
        if has_text_behind(["image" in part for part in parts]):
            why = "pictures stand beside the text: what stood behind one stands before it"
            self.draft.note("moved", "L3", blocks[0].version, why)
        content, images = self.joined(_texts(parts), blocks[0]), _images(parts)
        return {"role": role, "content": content, **images} if content or images else None

    def whole_message(self, block: Block) -> JsonObject | None:
        """Return a message that was recorded whole."""
        value = self.draft.own(block) if block.mark in ("", "note") else None
        return value if value is not None and value.get("role") not in (None, "tool") else None

    def document(self, block: Block, document: Document, role: Role = "user") -> JsonObject:
        """Return a document of a message; pictures are the user's only."""
        if role == "user":
            return super().document(block, document)
        is_text = modality_of(document.media_type) == "text"
        encoded = self.encode(document) if is_text else None
        return super().document(block, document, role) if encoded is None else encoded

    def results(self, results: Iterable[Block]) -> Iterator[JsonObject]:
        """Yield the messages that answer the calls of one message, in their order.

        A tool's message holds text only, so pictures follow in one message of the user's, behind
        tags that stand in the tools' messages too.
        """
        behind = self.behind()
        for block in results:
            yield self._result(block, behind)
        if parts := behind.parts:
            yield {"role": "user", "content": "\n".join(_texts(parts)), **_images(parts)}

    def _result(self, block: Block, behind: Behind[JsonObject]) -> JsonObject:
        draft = self.draft
        draft.note_missing(block)
        value = draft.own(block)
        if value is not None and value.get("role") == "tool":
            return value
        parts = self.result_parts(block, draft.result_parts(block), behind)
        text = "\n".join(_texts(parts))
        if text and block.is_error:
            text = failed(text)
        named: dict[str, Any] = {
            **_images(parts),
            "tool_name": draft.fitting_name(block.name) if block.name else "",
            "tool_call_id": "" if block.call in draft.nameless else block.call_id or "",
        }
        return {
            "role": "tool",
            "content": text or words_for_nothing(is_error=block.is_error),
            **{name: member for name, member in named.items() if member},
        }


def _texts(parts: Iterable[JsonObject]) -> list[str]:
    return [part["text"] for part in parts if "text" in part]


def _images(parts: Iterable[JsonObject]) -> JsonObject:
    images = [part["image"] for part in parts if "image" in part]
    return {"images": images} if images else {}


def _image(document: Document, blobs: Mapping[str, bytes]) -> str | None:
    """Return a picture in base64; None for what is none."""
    about, _, data = (document.url or "").partition(",")
    if about.startswith(INLINE) and about.endswith(";base64"):
        return data if data and is_base64(data) else None
    content = bytes_of(document, blobs)
    return b64encode(content).decode() if content else None


# Instructions and tools.


def instructing_messages(draft: OllamaDraft) -> list[JsonObject]:
    """Return the messages that a conversation begins with."""
    instructions = draft.instructions()
    if isinstance(instructions, str):
        return [{"role": "system", "content": instructions}] if instructions else []
    return objects(instructions.get("messages"))


def tools_of(draft: OllamaDraft) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    return list(draft.tools_in_force(partial(_definition, draft))) or None


def _definition(draft: OllamaDraft, tool: ToolDefinition) -> JsonObject:
    named, schema = draft.definition(tool, OLLAMA)
    return {"type": "function", "function": {**named, "parameters": schema}}


# What the SDK's `chat` takes for a request: the body's messages, their pictures as bytes.


def arguments_of(draft: OllamaDraft, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keyword arguments of a call.

    The SDK (0.6.3, `Image.serialize_model`) sends the content of a file whose path a text is: so
    no text is given to it as a picture.
    """
    messages = cast("list[JsonObject]", body["messages"])
    if not any("images" in message for message in messages):
        return body
    return {**body, "messages": [_message(draft, message) for message in messages]}


def _message(draft: OllamaDraft, message: JsonObject) -> JsonObject:
    images = message.get("images")
    if not isinstance(images, list):
        return message
    pictures = [_bytes(draft, image) for image in cast("list[Any]", images)]
    return {**message, "images": [image for image in pictures if image is not None]}


def _bytes(draft: OllamaDraft, image: Any) -> bytes | None:
    try:
        return b64decode(image, validate=True)
    except (binascii.Error, TypeError, ValueError):
        draft.note("left out", "L3", None, "a picture that is no base64: the SDK would not send it")
        return None


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `messages` and, where there are any, `tools`.

    In the arguments pictures are bytes, for the SDK reads a text as the path of a file; in the body
    they are base64. `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for
    a history without turns, CorruptRecord where a blob is missing.
    """
    draft = draft_of(history, options, blobs)
    instructions = instructing_messages(draft)
    tools = tools_of(draft)
    messages = list(_messages(draft))
    if not messages:
        raise nothing_to_send(options)
    draft.notes.extend(outside(history, options))
    if options.cache:
        draft.note("noted", "L8", None, "the server caches by itself: there are no marks to set")
    body = present({"tools": tools, "messages": [*instructions, *messages]})
    return draft.request(arguments_of(draft, body), body)


def _messages(draft: OllamaDraft) -> Iterator[JsonObject]:
    user = OllamaMessages(draft)
    return messages_of(
        draft.history.turns,
        user,
        plain=_plain,
        answered=partial(answered_messages, draft, user, OllamaAnswer, message_of),
        went=lambda block: block.call in draft.answered,
    )


def _plain(turn: Turn) -> JsonObject | None:
    """Return the message of a turn that is one text and needs no repair, as most are."""
    block = turn.blocks[0]
    if block.mark or block.spilled or len(turn.blocks) != 1 or turn.role == "system":
        return None
    plain = block.plain
    match plain:
        case {"kind": "text", "text": str(text)} if text and not text.isspace():
            return {"role": turn.role, "content": text}
        case _:
            return None


API: Final = Api(
    name=read.NAME,
    messages="messages",
    reader=Reader(
        read.block,
        read.instructions,
        read_openai_chat.tool,
        parts=read.user_message,
        partial=read.partial,
    ),
    render=render,
    has_call_ids=False,
)
