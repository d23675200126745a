"""How the wire of Ollama's chat API is read."""

from __future__ import annotations

import sys
from typing import Final

from onrecord.adapters.wire.api import Endpoint, Wire
from onrecord.adapters.wire.ollama.blocks import API, event_of
from onrecord.adapters.wire.ollama.requests import instructions, read_request, said, tools
from onrecord.adapters.wire.ollama.stream import ChatStream, read_body

_TOLD: Final = ("name", "description", "parameters")


def _family() -> type[Exception] | None:
    """Return the error of the SDK's own, once something imported that (ollama 0.6.3)."""
    if "ollama" not in sys.modules:
        return None
    from ollama import ResponseError

    return ResponseError


WIRE: Final = Wire(
    api=API,
    streams={"application/x-ndjson": ChatStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    said=said,
    instructions=instructions,
    tools=tools,
    endpoints=(Endpoint("POST", "api/chat", "turn"),),
    told=frozenset(
        {"/messages", "/format", "/options", *(f"/tools/*/function/{told}" for told in _TOLD)}
    ),
    family=_family,
    is_respelled=True,
)
