"""How the wire of Bedrock's Converse API is read."""

from __future__ import annotations

import sys
from typing import Final, cast

from onrecord.adapters.capture.bedrock_converse_body import read_body
from onrecord.adapters.capture.bedrock_converse_envelope import API
from onrecord.adapters.capture.bedrock_converse_kinds import event_of
from onrecord.adapters.capture.bedrock_converse_requests import (
    instructions,
    read_request,
    said,
    tools,
)
from onrecord.adapters.capture.bedrock_converse_stream import ConverseStream
from onrecord.adapters.capture.eventstream import FRAMES
from onrecord.adapters.capture.wire import Endpoint, Wire

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
)
