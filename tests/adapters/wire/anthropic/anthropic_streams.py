"""Streams of Anthropic's API made event by event, and what is read of them."""

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.anthropic.stream import MessageStream
from tests.anthropic_wire import JsonObject, event, message, stream_events


def fed(*parts: bytes) -> MessageStream:
    stream = MessageStream()
    for part in parts:
        stream.feed(part)
    return stream


def answered(*events: JsonObject) -> Answer:
    return fed(*map(event, events)).finish()


def around(*inner: JsonObject, stop_reason: str = "end_turn") -> list[JsonObject]:
    """A message's first event, these, and its last two."""
    first, *last = stream_events(message(stop_reason=stop_reason))
    return [first, *inner, *last]


def start(index: int, block: JsonObject) -> JsonObject:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **members: object) -> JsonObject:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **members}}


def stop(index: int) -> JsonObject:
    return {"type": "content_block_stop", "index": index}


def blocks(answer: Answer) -> list[JsonObject]:
    return [block.value for block in answer.blocks]
