"""How the wire of OpenAI's Chat Completions API is read, of compatible servers too."""

from __future__ import annotations

from typing import Final

from hansard.adapters.capture.openai_chat_body import read_body
from hansard.adapters.capture.openai_chat_choices import API
from hansard.adapters.capture.openai_chat_kinds import event_of
from hansard.adapters.capture.openai_chat_requests import instructions, read_request, said, tools
from hansard.adapters.capture.openai_chat_stream import CompletionStream
from hansard.adapters.capture.wire import Wire

WIRE: Final = Wire(
    api=API,
    stream=CompletionStream,
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    said=said,
    instructions=instructions,
    tools=tools,
)
