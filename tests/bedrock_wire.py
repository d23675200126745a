"""Answers of Bedrock's Converse API spelled as its service spells them, in frames and whole."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from onrecord.adapters.wire.eventstream import Frame, text_header, written

JsonObject = dict[str, Any]

SAMPLES = Path(__file__).parent / "samples" / "bedrock-converse"
USAGE: JsonObject = {"inputTokens": 11, "outputTokens": 22, "totalTokens": 33}
METRICS: JsonObject = {"latencyMs": 44}


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """A frame with headers that are texts."""
    return written(Frame(tuple(text_header(*header) for header in headers.items()), payload))


def event(kind: str, data: JsonObject, *, ascii_only: bool = True) -> bytes:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=ascii_only)
    headers = {
        ":event-type": kind,
        ":content-type": "application/json",
        ":message-type": "event",
    }
    return frame(headers, text.encode("utf-8", "surrogatepass"))


def events(*told: JsonObject) -> bytes:
    """Frames of events, each given as the object that names its kind."""
    return b"".join(event(kind, data) for one in told for kind, data in one.items())


def exception(kind: str, message: str = "No.", **more: Any) -> bytes:
    headers = {
        ":exception-type": kind,
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return frame(headers, json.dumps({"message": message, **more}).encode())


def error(code: str, message: str = "No.") -> bytes:
    headers = {":message-type": "error", ":error-code": code, ":error-message": message}
    return frame(headers, b"")


def frames_of(lines: str) -> bytes:
    """The frames of a sample: an event a line, by its kind, or an exception, or an error."""
    return b"".join(_frame_of(json.loads(line)) for line in lines.splitlines())


def _frame_of(told: JsonObject) -> bytes:
    match told:
        case {":exception": str(kind), **more}:
            return exception(kind, **more)
        case {":error": str(code), "message": str(said)}:
            return error(code, said)
        case _:
            return events(told)


def body(*content: JsonObject, stop: str = "end_turn", **more: Any) -> JsonObject:
    """The body of an answer that is not streamed."""
    message = {"role": "assistant", "content": list(content)}
    told = {"output": {"message": message}, "stopReason": stop}
    return {**told, "usage": USAGE, "metrics": METRICS, **more}


def spelled(whole: JsonObject, *, piece: int = 7, ascii_only: bool = True) -> bytes:
    """The frames that bring a body, its long values in pieces of so many characters."""
    return b"".join(
        event(kind, data, ascii_only=ascii_only)
        for told in stream_events(whole, piece)
        for kind, data in told.items()
    )


def stream_events(whole: JsonObject, piece: int = 7) -> Iterator[JsonObject]:
    message = whole["output"]["message"]
    yield {"messageStart": {"role": message["role"], "p": "abcdef"}}
    for index, block in enumerate(message["content"]):
        yield from block_events(index, block, piece)
    stops = ("stopReason", "additionalModelResponseFields")
    yield {"messageStop": {name: whole[name] for name in stops if name in whole}}
    yield {"metadata": {k: v for k, v in whole.items() if k not in (*stops, "output")}}


def block_events(index: int, block: JsonObject, piece: int = 7) -> Iterator[JsonObject]:
    start, deltas = in_pieces(block, piece)
    if start is not None:
        yield {"contentBlockStart": {"start": start, "contentBlockIndex": index}}
    for delta in deltas:
        yield {"contentBlockDelta": {"delta": delta, "contentBlockIndex": index, "p": "abc"}}
    yield {"contentBlockStop": {"contentBlockIndex": index}}


def in_pieces(block: JsonObject, piece: int) -> tuple[JsonObject | None, list[JsonObject]]:
    """What a block begins as, if it is told, and the deltas that bring the rest."""
    match block:
        case {"text": text}:
            return None, [{"text": part} for part in slices(text, piece)]
        case {"citationsContent": {"content": [{"text": text}], "citations": cited}}:
            texts = [{"text": part} for part in slices(text, piece)]
            return None, [*texts, *({"citation": one} for one in cited)]
        case {"reasoningContent": {"reasoningText": {"text": text, **signed}}}:
            parts = [{"text": part} for part in slices(text, piece)]
            return None, [
                {"reasoningContent": part} for part in (*parts, *([signed] if signed else []))
            ]
        case {"reasoningContent": sealed}:
            return None, [{"reasoningContent": sealed}]
        case {"toolUse": {"input": asked, **start}}:
            text = "" if asked == {} else json.dumps(asked)
            pieces = [{"toolUse": {"input": part}} for part in slices(text, piece)]
            return {"toolUse": start}, pieces
        case {"toolResult": {"content": content, **start}}:
            return {"toolResult": start}, [{"toolResult": [part]} for part in content]
        case {"image": {"source": source, **start}}:
            return {"image": start}, [{"image": {"source": source}}]
        case _:
            return block, []


def chunked(data: JsonObject) -> bytes:
    """The frame in which Bedrock brings an event of Anthropic's own API."""
    payload = json.dumps(data, separators=(",", ":")).encode()
    return event("chunk", {"bytes": base64.b64encode(payload).decode(), "p": "abcdef"})


def slices(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def chunks(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    """Data cut into chunks of these sizes, again and again."""
    at = 0
    while at < len(data):
        for size in sizes:
            if data[at : at + size]:
                yield data[at : at + size]
            at += size


def text(said: str = "Hello.") -> JsonObject:
    return {"text": said}


def call(number: int = 1, **arguments: Any) -> JsonObject:
    return {"toolUse": {"toolUseId": f"tooluse_{number}", "name": "look", "input": arguments}}


def thought(said: str = "Hm.", signature: str = "c2lnbmVk") -> JsonObject:
    return {"reasoningContent": {"reasoningText": {"text": said, "signature": signature}}}
