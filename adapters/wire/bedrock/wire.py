"""How the wire of Bedrock's Converse API is read."""

from __future__ import annotations

import sys
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Anomaly, Answer, Block, Loss
from onrecord.adapters.wire.api import Endpoint, Wire, error_kind
from onrecord.adapters.wire.bedrock.answers import API, closed, envelope_of, event_of, message_of
from onrecord.adapters.wire.bedrock.requests import instructions, read_request, said, tools
from onrecord.adapters.wire.bedrock.stream import ConverseStream
from onrecord.adapters.wire.eventstream import FRAMES
from onrecord.adapters.wire.nesting import read_object
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject

# The answers of Bedrock's Converse API, read from the bytes of a JSON body.

_ERRORS: Final = frozenset({"message", "Message", "__type", "error"})
"""Members that errors have; no answer has one of them."""


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole.

    Never raises: a body that cannot be read is an answer without blocks that says so.
    """
    try:
        told = read_object(body)
    except MalformedJson as exc:
        return Answer(api=API, interruption=loss, detail=detail or str(exc))
    if "output" not in told and told.keys() & _ERRORS:
        error = told.get("error", told)
        return Answer(api=API, interruption="error", error=error, detail=error_kind(error))
    content = message_of(told).get("content")
    if not isinstance(content, list):
        why = "an answer without a list of content"
        return Answer(api=API, envelope=envelope_of(told), interruption="malformed", detail=why)
    return _answer(told, cast("list[Any]", content))


def _answer(told: JsonObject, content: list[Any]) -> Answer:
    whole = tuple(
        Block(index, cast("JsonObject", block))
        for index, block in enumerate(content)
        if isinstance(block, dict)
    )
    broken = len(content) - len(whole)
    stopped = told.get("stopReason") is not None
    answer = Answer(
        api=API,
        blocks=whole,
        envelope=envelope_of(told),
        interruption="malformed" if broken else None,
        detail=f"{broken} of the content is no block" if broken else None,
        anomalies=() if stopped else (Anomaly("an answer without a stop reason"),),
    )
    return closed(answer)


_MODELS: Final = ("model/arn:*/*", "model/*")
"""How paths name a model; where the slash of an ARN is not escaped it is a segment more."""


def _family() -> type[Exception] | None:
    if "botocore.exceptions" not in sys.modules:
        return None
    from botocore.exceptions import (  # type: ignore[import-untyped]  # It has no stubs.
        BotoCoreError,  # pyright: ignore[reportMissingTypeStubs]
    )

    return cast("type[Exception]", BotoCoreError)


WIRE: Final = Wire(
    api=API,
    streams={FRAMES: ConverseStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    said=said,
    instructions=instructions,
    tools=tools,
    endpoints=tuple(
        Endpoint("POST", f"{model}/{call}", "turn")
        for model in _MODELS
        for call in ("converse", "converse-stream")
    ),
    told=frozenset(
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
    family=_family,
    is_respelled=True,
)
