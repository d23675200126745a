"""How the wire of OpenAI's Responses API is read."""

from __future__ import annotations

from typing import Final

from hansard.adapters.capture.openai_responses_body import read_body
from hansard.adapters.capture.openai_responses_envelope import API
from hansard.adapters.capture.openai_responses_kinds import event_of
from hansard.adapters.capture.openai_responses_requests import (
    instructions,
    read_request,
    said,
    tools,
)
from hansard.adapters.capture.openai_responses_stream import ResponseStream
from hansard.adapters.capture.wire import Wire

WIRE: Final = Wire(
    api=API,
    stream=ResponseStream,
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    said=said,
    instructions=instructions,
    tools=tools,
)
