"""Requests to Ollama's chat API.

The rules L1 to L8 are listed in docs/rendering.md. The server checks next to nothing: what is
obeyed here is what its models and templates can read. Each event is a message of its own and each
answer one, so that a later request begins with the bytes of the earlier ones.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from onrecord.domain.content import Native, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Api, Reader
from onrecord.projections.apis.foreign import instructions_told, tool_told, whole
from onrecord.projections.apis.ollama import read as neutral_ollama
from onrecord.projections.apis.ollama.draft import Draft, draft_of
from onrecord.projections.apis.ollama.encode import (
    answers_in,
    message_of,
    messages_said,
    spell_results,
)
from onrecord.projections.apis.openai_chat import read as neutral_openai_chat
from onrecord.projections.apis.request import Options, Request, nothing_to_send, outside
from onrecord.projections.apis.tools import OLLAMA, schema_for, tools_for
from onrecord.projections.history.history import Block, History, Turn
from onrecord.projections.history.report import report_of

# Instructions and tools in Ollama's spelling.


def spell_instructions(draft: Draft) -> list[JsonObject]:
    """Return the messages that a conversation begins with."""
    instructions = draft.history.instructions
    match instructions.content if instructions else "":
        case str() as text:
            return _instructed(text)
        case Text(text=text):
            return _instructed(text)
        case Native(api="ollama") as native:
            held: Any = whole(native, draft.blobs).value.get("messages")
            listed = cast("list[Any]", held) if isinstance(held, list) else []
            return [cast("JsonObject", each) for each in listed if isinstance(each, dict)]
        case Native() as native:
            text, note = instructions_told(whole(native, draft.blobs))
            draft.notes.append(note)
            return _instructed(text)


def spell_tools(draft: Draft) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    spelled: list[JsonObject] = []
    for tool in tools_for(draft.history.tools, "ollama"):
        match tool:
            case ToolDefinition():
                spelled.append(_definition(draft, tool))
            case Native(api="ollama"):
                spelled.append(whole(tool, draft.blobs).value)
            case Native():
                neutral, note = tool_told(whole(tool, draft.blobs))
                draft.notes.append(note)
                spelled += [_definition(draft, neutral)] if neutral else []
    return spelled or None


def _instructed(text: str) -> list[JsonObject]:
    return [{"role": "system", "content": text}] if text.strip() else []


def _definition(draft: Draft, tool: ToolDefinition) -> JsonObject:
    told: JsonObject = {"name": draft.tool_name(tool.name, None)}
    if tool.description is not None:
        told["description"] = tool.description
    schema, done = schema_for(tool.input_schema, OLLAMA)
    if done:
        draft.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
    return {"type": "function", "function": {**told, "parameters": schema}}


# What the SDK's `chat` takes for a request: the body's messages, their pictures as bytes.


def arguments_of(draft: Draft, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keyword arguments of a call.

    The SDK (0.6.3, `Image.serialize_model`) sends the content of a file whose path a text is: so
    no text is given to it as a picture.
    """
    messages = cast("list[JsonObject]", body["messages"])
    if not any("images" in message for message in messages):
        return body
    return {**body, "messages": [_message(draft, message) for message in messages]}


def _message(draft: Draft, message: JsonObject) -> JsonObject:
    images = message.get("images")
    if not isinstance(images, list):
        return message
    shown = [_bytes(draft, image) for image in cast("list[Any]", images)]
    return {**message, "images": [image for image in shown if image is not None]}


def _bytes(draft: Draft, image: Any) -> bytes | None:
    try:
        return b64decode(image, validate=True)
    except (binascii.Error, TypeError, ValueError):
        draft.note("left out", "L3", None, "a picture that is no base64: the SDK would not send it")
        return None


_RESULTS: Final = ("result", "missing")


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `messages` and, where there are any, `tools`.

    In the arguments pictures are bytes, for the SDK reads a text as the path of a file; in the body
    they are base64. `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for
    a history without turns, CorruptRecord where a blob is missing.
    """
    draft = draft_of(history, options, blobs)
    instructions = spell_instructions(draft)
    tools = spell_tools(draft)
    messages = list(_messages(draft))
    if not messages:
        raise nothing_to_send(options)
    draft.notes.extend(outside(history, options))
    if options.cache:
        draft.note("noted", "L8", None, "the server caches by itself: there are no marks to set")
    given: dict[str, Any] = {"tools": tools, "messages": [*instructions, *messages]}
    body = {name: value for name, value in given.items() if value is not None}
    arguments = arguments_of(draft, body)
    report = report_of([*history.notes, *draft.notes], draft.router.routes)
    return Request(arguments, options, report, body)


def _messages(draft: Draft) -> Iterator[JsonObject]:
    turns = draft.history.turns
    for place, turn in enumerate(turns):
        if (plain := _plain(turn)) is not None:
            yield plain
        elif turn.role == "assistant":
            after = turns[place + 1] if place + 1 < len(turns) else None
            yield from _answered(draft, turn, _results_in(after))
        else:
            yield from messages_said(draft, turn.role, _unanswered(draft, turn))


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


def _answered(draft: Draft, turn: Turn, results: dict[int | None, Block]) -> Iterator[JsonObject]:
    """Yield the messages of an assistant's turn, behind each the results of its calls."""
    for answer in answers_in(draft, turn.blocks):
        message = message_of(draft, answer, results)
        if message is not None:
            yield message
        yield from spell_results(
            draft, [results[call.call] for call in answer.calls if call.call in results]
        )


def _results_in(turn: Turn | None) -> dict[int | None, Block]:
    """Return the results that a user's turn begins with, by call; none if it is no user's turn."""
    if turn is None or turn.role != "user":
        return {}
    return {block.call: block for block in turn.blocks if block.mark in _RESULTS}


def _unanswered(draft: Draft, turn: Turn) -> Iterator[Block]:
    """Yield what a turn says beside the results that went with the calls before it."""
    for block in turn.blocks:
        if block.mark not in _RESULTS or block.call not in draft.answered:
            yield block


API: Final = Api(
    name=neutral_ollama.NAME,
    messages="messages",
    reader=Reader(
        neutral_ollama.neutral,
        neutral_ollama.instructions,
        neutral_openai_chat.tool,
        parts=neutral_ollama.said_by_the_user,
        partial=neutral_ollama.partial,
    ),
    render=render,
    has_call_ids=False,
)
