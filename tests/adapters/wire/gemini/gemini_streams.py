"""Streams of Gemini's API made chunk by chunk, and what is read of them."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.blocks import recorded
from onrecord.adapters.wire.gemini.stream import ContentStream, read_body
from onrecord.adapters.wire.gemini.wire import WIRE
from onrecord.domain.events import Event
from tests.gemini_wire import JsonObject, streamed

RESPONSE = UUID(int=1)


def fed(*parts: bytes) -> ContentStream:
    stream = ContentStream()
    for part in parts:
        stream.feed(part)
    return stream


def read(*chunks: list[JsonObject], stop: str | None = "STOP") -> Answer:
    """What is read of a whole stream of these chunks."""
    return fed(streamed(*chunks, stop=stop)).finish()


def body(value: Any) -> Answer:
    """What is read of a body."""
    return read_body(json.dumps(value).encode())


def blocks(answer: Answer) -> list[JsonObject]:
    return [block.value for block in answer.blocks]


def unfinished(answer: Answer) -> list[JsonObject]:
    return [block.value for block in answer.unfinished]


def odd(answer: Answer) -> list[str]:
    return [anomaly.what for anomaly in answer.anomalies]


def events(answer: Answer) -> list[Any]:
    """The events of an answer's blocks."""
    found: Iterable[Event] = recorded(
        answer.blocks,
        WIRE.event_of,
        WIRE.api,
        RESPONSE,
        awaited=answer.awaits_results,
        ran=answer.ran,
    )[0]
    return list(found)
