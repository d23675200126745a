"""How the wire of OpenAI's Chat Completions API is read, of compatible servers too."""

from __future__ import annotations

from typing import Final

from onrecord.adapters.wire.api import Endpoint, Wire
from onrecord.adapters.wire.bodies.sse import EVENT_STREAM
from onrecord.adapters.wire.openai import BATCHES, HEADERS, TOLD_OF_A_TOOL, family
from onrecord.adapters.wire.openai_chat.answers import API, event_of, read_body
from onrecord.adapters.wire.openai_chat.requests import instructions, read_request, said, tools
from onrecord.adapters.wire.openai_chat.stream import CompletionStream

WIRE: Final = Wire(
    api=API,
    streams={EVENT_STREAM: CompletionStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    said=said,
    instructions=instructions,
    tools=tools,
    endpoints=(
        Endpoint("POST", "chat/completions", "turn"),
        # Batches may hold requests of either API.
        Endpoint("POST", "batches/*/cancel", "status"),
        Endpoint("POST", "batches", "later"),
        Endpoint("POST", "files", "upload"),
        Endpoint("GET", "batches/*", "status"),
        Endpoint("GET", "batches", "status"),
        Endpoint("GET", "files/*/content", "results"),
    ),
    told=frozenset(
        {
            "/messages",
            "/response_format",
            "/prediction",
            "/stop",
            "/choices",  # Of an answer: log probabilities of what was said.
            *(f"/functions/*/{told}" for told in TOLD_OF_A_TOOL),
            *(
                f"/tools/*/{kind}/{told}"
                for kind in ("function", "custom")
                for told in TOLD_OF_A_TOOL
            ),
        }
    ),
    headers=HEADERS,
    family=family,
    batches=BATCHES,
)
