"""A request to OpenAI's Chat Completions API, read from its body, and what it says as events.

Shapes: platform.openai.com, "Create chat completion". Messages stay native, as the program spelled
them; a content that is a plain string becomes plain text. A message of a user is a block a part,
but one with members of its own (a name) is one block, whole; so is what a tool or the system says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any, Final, cast
from uuid import UUID

from onrecord.adapters.wire.answer import Block, Place, Recording, recorded
from onrecord.adapters.wire.api import Sent
from onrecord.adapters.wire.nesting import read_object
from onrecord.adapters.wire.openai_chat.answers import API, blocks_of, event_of
from onrecord.domain.blobs import spill
from onrecord.domain.content import Native, Role, Said, Text
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import (
    InstructionsSet,
    MessageRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import encoded
from onrecord.projections.matching.units import Piece

_PLAIN: Final = {"role", "content"}
"""The members of a message that says no more than its content."""

_INSTRUCTING: Final = ("system", "developer")


def read_request(body: bytes, _path: str = "", /) -> Sent:
    """Return what a request's body asks.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_object(body)
    messages = _objects(sent.get("messages"), "messages")
    leading = list(takewhile(lambda message: message.get("role") in _INSTRUCTING, messages))
    following = messages[len(leading) :]
    model = sent.get("model")
    most = sent.get("max_completion_tokens", sent.get("max_tokens"))
    return Sent(
        api=API,
        body=sent,
        model=model if isinstance(model, str) else None,
        stream=sent.get("stream") is True,
        max_tokens=most if isinstance(most, int) else None,
        system=_system(leading),
        tools=None if sent.get("tools") is None else _objects(sent["tools"], "tools"),
        messages=tuple(following),
        pieces=tuple(
            Piece(place, role, block, encoded(role, block))
            for place, message in enumerate(following)
            for role, block in _pieces(message)
        ),
    )


def said(
    sent: Sent, new: Sequence[Piece], responses: Iterator[UUID], line: UUID | None = None
) -> Recording:
    """Return the events of blocks of a request that the log does not have, in order.

    An assistant's message was answered elsewhere; its blocks need a response to belong to, and
    take the next id of `responses`, one a message. Its calls are awaited.
    """
    recordings = [
        _message(sent.messages[place], list(run), responses, line)
        for place, run in groupby(new, key=_place)
    ]
    spilled: dict[str, bytes] = {}
    for _, blobs in recordings:
        spilled.update(blobs)
    return tuple(event for events, _ in recordings for event in events), spilled


def instructions(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's instructions in force.

    They are the messages of the system and the developer that lead the others: one that is a plain
    text as that text, else all as the object {"messages": [...]}, as they were sent.
    """
    system: str | JsonObject | None = sent.system
    if system is None or isinstance(system, str):
        return (InstructionsSet(content=system or "", line=line),), {}
    value, spilled = spill(system)
    return (InstructionsSet(content=Native(api=API, value=value), line=line),), spilled


def tools(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's `tools` in force, each as it was spelled."""
    values, spilled = spill(sent.tools or [])
    natives = tuple(Native(api=API, value=value) for value in values)
    return (ToolsDeclared(tools=natives, line=line),), spilled


def _place(piece: Piece) -> int:
    return piece.message


def _system(leading: list[JsonObject]) -> str | JsonObject | None:
    match leading:
        case []:
            return None
        case [{"role": "system", "content": str(text)} as only] if only.keys() == _PLAIN:
            return text
        case _:
            return {"messages": leading}


def _pieces(message: JsonObject) -> list[tuple[str, JsonObject]]:
    """Return the blocks of a message, each with the role of who says it."""
    role, content = message.get("role"), message.get("content")
    plain = message.keys() == _PLAIN
    match role:
        case "assistant":
            return [("assistant", block) for block in blocks_of(message)]
        case "user" if plain and isinstance(content, list) and _are_objects(content):
            return [("user", part) for part in cast("list[JsonObject]", content)]
        case "user" | "system" if plain and isinstance(content, str):
            return [(role, {"type": "text", "text": content})]
        case "system" | "developer":
            return [("system", message)]
        case "tool" if _is_result(message):
            return [("tool", message)]
        case str():
            return [("user", message)]
        case _:
            raise InvalidContent("a message is said by nobody: give it a `role`")


def _is_result(message: JsonObject) -> bool:
    call = message.get("tool_call_id")
    return isinstance(call, str) and call != ""


def _message(
    message: JsonObject, run: list[Piece], responses: Iterator[UUID], line: UUID | None
) -> Recording:
    """Return the events of blocks of one message."""
    match run[0].role:
        case "assistant":
            blocks = [Block(index, piece.block) for index, piece in enumerate(run)]
            return recorded(blocks, Place(API, next(responses), line), event_of)
        case "tool":
            value, spilled = spill(message)
            native = Native(api=API, value=value)
            call: str = message["tool_call_id"]
            return (ToolResultRecorded(call_id=call, content=native, line=line),), spilled
        case "system":
            return _by_caller(message, run, "system", line)
        case _:
            return _by_caller(message, run, "user", line)


def _by_caller(message: JsonObject, run: list[Piece], role: Role, line: UUID | None) -> Recording:
    content = message.get("content")
    if isinstance(content, str) and run[0].block is not message:
        return (MessageRecorded(role=role, content=(Text(text=content),), line=line),), {}
    spilled: dict[str, bytes] = {}
    natives: list[Said] = []
    for piece in run:
        value, blobs = spill(piece.block)
        natives.append(Native(api=API, value=value))
        spilled.update(blobs)
    return (MessageRecorded(role=role, content=tuple(natives), line=line),), spilled


def _are_objects(items: Any) -> bool:
    return all(isinstance(item, dict) for item in cast("list[Any]", items))


def _objects(value: object, member: str) -> list[JsonObject]:
    """Return a list of objects; InvalidContent where it is none."""
    if isinstance(value, list) and _are_objects(value):
        return cast("list[JsonObject]", value)
    raise InvalidContent(f"`{member}` is no list of objects: send it as this API spells it")
