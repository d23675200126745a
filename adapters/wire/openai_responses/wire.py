"""How the wire of OpenAI's Responses API is read."""

from __future__ import annotations

import sys
from typing import Final

from onrecord.adapters.wire.api import Endpoint, Wire
from onrecord.adapters.wire.openai_responses.answers import API, read_body
from onrecord.adapters.wire.openai_responses.kinds import event_of
from onrecord.adapters.wire.openai_responses.requests import instructions, read_request, said, tools
from onrecord.adapters.wire.openai_responses.stream import ResponseStream
from onrecord.adapters.wire.sse import EVENT_STREAM

# What both of OpenAI's APIs have in common on the wire.

TOLD_OF_A_TOOL: Final = ("description", "parameters", "output_schema", "input_schema", "format")
"""What a definition of a tool tells the model."""

HEADERS: Final = ("openai-beta",)
"""Headers that change what a request means."""


def family() -> type[Exception] | None:
    """Return the error that the SDK's errors descend from, once something imported that."""
    if "openai" not in sys.modules:
        return None
    from openai import OpenAIError

    return OpenAIError


WIRE: Final = Wire(
    api=API,
    streams={EVENT_STREAM: ResponseStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    said=said,
    instructions=instructions,
    tools=tools,
    endpoints=(
        Endpoint("POST", "responses/compact", "turn", compacts=True),
        Endpoint("POST", "responses", "turn"),
        Endpoint("GET", "responses/*", "answer"),
    ),
    told=frozenset(
        {
            "/input",
            "/instructions",
            "/prompt/variables",
            "/text",
            "/tools/*/server_description",
            *(f"/tools/*/{told}" for told in TOLD_OF_A_TOOL),
            *(f"/tools/*/tools/*/{told}" for told in TOLD_OF_A_TOOL),  # Of a namespace.
        }
    ),
    defined="/input/*/tools",
    held={"prompt": "a stored prompt"},
    headers=HEADERS,
    family=family,
)
