"""A request to Anthropic's Messages API, read from its body, and what its messages say as events.

Shapes: platform.claude.com, "Messages". Blocks stay native, as the program spelled them; a content
that is a plain string becomes plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote
from uuid import UUID

from onrecord.adapters.wire.answer import Block, Place, Recording, recorded
from onrecord.adapters.wire.anthropic.answers import API, event_of
from onrecord.adapters.wire.api import Endpoint, Sent
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
from onrecord.projections.matching.units import Piece, messages_of, pieces

# Where Anthropic's Messages API is spoken, and what paths say where bodies name no model.
#
# Spellings: anthropic 2.11.0, lib/bedrock, lib/vertex; docs.aws.amazon.com, "InvokeModel";
# docs.cloud.google.com, "Request predictions with Claude models".

_IN_BEDROCK: Final = re.compile(
    r"(?:.*/)?model/(?P<model>.+)/invoke(?P<stream>-with-response-stream)?/?"
)
_IN_VERTEX: Final = re.compile(
    r".*publishers/anthropic/models/(?P<model>[^/]+):(?P<stream>streamR|r)awPredict/?"
)


class Asked(NamedTuple):
    """What a path says: the model, and whether the answer is streamed."""

    model: str | None = None
    stream: bool = False


def asked_of(path: str) -> Asked:
    """Return what the path of a request says; Anthropic's own says nothing."""
    plain = unquote(path)
    if found := _IN_BEDROCK.fullmatch(plain):
        return Asked(found["model"], found["stream"] is not None)
    if found := _IN_VERTEX.fullmatch(plain):
        return Asked(found["model"], found["stream"] == "streamR")
    return Asked()


def _in_bedrock() -> Iterator[Endpoint]:
    """Yield the calls of models that are, or may be, Anthropic's.

    An ARN's slash, where it is not escaped, makes it a segment more. That of an inference profile
    of one's own does not tell whose model it is: what has another body is recorded unread.
    """
    profiles = ("model/arn*application-inference-profile/*", "model/arn*application-inference-*")
    for model in ("model/arn:*/*anthropic*", *profiles, "model/*anthropic*"):
        for call in ("invoke", "invoke-with-response-stream"):
            yield Endpoint("POST", f"{model}/{call}", "turn")


_PUBLISHED: Final = "publishers/anthropic/models"

ENDPOINTS: Final = (
    Endpoint("POST", "v1/messages/batches", "batch"),
    Endpoint("GET", "v1/messages/batches/*/results", "results"),
    Endpoint("POST", "v1/messages/batches/*/cancel", "none"),
    Endpoint("GET", "v1/messages/batches/*", "none"),
    Endpoint("GET", "v1/messages/batches", "none"),
    Endpoint("POST", "v1/messages", "turn"),
    Endpoint("POST", f"{_PUBLISHED}/count-tokens:rawPredict", "none"),
    Endpoint("POST", f"{_PUBLISHED}/*:rawPredict", "turn"),
    Endpoint("POST", f"{_PUBLISHED}/*:streamRawPredict", "turn"),
    *_in_bedrock(),
)
"""Its own, Vertex's and Bedrock's."""


def read_request(body: bytes, path: str = "", /) -> Sent:
    """Return what a request's body asks; on Bedrock and Vertex its path names the model.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_object(body)
    asked = asked_of(path)
    model, max_tokens, system = sent.get("model"), sent.get("max_tokens"), sent.get("system")
    if not (system is None or isinstance(system, str | list)):
        raise InvalidContent("`system` is neither a string nor a list: send one of them")
    messages = _objects(sent.get("messages"), "messages")
    continued = _continued(sent.get("thread"))
    return Sent(
        api=API,
        body=sent,
        model=model if isinstance(model, str) else asked.model,
        stream=asked.stream or sent.get("stream") is True,
        max_tokens=max_tokens if isinstance(max_tokens, int) else None,
        system=system,
        tools=None if sent.get("tools") is None else _objects(sent["tools"], "tools"),
        messages=tuple(messages),
        pieces=tuple(pieces(messages)),
        refers_to=continued,
        keeps_in_force=continued is not None,
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
    for message in messages_of(new, sent.messages):
        told, blobs = _message(message, responses, line)
        events.extend(told)
        spilled.update(blobs)
    return tuple(events), spilled


def instructions(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's `system` in force.

    A list is kept as the object {"system": [...]}, for a native value is an object.
    """
    system: str | list[Any] | None = sent.system
    if system is None or isinstance(system, str):
        return (InstructionsSet(content=system or "", line=line),), {}
    value, spilled = spill({"system": system})
    return (InstructionsSet(content=Native(api=API, value=value), line=line),), spilled


def tools(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's `tools` in force, each as it was spelled."""
    values, spilled = spill(sent.tools or [])
    natives = tuple(Native(api=API, value=value) for value in values)
    return (ToolsDeclared(tools=natives, line=line),), spilled


def _continued(thread: Any) -> str | None:
    """Return the id of the message that a request goes on from, in a thread that the service holds.

    Such a request says only what is new; the thread keeps its instructions and tools.
    """
    match thread:
        case {"type": "continue", "previous_message_id": str() as previous}:
            return previous
        case _:
            return None


def _message(message: JsonObject, responses: Iterator[UUID], line: UUID | None) -> Recording:
    content = message.get("content")
    match message.get("role"):
        case "assistant":
            blocks = [Block(i, block) for i, block in enumerate(_blocks(content))]
            return (
                recorded(blocks, Place(API, next(responses), line), event_of)
                if blocks
                else ((), {})
            )
        case "user" | "system" as role if isinstance(content, str):
            return (MessageRecorded(role=role, content=(Text(text=content),), line=line),), {}
        case "user" | "system" as role:
            return _by_caller(_blocks(content), role, line)
        case _:
            raise InvalidContent(
                "a message is said by nobody known: its `role` must be user, assistant or system"
            )


def _by_caller(blocks: list[JsonObject], role: Role, line: UUID | None) -> Recording:
    """Return an event a tool result, and one for what is said between them."""
    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    for is_result, run in groupby(blocks, _is_result):
        natives: list[Said] = []
        for block in run:
            value, blobs = spill(block)
            natives.append(Native(api=API, value=value))
            spilled.update(blobs)
        if is_result:
            events.extend(_result(native, line) for native in cast("list[Native]", natives))
        else:
            events.append(MessageRecorded(role=role, content=tuple(natives), line=line))
    return tuple(events), spilled


def _is_result(block: JsonObject) -> bool:
    call = block.get("tool_use_id")
    return block.get("type") == "tool_result" and isinstance(call, str) and call != ""


def _result(native: Native, line: UUID | None) -> ToolResultRecorded:
    return ToolResultRecorded(
        call_id=native.value["tool_use_id"],
        content=native,
        is_error=native.value.get("is_error") is True,
        line=line,
    )


def _blocks(content: object) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return _objects(content, "content")


def _objects(value: object, member: str) -> list[JsonObject]:
    """Return a list of objects; InvalidContent where it is none."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if all(isinstance(item, dict) for item in items):
            return cast("list[JsonObject]", items)
    raise InvalidContent(f"`{member}` is no list of objects: send it as this API spells it")
