"""A request to Ollama's chat API, read from its body, and what it says as events.

Shapes: Ollama's `docs/api.md`, "Generate a chat completion". Messages stay native, as the program
spelled them; one of a user that is a plain text becomes that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any, Final, cast
from uuid import UUID

from onrecord.adapters.wire.answer import Block, Place, Recording, recorded
from onrecord.adapters.wire.api import Sent
from onrecord.adapters.wire.nesting import read_object
from onrecord.adapters.wire.ollama.blocks import API, blocks_of, event_of
from onrecord.adapters.wire.unnamed_calls import UnnamedCalls
from onrecord.domain.blobs import spill
from onrecord.domain.content import Native, Role, Text
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

_ENDLESS: Final = "num_predict"


def read_request(body: bytes, _path: str = "", /) -> Sent:
    """Return what a request's body asks.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_object(body)
    messages = _objects(sent.get("messages", []), "messages")
    leading = list(takewhile(lambda message: message.get("role") == "system", messages))
    following = messages[len(leading) :]
    model, options = sent.get("model"), sent.get("options")
    most = cast("JsonObject", options).get(_ENDLESS) if isinstance(options, dict) else None
    return Sent(
        api=API,
        body=sent,
        model=model if isinstance(model, str) else None,
        stream=sent.get("stream") is not False,
        max_tokens=most if isinstance(most, int) else None,
        system=_system(leading),
        tools=None if sent.get("tools") is None else _objects(sent["tools"], "tools"),
        messages=tuple(following),
        pieces=tuple(_pieces(following)),
        answers_earlier=_answers_earlier(following),
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
        for place, run in groupby(new, key=lambda piece: piece.message)
    ]
    spilled: dict[str, bytes] = {}
    for _, blobs in recordings:
        spilled.update(blobs)
    return tuple(event for events, _ in recordings for event in events), spilled


def instructions(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's instructions in force.

    They are the messages of the system that lead the others: one that is a plain text as that text,
    else all as the object {"messages": [...]}, as they were sent.
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


def _system(leading: list[JsonObject]) -> str | JsonObject | None:
    match leading:
        case []:
            return None
        case [{"content": str(text)} as only] if only.keys() == _PLAIN:
            return text
        case _:
            return {"messages": leading}


def _answers_earlier(messages: Sequence[JsonObject]) -> bool:
    roles = (message.get("role") for message in messages)
    return "tool" in takewhile(lambda role: role != "assistant", roles)


def _pieces(messages: Sequence[JsonObject]) -> Iterator[Piece]:
    """Yield the blocks of messages; results that name no call are of the answer before them."""
    made = UnnamedCalls()
    for place, message in enumerate(messages):
        role = message.get("role")
        match role:
            case "assistant":
                made = UnnamedCalls()
                for block in blocks_of(message, made):
                    yield _piece(place, "assistant", block.value, block.call)
            case "tool":
                yield from _result(place, message, made)
            case "user" | "system" if _is_plain(message):
                yield _piece(place, role, {"type": "text", "text": message["content"]}, None)
            case "system":
                yield _piece(place, "system", message, None)
            case str():
                yield _piece(place, "user", message, None)
            case _:
                raise InvalidContent("a message is said by nobody: give it a `role`")


def _result(place: int, message: JsonObject, made: UnnamedCalls) -> Iterator[Piece]:
    """Yield a tool's message as a result, of the first open call if it names neither call nor tool.

    As the user's words where no call awaits it.
    """
    own, name = message.get("tool_call_id"), message.get("tool_name")
    given = own if isinstance(own, str) and own else None
    call = made.result(name if isinstance(name, str) and name else None, given)
    if call is None:
        yield _piece(place, "user", message, None)
    else:
        yield _piece(place, "tool", message, None if given else call)


def _piece(place: int, role: str, block: JsonObject, call: str | None) -> Piece:
    return Piece(place, role, block, encoded(role, block), call)


def _is_plain(message: JsonObject) -> bool:
    return message.keys() == _PLAIN and isinstance(message["content"], str)


def _message(
    message: JsonObject, run: list[Piece], responses: Iterator[UUID], line: UUID | None
) -> Recording:
    """Return the events of blocks of one message."""
    first = run[0]
    match first.role:
        case "assistant":
            blocks = [Block(index, piece.block, piece.call) for index, piece in enumerate(run)]
            return recorded(blocks, Place(API, next(responses), line), event_of)
        case "tool":
            value, spilled = spill(message)
            call: str = first.call or message["tool_call_id"]
            native = Native(api=API, value=value)
            return (ToolResultRecorded(call_id=call, content=native, line=line),), spilled
        case "system":
            return _by_caller(message, first, "system", line)
        case _:
            return _by_caller(message, first, "user", line)


def _by_caller(message: JsonObject, piece: Piece, role: Role, line: UUID | None) -> Recording:
    if piece.block is not message:
        text = Text(text=message["content"])
        return (MessageRecorded(role=role, content=(text,), line=line),), {}
    value, spilled = spill(message)
    native = Native(api=API, value=value)
    return (MessageRecorded(role=role, content=(native,), line=line),), spilled


def _objects(value: object, member: str) -> list[JsonObject]:
    """Return a list of objects; InvalidContent where it is none."""
    if isinstance(value, list) and all(isinstance(it, dict) for it in cast("list[Any]", value)):
        return cast("list[JsonObject]", value)
    raise InvalidContent(f"`{member}` is no list of objects: send it as this API spells it")
