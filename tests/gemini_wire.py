"""Answers of Gemini's API spelled as its service spells them, and requests to it."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]

SAMPLES = Path(__file__).parent / "samples" / "gemini"
MODEL = "gemini-3-flash-preview"
PATH = f"/v1beta/models/{MODEL}:generateContent"
STREAM_PATH = f"/v1beta/models/{MODEL}:streamGenerateContent"
SIGNATURE = "EtoFCtcFAb4+9vtf/e3MXRxQ"
USAGE: JsonObject = {
    "promptTokenCount": 11,
    "candidatesTokenCount": 22,
    "totalTokenCount": 33,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 11}],
}
TAIL: JsonObject = {"usageMetadata": USAGE, "modelVersion": MODEL, "responseId": "resp-1"}


def text(said: str, **more: Any) -> JsonObject:
    return {"text": said, **more}


def thought(said: str) -> JsonObject:
    return {"text": said, "thought": True}


def signed(part: JsonObject, signature: str = SIGNATURE) -> JsonObject:
    return {**part, "thoughtSignature": signature}


def call(name: str = "look", args: JsonObject | None = None, **more: Any) -> JsonObject:
    """The part of a call; the Developer API gives it an id in its newer versions alone."""
    return {"functionCall": {"name": name, "args": args or {}, **more}}


def result(name: str = "look", response: Any = None, **more: Any) -> JsonObject:
    return {"functionResponse": {"name": name, "response": response or {"output": "done"}, **more}}


def model(*parts: JsonObject) -> JsonObject:
    """A content that the model said."""
    return {"parts": list(parts), "role": "model"}


def user(*parts: JsonObject) -> JsonObject:
    """A content that the caller said, results of calls included."""
    return {"parts": list(parts), "role": "user"}


def candidate(
    *parts: JsonObject, stop: str | None = "STOP", index: int = 0, **more: Any
) -> JsonObject:
    ended = {"finishReason": stop} if stop else {}
    return {"content": model(*parts), **ended, "index": index, **more}


def answer(*candidates: JsonObject, **more: Any) -> JsonObject:
    """The body of an answer, and of a chunk of a stream."""
    return {"candidates": list(candidates), **TAIL, **more}


def said(*parts: JsonObject, stop: str | None = "STOP", **more: Any) -> JsonObject:
    """The body of an answer of one candidate."""
    return answer(candidate(*parts, stop=stop, **more))


def event(data: JsonObject, *, ascii_only: bool = True) -> bytes:
    spelled = json.dumps(data, separators=(",", ":"), ensure_ascii=ascii_only)
    return f"data: {spelled}\r\n\r\n".encode()


def streamed(*chunks: list[JsonObject], stop: str | None = "STOP") -> bytes:
    """The stream of one candidate: the parts of each chunk; the last says why it finished."""
    ends = [None] * (len(chunks) - 1) + [stop]
    return b"".join(event(said(*parts, stop=end)) for parts, end in zip(chunks, ends, strict=True))


def failure(
    code: int = 503, status: str = "UNAVAILABLE", message: str = "Overloaded."
) -> JsonObject:
    """The body of an error, and what comes amid a stream."""
    return {"error": {"code": code, "message": message, "status": status}}


def request(*contents: JsonObject, **more: Any) -> JsonObject:
    """The body of a request; its model stands in the path."""
    return {"contents": list(contents), "generationConfig": {}, **more}


def chunks(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    """Data cut into chunks of these sizes, again and again."""
    at = 0
    while at < len(data):
        for size in sizes:
            if data[at : at + size]:
                yield data[at : at + size]
            at += size
