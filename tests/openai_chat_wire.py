"""Completions of OpenAI's Chat API spelled as its service, and compatible ones, spell them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]

SAMPLES = Path(__file__).parent / "samples" / "openai-chat"
DONE = b"data: [DONE]\n\n"
HEAD: JsonObject = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1758144046,
    "model": "gpt-5",
}


def event(data: JsonObject, *, ascii_only: bool = True) -> bytes:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=ascii_only)
    return f"data: {text}\n\n".encode()


def chunk(delta: JsonObject, *, index: int = 0, stop: str | None = None, **more: Any) -> JsonObject:
    """A chunk of one choice."""
    return {**HEAD, "choices": [{"index": index, "delta": delta, "finish_reason": stop}], **more}


def spelled(*deltas: JsonObject, stop: str | None = "stop", done: bool = True) -> bytes:
    """The stream of these deltas of one choice, and its end."""
    chunks = [*map(chunk, deltas), *([chunk({}, stop=stop)] if stop else [])]
    return b"".join(map(event, chunks)) + (DONE if done else b"")


def completion(*choices: JsonObject, **more: Any) -> JsonObject:
    usage = {"prompt_tokens": 11, "completion_tokens": 22, "total_tokens": 33}
    head = {**HEAD, "object": "chat.completion"}
    return {**head, "choices": list(choices), "usage": usage, **more}


def choice(message: JsonObject, *, index: int = 0, stop: str | None = "stop") -> JsonObject:
    return {"index": index, "message": message, "logprobs": None, "finish_reason": stop}


def message(content: Any = "Hello.", **more: Any) -> JsonObject:
    return {"role": "assistant", "content": content, **more}


def call(number: int = 1, name: str = "look", arguments: str = "{}") -> JsonObject:
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def chunks(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    """Data cut into chunks of these sizes, again and again."""
    at = 0
    while at < len(data):
        for size in sizes:
            if data[at : at + size]:
                yield data[at : at + size]
            at += size


def slices(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
