"""How the wire of OpenAI's Responses API is read."""

from __future__ import annotations

from typing import Final

from onrecord.adapters.wire.api import Endpoint, Wire
from onrecord.adapters.wire.bodies.sse import EVENT_STREAM
from onrecord.adapters.wire.openai import HEADERS, TOLD_OF_A_TOOL, family
from onrecord.adapters.wire.openai_responses.answers import API, read_body
from onrecord.adapters.wire.openai_responses.kinds import event_of
from onrecord.adapters.wire.openai_responses.requests import instructions, read_request, said, tools
from onrecord.adapters.wire.openai_responses.stream import ResponseStream

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
