"""What services stream, in the bytes of their wire: deltas of a text, an event a chunk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.bedrock_wire import events
from tests.bench.payload import API as ANTHROPIC
from tests.bench.payload import text
from tests.bench.spellings import BEDROCK, CHAT, GEMINI, OLLAMA, RESPONSES

JsonObject = dict[str, Any]

_PIECE: Final = 20


def streamed(api: str, deltas: int) -> list[bytes]:
    """Return a stream with so many deltas of a text, an event a chunk, as services send it."""
    spelled = _SPELLED.get(api, _as_sse)
    chunks = [spelled(event) for event in _STREAMS[api](deltas)]
    return [*chunks, b"data: [DONE]\n\n"] if api == CHAT else chunks


def _as_sse(event: JsonObject) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


def _as_sse_of_gemini(event: JsonObject) -> bytes:
    return f"data: {json.dumps(event, separators=(',', ':'))}\r\n\r\n".encode()


def _as_line(event: JsonObject) -> bytes:
    return f"{json.dumps(event, separators=(',', ':'))}\n".encode()


_SPELLED: Final[Mapping[str, Callable[[JsonObject], bytes]]] = {
    GEMINI: _as_sse_of_gemini,
    OLLAMA: _as_line,
    BEDROCK: events,
}


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


def _content_chunks(deltas: int) -> Iterator[JsonObject]:
    beside: JsonObject = {"modelVersion": "gemini-3-pro-preview", "responseId": "r_1"}
    for number, piece in enumerate(_pieces(deltas), 1):
        content: JsonObject = {"parts": [{"text": piece}], "role": "model"}
        stop: JsonObject = {"finishReason": "STOP"} if number == deltas else {}
        counts = {"promptTokenCount": 9, "candidatesTokenCount": number, "totalTokenCount": 9}
        candidate: JsonObject = {"content": content, **stop, "index": 0}
        yield {"candidates": [candidate], "usageMetadata": counts, **beside}


def _chat_lines(deltas: int) -> Iterator[JsonObject]:
    head: JsonObject = {"model": "qwen3", "created_at": "2026-11-20T10:00:00.123456789Z"}
    for piece in _pieces(deltas):
        yield {**head, "message": {"role": "assistant", "content": piece}, "done": False}
    took = {"total_duration": 1, "prompt_eval_count": 9, "eval_count": deltas}
    said = {"role": "assistant", "content": ""}
    yield {**head, "message": said, "done": True, "done_reason": "stop", **took}


def _frames(deltas: int) -> Iterator[JsonObject]:
    yield {"messageStart": {"role": "assistant", "p": "abcdef"}}
    for number, piece in enumerate(_pieces(deltas)):
        place: JsonObject = {"contentBlockIndex": 0, "p": "x" * (number % 16)}
        yield {"contentBlockDelta": {"delta": {"text": piece}, **place}}
    yield {"contentBlockStop": {"contentBlockIndex": 0}}
    yield {"messageStop": {"stopReason": "end_turn"}}
    usage = {"inputTokens": 9, "outputTokens": deltas, "totalTokens": 9 + deltas}
    yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 9}}}


_STREAMS: Final[Mapping[str, Callable[[int], Iterator[JsonObject]]]] = {
    ANTHROPIC: _message_events,
    CHAT: _chunks,
    RESPONSES: _response_events,
    GEMINI: _content_chunks,
    OLLAMA: _chat_lines,
    BEDROCK: _frames,
}
