"""The APIs whose wire is recorded, by name."""

from __future__ import annotations

from typing import Final

from hansard.adapters.capture import anthropic_messages, openai_chat, openai_responses
from hansard.adapters.capture.wire import Wire

WIRES: Final[dict[str, Wire]] = {
    wire.api: wire for wire in (anthropic_messages.WIRE, openai_chat.WIRE, openai_responses.WIRE)
}
