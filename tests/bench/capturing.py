"""What capturing a stream costs, beside splitting its lines and `json.loads` on each.

`python -m tests.bench.capturing [events]` prints a JSON line an API. A stream arrives an event a
chunk, as services send it, and is read to its end. Both sides only compute, so it is the
processor's time that counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from hansard.adapters.capture.wires import WIRES
from tests.bench.measure import Aim, Contender, Measure, Pace, computing, take_turns
from tests.bench.payload import text

JsonObject = dict[str, Any]

_EVENTS: Final = 10_000
_PACE: Final = Pace(rounds=9, each=3)
_PIECE: Final = 20


def measure(api: str, events: int) -> Measure:
    """Return what capturing a stream of so many events costs, and what reading its lines does."""
    chunks = [_spelled(event) for event in _STREAMS[api](events)]
    chunks += [b"data: [DONE]\n\n"] if api == "openai-chat" else []
    body = b"".join(chunks)
    peer = Contender("json.loads a line", "", lambda _: lambda: _lines(body), computing)
    own = Contender("capture", "", lambda _: lambda: _captured(api, chunks), computing)
    figures = take_turns([own, peer], _PACE)
    note = f"{events} events, {len(body)} bytes"
    return Measure(f"capturing.{api}", "ms", figures[0], figures[1], Aim(3), note)


def _captured(api: str, chunks: list[bytes]) -> None:
    stream = WIRES[api].stream()
    is_over = [stream.feed(chunk) for chunk in chunks]
    if not (is_over[-1] and stream.finish().is_complete):
        raise ValueError(f"the stream of {api} is no whole answer")


def _lines(body: bytes) -> None:
    for line in body.split(b"\n"):
        if line.startswith(b"data: ") and line != b"data: [DONE]":
            json.loads(line[len(b"data: ") :])


def _spelled(event: JsonObject) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


def _pieces(events: int) -> Iterator[str]:
    said = text()
    for number in range(events):
        at = number * _PIECE % (len(said) - _PIECE)
        yield said[at : at + _PIECE]


def _messages(events: int) -> Iterator[JsonObject]:
    message: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    yield {"type": "message_start", "message": {**message, "model": "m", "stop_reason": None}}
    block = {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    for piece in _pieces(events):
        delta = {"type": "text_delta", "text": piece}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
    yield {"type": "message_stop"}


def _completion(events: int) -> Iterator[JsonObject]:
    yield _chunk({"role": "assistant", "content": "", "refusal": None})
    for number, piece in enumerate(_pieces(events)):
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


def _response(events: int) -> Iterator[JsonObject]:
    numbered: list[JsonObject] = list(_items(events))
    for number, event in enumerate(numbered):
        yield {"type": event["type"], "sequence_number": number, **event}


def _items(events: int) -> Iterator[JsonObject]:
    response: JsonObject = {"id": "resp_1", "object": "response", "model": "m"}
    item: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant"}
    place: JsonObject = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    said = "".join(_pieces(events))
    empty: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    full = {**empty, "text": said}
    begun: JsonObject = {**item, "status": "in_progress", "content": []}
    whole = {**item, "status": "completed", "content": [full]}
    started: JsonObject = {**response, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
    yield {"type": "response.content_part.added", **place, "part": empty}
    for number, piece in enumerate(_pieces(events)):
        beside: JsonObject = {"logprobs": [], "obfuscation": "x" * (number % 16)}
        yield {"type": "response.output_text.delta", **place, "delta": piece, **beside}
    yield {"type": "response.output_text.done", **place, "text": said, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": full}
    yield {"type": "response.output_item.done", "output_index": 0, "item": whole}
    ended = {**response, "status": "completed", "output": [whole]}
    yield {"type": "response.completed", "response": ended}


_STREAMS: Final[Mapping[str, Callable[[int], Iterator[JsonObject]]]] = {
    "anthropic-messages": _messages,
    "openai-chat": _completion,
    "openai-responses": _response,
}


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _EVENTS
    for known in _STREAMS:
        print(json.dumps(measure(known, count).line()), flush=True)
