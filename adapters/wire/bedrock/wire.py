"""How the wire of Bedrock's Converse API is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import unquote

from onrecord.adapters.wire.api import Endpoint, Wire, answer_count, family_of
from onrecord.adapters.wire.bedrock.stream import API, ConverseStream, event_of, read_body
from onrecord.adapters.wire.eventstream import FRAMES
from onrecord.adapters.wire.requests import RequestEvents, Result, WireRequest, required_objects
from onrecord.domain.blobs import spill
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.projections.matching.units import Piece, piece_of

# A request to Bedrock's Converse API, read from its body, and what it says as events.
#
# Shapes: docs.aws.amazon.com, "Converse". The model stands in the path alone. Cache points are no
# part of what is said: they direct the provider's cache, and move from request to request.

_MARK: Final = "cachePoint"
_IN_PATH: Final = re.compile(r"(?:.*/)?model/(?P<model>.+)/converse(?:-stream)?/?")


def model_in(path: str) -> str | None:
    """Return the model that a path names; it may be an ARN, whose slash is escaped or not."""
    match = _IN_PATH.fullmatch(unquote(path))
    return match["model"] if match else None


def read_request(body: bytes, path: str = "", /) -> WireRequest:
    """Return what a request's body and path ask.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_bounded_object(body)
    messages = tuple(required_objects(sent.get("messages", []), "messages"))
    return WireRequest(
        api=API,
        body=sent,
        model=model_in(path),
        system=_system(sent.get("system")),
        tools=_tools(sent.get("toolConfig")),
        messages=messages,
        pieces=tuple(_pieces(messages)),
    )


def _pieces(messages: Sequence[JsonObject]) -> Iterator[Piece]:
    for place, message in enumerate(messages):
        role = message.get("role")
        if not isinstance(role, str):
            raise InvalidContent("a message is said by nobody: give it a `role`")
        for block in _unmarked(required_objects(message.get("content"), "content")):
            yield piece_of(place, role, block)


def _system(system: Any) -> str | JsonObject | None:
    if system is None:
        return None
    match _unmarked(required_objects(system, "system")):
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
            return _unmarked(required_objects(listed, "toolConfig.tools"))
        case _:
            raise InvalidContent("`toolConfig` has no `tools`: send them, or no `toolConfig`")


def _unmarked(blocks: Iterable[JsonObject]) -> list[JsonObject]:
    """Return blocks without cache points."""
    return [block for block in blocks if _MARK not in block]


def _result_of(piece: Piece) -> Result | None:
    match piece.block:
        case {"toolResult": {"toolUseId": str(call), **members}} if call:
            return Result(call, is_error=members.get("status") == "error")
        case _:
            return None


def _text_of(_message: JsonObject, block: JsonObject) -> str | None:
    """Return the text of a block that is a text and nothing else, and short enough for an event."""
    match spill(block)[0]:
        case {"text": str(text), **more} if not more:
            return text
        case _:
            return None


request_events: Final = RequestEvents(event_of, _result_of, _text_of, callers=("user", "system"))


# The wire.

_MODELS: Final = ("model/arn:*/*", "model/*")
"""How paths name a model; where the slash of an ARN is not escaped it is a segment more."""


WIRE: Final = Wire(
    api=API,
    streams={FRAMES: ConverseStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    request_events=request_events,
    endpoints=tuple(
        Endpoint("POST", f"{model}/{call}", "turn")
        for model in _MODELS
        for call in ("converse", "converse-stream")
    ),
    content_paths=frozenset(
        {
            "/messages",
            "/system",
            "/toolConfig/tools/*/toolSpec/description",
            "/toolConfig/tools/*/toolSpec/inputSchema",
            "/inferenceConfig/stopSequences",
            "/outputConfig",
            "/promptVariables",
            "/trace",  # Of an answer: what a guardrail found in what was said.
        }
    ),
    family=family_of("botocore.exceptions", "BotoCoreError"),
    is_respelled=True,
    answers_among=answer_count(
        lambda event: "messageStart" in event, lambda event: "messageStop" in event
    ),
)
