"""A request to Bedrock's Converse API, read from its body, and what it says as events.

Shapes: docs.aws.amazon.com, "Converse". The model stands in the path alone. Cache points are no
part of what is said: they direct the provider's cache, and move from request to request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote
from uuid import UUID

from onrecord.adapters.wire.answer import Block, Place, Recording, recorded
from onrecord.adapters.wire.api import Sent
from onrecord.adapters.wire.bedrock.answers import API, event_of
from onrecord.adapters.wire.nesting import read_object
from onrecord.domain.blobs import spill
from onrecord.domain.content import Native, Role, Said, Text
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import (
    Event,
    InstructionsSet,
    MessageRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import encoded
from onrecord.projections.matching.units import Piece

_MARK: Final = "cachePoint"
_IN_PATH: Final = re.compile(r"(?:.*/)?model/(?P<model>.+)/converse(?P<stream>-stream)?/?")


class Asked(NamedTuple):
    """What the path of a request to Bedrock says: the model, and whether the answer is streamed."""

    model: str | None
    stream: bool


def asked_of(path: str) -> Asked:
    """Return what a path says; names of models may be ARNs, whose slashes are escaped or not."""
    found = _IN_PATH.fullmatch(unquote(path))
    return Asked(found["model"], found["stream"] is not None) if found else Asked(None, False)


def read_request(body: bytes, path: str = "", /) -> Sent:
    """Return what a request's body and path ask.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_object(body)
    asked = asked_of(path)
    messages = tuple(_objects(sent.get("messages", []), "messages"))
    return Sent(
        api=API,
        body=sent,
        model=asked.model,
        stream=asked.stream,
        max_tokens=_most(sent.get("inferenceConfig")),
        system=_system(sent.get("system")),
        tools=_tools(sent.get("toolConfig")),
        messages=messages,
        pieces=tuple(_pieces(messages)),
    )


def said(
    sent: Sent, new: Sequence[Piece], responses: Iterator[UUID], line: UUID | None = None
) -> Recording:
    """Return the events of blocks of a request that the log does not have, in order.

    An assistant's message was answered elsewhere; its blocks need a response to belong to, and
    take the next id of `responses`, one a message. Its calls are awaited. Raises InvalidContent
    for a message that is none.
    """
    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    for _, run in groupby(new, key=lambda piece: piece.message):
        told, blobs = _message(list(run), responses, line)
        events.extend(told)
        spilled.update(blobs)
    return tuple(events), spilled


def instructions(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's `system` in force.

    One plain text is that text; else the list is kept as the object {"system": [...]}.
    """
    system: str | JsonObject | None = sent.system
    if system is None or isinstance(system, str):
        return (InstructionsSet(content=system or "", line=line),), {}
    value, spilled = spill(system)
    return (InstructionsSet(content=Native(api=API, value=value), line=line),), spilled


def tools(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's tools in force, each as it was spelled."""
    values, spilled = spill(sent.tools or [])
    natives = tuple(Native(api=API, value=value) for value in values)
    return (ToolsDeclared(tools=natives, line=line),), spilled


def _pieces(messages: Sequence[JsonObject]) -> Iterator[Piece]:
    for place, message in enumerate(messages):
        role = message.get("role")
        if not isinstance(role, str):
            raise InvalidContent("a message is said by nobody: give it a `role`")
        for block in _unmarked(_objects(message.get("content"), "content")):
            yield Piece(place, role, block, encoded(role, block))


def _message(run: list[Piece], responses: Iterator[UUID], line: UUID | None) -> Recording:
    """Return the events of blocks of one message."""
    match run[0].role:
        case "assistant":
            blocks = [Block(index, piece.block) for index, piece in enumerate(run)]
            return recorded(blocks, Place(API, next(responses), line), event_of)
        case "user" | "system" as role:
            return _by_caller([piece.block for piece in run], role, line)
        case _:
            raise InvalidContent(
                "a message is said by nobody known: its `role` must be user, assistant or system"
            )


def _by_caller(blocks: list[JsonObject], role: Role, line: UUID | None) -> Recording:
    """Return an event a tool result, and one for what is said between them."""
    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    for is_result, run in groupby(blocks, _is_result):
        values: list[JsonObject] = []
        for block in run:
            value, blobs = spill(block)
            values.append(value)
            spilled.update(blobs)
        if is_result:
            events.extend(_result(value, line) for value in values)
        else:
            content = tuple(map(_said, values))
            events.append(MessageRecorded(role=role, content=content, line=line))
    return tuple(events), spilled


def _said(value: JsonObject) -> Said:
    match value:
        case {"text": str(text), **more} if not more:
            return Text(text=text)
        case _:
            return Native(api=API, value=value)


def _is_result(block: JsonObject) -> bool:
    match block:
        case {"toolResult": {"toolUseId": str(call)}}:
            return call != ""
        case _:
            return False


def _result(value: JsonObject, line: UUID | None) -> ToolResultRecorded:
    held = value["toolResult"]
    return ToolResultRecorded(
        call_id=held["toolUseId"],
        content=Native(api=API, value=value),
        is_error=held.get("status") == "error",
        line=line,
    )


def _system(system: Any) -> str | JsonObject | None:
    if system is None:
        return None
    match _unmarked(_objects(system, "system")):
        case []:
            return None
        case [{"text": str(text), **more}] if not more:
            return text
        case several:
            return {"system": several}


def _tools(config: Any) -> list[JsonObject] | None:
    match config:
        case None:
            return None
        case {"tools": listed}:
            return _unmarked(_objects(listed, "toolConfig.tools"))
        case _:
            raise InvalidContent("`toolConfig` has no `tools`: send them, or no `toolConfig`")


def _most(config: Any) -> int | None:
    most = cast("JsonObject", config).get("maxTokens") if isinstance(config, dict) else None
    return most if isinstance(most, int) else None


def _unmarked(blocks: Iterable[JsonObject]) -> list[JsonObject]:
    """Return blocks without cache points."""
    return [block for block in blocks if _MARK not in block]


def _objects(value: object, member: str) -> list[JsonObject]:
    """Return a list of objects; InvalidContent where it is none."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if all(isinstance(item, dict) for item in items):
            return cast("list[JsonObject]", items)
    raise InvalidContent(f"`{member}` is no list of objects: send it as this API spells it")
