"""A message as Anthropic's service writes it: one JSON body, or server-sent events.

Order and shapes of the events: platform.claude.com, "Streaming messages", and recorded traffic.
"""

import json
from collections.abc import Iterator, Sequence
from typing import assert_never

from pydantic import JsonValue

from onrecord.adapters.demo.services.scenes import (
    Answer,
    ErrorEvent,
    HttpError,
    JsonObject,
    Repeat,
    Splice,
    StreamFault,
)

CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})

# Fields of the envelope that a stream carries in its message_delta: inside `delta`, or beside it.
_IN_DELTA = frozenset({"container"})

_PIECE = 17
_PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def encoded(value: JsonValue) -> bytes:
    """Return JSON as the service spells it: no spaces, UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def frame(event: JsonObject) -> bytes:
    """Return one server-sent event, named after its type."""
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), encoded(event))


def error_body(error: HttpError, request_id: str) -> JsonObject:
    """Return the body of an HTTP error."""
    details: JsonObject = {} if error.code is None else {"details": {"error_code": error.code}}
    return {
        "type": "error",
        "error": {"type": error.kind, "message": error.message, **details},
        "request_id": request_id,
    }


def message(
    answer: Answer, content: Sequence[JsonObject], message_id: str, request: JsonObject
) -> JsonObject:
    """Return the message that a request without `stream` gets back."""
    return {
        "model": answer.model or request["model"],
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "content": [*content],
        "stop_reason": answer.stop_reason,
        "stop_sequence": answer.stop_sequence,
        "stop_details": answer.stop_details,
        "usage": _usage(answer, request),
        **answer.envelope,
    }


def _usage(answer: Answer, request: JsonObject) -> JsonObject:
    """Return token counts: the answer's own, else made from sizes, four bytes a token."""
    searches = sum(block.get("name") == "web_search" for block in answer.content)
    return {
        "input_tokens": len(encoded(request)) // 4 + 1,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": len(encoded([*answer.content])) // 4 + 1,
        **({"server_tool_use": {"web_search_requests": searches}} if searches else {}),
        "service_tier": "standard",
        "inference_geo": "not_available",
        **answer.usage,
    }


def frames(whole: JsonObject, faults: Sequence[StreamFault]) -> list[bytes]:
    """Return the stream that says the same as the message `whole`, one entry an event."""
    events = [*_frames(whole)]
    # Later places first, so that a fault does not move the place of another.
    for fault in sorted(faults, key=_place, reverse=True):
        events = _with_fault(events, fault)
    return events


def _place(fault: StreamFault) -> int:
    match fault:
        case Repeat(event):
            return event
        case Splice(before):
            return before
        case ErrorEvent(at):
            return at
        case _:
            assert_never(fault)


def _with_fault(events: list[bytes], fault: StreamFault) -> list[bytes]:
    match fault:
        case Repeat(event):
            return [*events[: event + 1], *events[event:]]
        case Splice(before, raw):
            return [*events[:before], raw, *events[before:]]
        case ErrorEvent(at, kind, text):
            return [
                *events[:at],
                frame({"type": "error", "error": {"type": kind, "message": text}}),
            ]
        case _:
            assert_never(fault)


def _frames(whole: JsonObject) -> Iterator[bytes]:
    blocks = whole["content"]
    assert isinstance(blocks, list)
    yield frame({"type": "message_start", "message": _start_of_message(whole)})
    for index, block in enumerate(blocks):
        assert isinstance(block, dict)
        start, deltas = _in_pieces(block)
        yield frame({"type": "content_block_start", "index": index, "content_block": start})
        if index == 0:
            yield _PING
        for delta in deltas:
            yield frame({"type": "content_block_delta", "index": index, "delta": delta})
        yield frame({"type": "content_block_stop", "index": index})
    yield frame(_message_delta(whole))
    yield frame({"type": "message_stop"})


def _start_of_message(whole: JsonObject) -> JsonObject:
    usage = whole["usage"]
    assert isinstance(usage, dict)
    start: JsonObject = {
        key: whole[key]
        for key in ("model", "id", "type", "role", "content", "stop_reason", "stop_sequence")
    }
    unknown_yet: JsonObject = {"content": [], "stop_reason": None, "stop_sequence": None}
    first_usage: JsonObject = {**usage, "output_tokens": 1}
    first_usage.pop("server_tool_use", None)
    return {**start, **unknown_yet, "stop_details": None, "usage": first_usage}


def _message_delta(whole: JsonObject) -> JsonObject:
    stop = {key: whole[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    usage = whole["usage"]
    assert isinstance(usage, dict)
    # The last event repeats the counts without where they come from; they are totals.
    totals = {
        key: count
        for key, count in usage.items()
        if key not in {"cache_creation", "service_tier", "inference_geo"}
    }
    known = {"model", "id", "type", "role", "content", "usage", *stop}
    extra = {key: value for key, value in whole.items() if key not in known}
    inside = {key: value for key, value in extra.items() if key in _IN_DELTA}
    beside = {key: value for key, value in extra.items() if key not in _IN_DELTA}
    return {"type": "message_delta", "delta": {**stop, **inside}, "usage": totals, **beside}


def _in_pieces(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Return how a block starts, and what is added to it; most kinds arrive whole."""
    match block:
        case {"type": "text", "text": str(text)}:
            return _text_in_pieces(block, text)
        case {"type": "thinking", "thinking": str(text), "signature": str(signature)}:
            pieces = _deltas("thinking_delta", "thinking", text)
            sealed: JsonObject = {"type": "signature_delta", "signature": signature}
            return {**block, "thinking": "", "signature": ""}, [*pieces, sealed]
        case {"type": "compaction", "content": content}:
            return {**block, "content": None}, [{"type": "compaction_delta", "content": content}]
        case {"type": str(kind), "input": given} if kind in CALLS and not _by_program(block):
            parts = _deltas("input_json_delta", "partial_json", encoded(given).decode())
            first: JsonObject = {"type": "input_json_delta", "partial_json": ""}
            return {**block, "input": {}}, [first, *(parts if given else [])]
        case _:
            return block, []


def _by_program(block: JsonObject) -> bool:
    """Tell whether code on the server made the call; such calls arrive whole."""
    match block:
        case {"caller": {"type": str(kind)}}:
            return kind != "direct"
        case _:
            return False


def _text_in_pieces(block: JsonObject, text: str) -> tuple[JsonObject, list[JsonObject]]:
    pieces = _deltas("text_delta", "text", text)
    citations = block.get("citations")
    if not isinstance(citations, list):
        return {**block, "text": ""}, pieces
    cited: list[JsonObject] = [
        {"type": "citations_delta", "citation": citation} for citation in citations
    ]
    return {**block, "citations": [], "text": ""}, [*cited, *pieces]


def _deltas(kind: str, field: str, text: str) -> list[JsonObject]:
    return [
        {"type": kind, field: text[start : start + _PIECE]} for start in range(0, len(text), _PIECE)
    ]
