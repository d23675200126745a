"""Requests to Ollama's chat API.

The rules L1 to L8 are listed in docs/rendering.md. The server checks next to nothing: what is
obeyed here is what its models and templates can read. Each event is a message of its own and each
answer one, so that a later request begins with the bytes of the earlier ones.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader
from onrecord.projections.apis.answers import answers_in
from onrecord.projections.apis.draft import present
from onrecord.projections.apis.members import objects
from onrecord.projections.apis.ollama import read
from onrecord.projections.apis.ollama.encode import (
    OllamaAnswer,
    OllamaDraft,
    OllamaMessages,
    draft_of,
    message_of,
)
from onrecord.projections.apis.openai_chat import read as read_openai_chat
from onrecord.projections.apis.request import Options, Request, nothing_to_send, outside
from onrecord.projections.apis.tools import OLLAMA
from onrecord.projections.apis.user_messages import messages_of
from onrecord.projections.history.history import Block, History, Turn

# Instructions and tools.


def instructing_messages(draft: OllamaDraft) -> list[JsonObject]:
    """Return the messages that a conversation begins with."""
    instructions = draft.instructions()
    if isinstance(instructions, str):
        return [{"role": "system", "content": instructions}] if instructions else []
    return objects(instructions.get("messages"))


def tools_of(draft: OllamaDraft) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    tools = [
        _definition(draft, tool) if isinstance(tool, ToolDefinition) else tool
        for tool in draft.tools_in_force()
    ]
    return tools or None


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
    shown = [_bytes(draft, image) for image in cast("list[Any]", images)]
    return {**message, "images": [image for image in shown if image is not None]}


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
        answered=partial(_answered, draft, user),
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


def _answered(
    draft: OllamaDraft, user: OllamaMessages, turn: Turn, results: Mapping[int | None, Block]
) -> Iterator[JsonObject]:
    """Yield the messages of an assistant's turn, behind each the results of its calls."""
    for answer in answers_in(draft, turn.blocks, OllamaAnswer):
        message = message_of(draft, answer, results)
        if message is not None:
            yield message
        yield from user.results(results[it.call] for it in answer.calls if it.call in results)


API: Final = Api(
    name=read.NAME,
    messages="messages",
    reader=Reader(
        read.neutral,
        read.instructions,
        read_openai_chat.tool,
        parts=read.said_by_the_user,
        partial=read.partial,
    ),
    render=render,
    has_call_ids=False,
)
