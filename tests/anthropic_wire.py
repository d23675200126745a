"""Messages of Anthropic's API spelled as its service spells them in a stream, for tests."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]

SAMPLES = Path(__file__).parent / "samples" / "anthropic-messages"

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def event(data: JsonObject, *, ascii_only: bool = True) -> bytes:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=ascii_only)
    return f"event: {data['type']}\ndata: {text}\n\n".encode()


def spelled(message: JsonObject, *, piece: int = 7, ascii_only: bool = True) -> bytes:
    """The stream that brings a message, its long values in pieces of so many characters."""
    events = stream_events(message, piece)
    return b"".join(event(data, ascii_only=ascii_only) for data in events)


def stream_events(message: JsonObject, piece: int = 7) -> Iterator[JsonObject]:
    usage = {**message["usage"], "output_tokens": 1}
    stops = {"stop_reason": None, "stop_sequence": None}
    yield {
        "type": "message_start",
        "message": {**message, **stops, "content": [], "usage": usage},
    }
    for index, block in enumerate(message["content"]):
        yield from block_events(index, block, piece)
    yield {
        "type": "message_delta",
        "delta": {member: message[member] for member in stops},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}


def block_events(index: int, block: JsonObject, piece: int = 7) -> Iterator[JsonObject]:
    start, deltas = in_pieces(block, piece)
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def in_pieces(block: JsonObject, piece: int) -> tuple[JsonObject, list[JsonObject]]:
    """What a block begins as, and the deltas that bring the rest."""
    match block["type"]:
        case "text":
            said = deltas("text_delta", "text", block["text"], piece)
            cited: list[JsonObject] | None = block.get("citations")
            if cited is None:
                return {**block, "text": ""}, said
            citations = [{"type": "citations_delta", "citation": one} for one in cited]
            return {**block, "text": "", "citations": []}, [*citations, *said]
        case "thinking":
            signature = {"type": "signature_delta", "signature": block["signature"]}
            thoughts = deltas("thinking_delta", "thinking", block["thinking"], piece)
            return {**block, "thinking": "", "signature": ""}, [*thoughts, signature]
        case "compaction":
            members = [key for key in block if key in ("content", "encrypted_content")]
            news = {member: block[member] for member in members}
            empty: JsonObject = dict.fromkeys(members)
            return {**block, **empty}, [{"type": "compaction_delta", **news}]
        case kind if kind in CALLS and block["input"] != {}:
            text = json.dumps(block["input"])
            pieces = deltas("input_json_delta", "partial_json", text, piece)
            return {**block, "input": {}}, pieces
        case _:
            return block, []


def deltas(kind: str, member: str, text: str, piece: int) -> list[JsonObject]:
    return [{"type": kind, member: part} for part in slices(text, piece)]


def slices(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def chunks(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    """Data cut into chunks of these sizes, again and again."""
    at = 0
    while at < len(data):
        for size in sizes:
            if data[at : at + size]:
                yield data[at : at + size]
            at += size


def message(*content: JsonObject, stop_reason: str = "end_turn", **more: Any) -> JsonObject:
    return {
        "model": "claude-sonnet-5",
        "id": "msg_01Test",
        "type": "message",
        "role": "assistant",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 22},
        **more,
    }


def text(said: str = "Hello.") -> JsonObject:
    return {"type": "text", "text": said}


def call(number: int = 1, **arguments: Any) -> JsonObject:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": arguments}
