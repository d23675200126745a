"""How the wire of Anthropic's Messages API is read."""

from __future__ import annotations

import sys
from typing import Final

from onrecord.adapters.capture.anthropic_batches import BATCHES
from onrecord.adapters.capture.anthropic_body import read_body
from onrecord.adapters.capture.anthropic_envelope import API
from onrecord.adapters.capture.anthropic_frames import FramedMessageStream
from onrecord.adapters.capture.anthropic_kinds import event_of
from onrecord.adapters.capture.anthropic_paths import ENDPOINTS
from onrecord.adapters.capture.anthropic_requests import instructions, read_request, said, tools
from onrecord.adapters.capture.anthropic_stream import MessageStream
from onrecord.adapters.capture.eventstream import FRAMES
from onrecord.adapters.capture.sse import EVENT_STREAM
from onrecord.adapters.capture.wire import Wire


def _family() -> type[Exception] | None:
    if "anthropic" not in sys.modules:
        return None
    from anthropic import AnthropicError

    return AnthropicError


WIRE: Final = Wire(
    api=API,
    streams={EVENT_STREAM: MessageStream, FRAMES: FramedMessageStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    said=said,
    instructions=instructions,
    tools=tools,
    endpoints=ENDPOINTS,
    told=frozenset(
        {
            "/messages",
            "/system",
            "/tools/*/description",
            "/tools/*/input_schema",
            "/tools/*/input_examples",
            "/tools/*/configs",  # Its members are the names of tools.
            "/output_config",
            "/output_format",
        }
    ),
    headers=(
        *("anthropic-version", "anthropic-beta"),
        *("x-amzn-bedrock-guardrailidentifier", "x-amzn-bedrock-guardrailversion"),
    ),
    family=_family,
    batches=BATCHES,
)
