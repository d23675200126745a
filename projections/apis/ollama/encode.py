"""What a history says as messages of Ollama's: answers, what others say, and results of calls."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from onrecord.domain.content import Document, Role
from onrecord.domain.documents import modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import Answer, failed, paragraphs, words_for_nothing
from onrecord.projections.apis.documents import Behind
from onrecord.projections.apis.draft import Draft, RuleNames
from onrecord.projections.apis.ollama.read import NAME, kind_of
from onrecord.projections.apis.request import Options
from onrecord.projections.apis.routing import Router
from onrecord.projections.apis.user_messages import UserMessages
from onrecord.projections.history.document_bytes import (
    INLINE,
    bytes_of,
    is_base64,
    is_remote,
    told_in,
)
from onrecord.projections.history.history import Block, History


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
    return OllamaDraft(history, options, blobs, Router(history, options), model)


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
    message: JsonObject = {"role": "assistant", "content": paragraphs(answer.texts)}
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
    function = {"name": name, "arguments": draft.arguments(block)}
    return {"id": block.call_id or "", "function": function}


# All other messages, and results. A part is a text, or a picture in base64.


class OllamaMessages(UserMessages[OllamaDraft]):
    """Makes the messages of one request that are not the assistant's, in order."""

    UNREAD = "the API takes no {} here"

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

    def message(self, role: Role, parts: list[JsonObject], blocks: Sequence[Block]) -> JsonObject:
        """Return the message, pictures only where there are some."""
        return {"role": role, "content": "\n\n".join(_texts(parts)), **_images(parts)}

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
        return self.words(block, document) if encoded is None else encoded

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
