"""What services answer, in the bytes of their wire: whole bodies, and streams of text deltas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.bench.payload import API as ANTHROPIC
from tests.bench.payload import text
from tests.bench.spellings import CHAT, RESPONSES

JsonObject = dict[str, Any]

_PIECE: Final = 20


def answered(api: str, number: int) -> tuple[bytes, JsonObject]:
    """Return an answer of 1 KB, and what a program appends of it to its list."""
    answer, said = _ANSWERS[api](number)
    return json.dumps(answer).encode(), said


def streamed(api: str, deltas: int) -> list[bytes]:
    """Return a stream with so many deltas of a text, an event a chunk, as services send it."""
    chunks = [_spelled(event) for event in _STREAMS[api](deltas)]
    return [*chunks, b"data: [DONE]\n\n"] if api == CHAT else chunks


def _spelled(event: JsonObject) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


def _pieces(deltas: int) -> Iterator[str]:
    said = text()
    for number in range(deltas):
        at = number * _PIECE % (len(said) - _PIECE)
        yield said[at : at + _PIECE]


def _message_events(deltas: int) -> Iterator[JsonObject]:
    message: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    yield {"type": "message_start", "message": {**message, "model": "m", "stop_reason": None}}
    block = {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    for piece in _pieces(deltas):
        delta = {"type": "text_delta", "text": piece}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
    yield {"type": "message_stop"}


def _chunks(deltas: int) -> Iterator[JsonObject]:
    yield _chunk({"role": "assistant", "content": "", "refusal": None})
    for number, piece in enumerate(_pieces(deltas)):
        yield _chunk({"content": piece}, obfuscation="x" * (number % 16))
    yield _chunk({}, stop="stop")


def _chunk(delta: JsonObject, stop: str | None = None, **more: Any) -> JsonObject:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
    head: JsonObject = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": "m",
        "service_tier": "default",
        "system_fingerprint": None,
    }
    return {**head, "choices": [choice], "usage": None, **more}


def _response_events(deltas: int) -> Iterator[JsonObject]:
    numbered: list[JsonObject] = list(_items(deltas))
    for number, event in enumerate(numbered):
        yield {"type": event["type"], "sequence_number": number, **event}


def _items(deltas: int) -> Iterator[JsonObject]:
    response: JsonObject = {"id": "resp_1", "object": "response", "model": "m"}
    item: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant"}
    place: JsonObject = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    pieces = list(_pieces(deltas))
    said = "".join(pieces)
    empty: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    full = {**empty, "text": said}
    begun: JsonObject = {**item, "status": "in_progress", "content": []}
    whole = {**item, "status": "completed", "content": [full]}
    started: JsonObject = {**response, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
    yield {"type": "response.content_part.added", **place, "part": empty}
    for number, piece in enumerate(pieces):
        beside: JsonObject = {"logprobs": [], "obfuscation": "x" * (number % 16)}
        yield {"type": "response.output_text.delta", **place, "delta": piece, **beside}
    yield {"type": "response.output_text.done", **place, "text": said, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": full}
    yield {"type": "response.output_item.done", "output_index": 0, "item": whole}
    ended = {**response, "status": "completed", "output": [whole]}
    yield {"type": "response.completed", "response": ended}


_STREAMS: Final[Mapping[str, Callable[[int], Iterator[JsonObject]]]] = {
    ANTHROPIC: _message_events,
    CHAT: _chunks,
    RESPONSES: _response_events,
}


def _message(number: int) -> tuple[JsonObject, JsonObject]:
    content = [{"type": "text", "text": text()}]
    said: JsonObject = {"role": "assistant", "content": content}
    told = {"id": f"msg_{number}", "type": "message", "model": "m", "stop_reason": "end_turn"}
    return {**told, **said, "usage": {"input_tokens": 9, "output_tokens": 9}}, said


def _completion(number: int) -> tuple[JsonObject, JsonObject]:
    said: JsonObject = {"role": "assistant", "content": text(), "refusal": None}
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": "stop"}
    told = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "m"}
    return {**told, "choices": [choice]}, said


def _response(number: int) -> tuple[JsonObject, JsonObject]:
    part: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": text()}
    said: JsonObject = {"id": f"msg_of_{number}", "type": "message", "status": "completed"}
    said |= {"role": "assistant", "content": [part]}
    told = {"id": f"resp_{number}", "object": "response", "model": "m", "status": "completed"}
    return {**told, "output": [said]}, said


_ANSWERS: Final[dict[str, Callable[[int], tuple[JsonObject, JsonObject]]]] = {
    ANTHROPIC: _message,
    CHAT: _completion,
    RESPONSES: _response,
}
