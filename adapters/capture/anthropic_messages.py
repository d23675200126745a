"""How the wire of Anthropic's Messages API is read."""

from __future__ import annotations

from typing import Final

from hansard.adapters.capture.anthropic_body import read_body
from hansard.adapters.capture.anthropic_envelope import API
from hansard.adapters.capture.anthropic_kinds import event_of
from hansard.adapters.capture.anthropic_requests import instructions, read_request, said, tools
from hansard.adapters.capture.anthropic_stream import MessageStream
from hansard.adapters.capture.wire import Wire

WIRE: Final = Wire(
    api=API,
    stream=MessageStream,
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    said=said,
    instructions=instructions,
    tools=tools,
)
