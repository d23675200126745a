"""Every conversation of the corpus: recordings of calls, and answers that were recorded alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tests.corpus import (
    bedrock_wire,
    gemini_wire,
    ollama_wire,
    openai_chat_wire,
    openai_responses_wire,
    wire,
)
from tests.corpus.interactions import FOLDERS, Call, calls, written
from tests.corpus.table import folder
from tests.corpus.wire import JsonObject, below

_GREETING: Final[JsonObject] = {"role": "user", "content": "Hello"}
_CHAT: Final = ("/v1/chat/completions", {"model": "a-model", "messages": [_GREETING]})
_ASKED: Final[dict[str, tuple[str, JsonObject]]] = {
    "anthropic": (
        "/v1/messages",
        {"model": "a-model", "max_tokens": 9, "messages": [_GREETING]},
    ),
    "openai-chat": _CHAT,
    "openai-compatible": _CHAT,
    "openai-responses": ("/v1/responses", {"model": "a-model", "input": "Hello"}),
    "gemini": (
        "/v1beta/models/gemini-3-flash-preview:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    ),
    "bedrock": (
        "/model/us.amazon.nova-pro-v1:0/converse",
        {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]},
    ),
    "ollama": ("/api/chat", {"model": "a-model", "messages": [_GREETING]}),
}
_STREAMS: Final = {
    "bedrock": "application/vnd.amazon.eventstream",
    "ollama": "application/x-ndjson",
}


def files() -> list[str]:
    """All recordings that hold a turn that was answered."""
    names = below(*(f"{folder}/*/*" for folder in FOLDERS))
    return [name for name in names if any(conversations(name))]


def conversations(name: str) -> Iterator[tuple[Call, ...]]:
    """The conversations of a file: its calls are one, each answer that stands alone is one."""
    recorded = calls(name) if name.endswith(".json") else ()
    if any(call.api and call.is_accepted for call in recorded):
        yield recorded
    if not recorded:
        yield from ((one,) for one in answered(name))


def answered(name: str) -> Iterator[Call]:
    if name == ollama_wire.NAME:
        yield from (called(one) for one in ollama_wire.examples())
    else:
        yield from (alone(name, body) for status, body in answers(name) if status == 200)


def answers(name: str) -> Iterator[tuple[int, bytes]]:
    match folder(name):
        case "anthropic":
            yield from ((one.status, one.body) for one in wire.exchanges(name))
        case "bedrock":
            yield from ((one.status, one.body) for one in bedrock_wire.exchanges(name))
        case "gemini" if gemini_wire.INTERACTIONS in name:
            return
        case "gemini":
            yield from ((one.status, one.body) for one in gemini_wire.exchanges(name))
        case "openai-responses":
            yield from ((one.status, one.body) for one in openai_responses_wire.calls(name))
        case _:
            yield from ((one.status, one.body) for one in openai_chat_wire.exchanges(name))


def called(example: ollama_wire.Example) -> Call:
    """An example of Ollama's documents, with what it is answered."""
    found = alone(ollama_wire.NAME, example.body)
    is_stream = example.request.get("stream") is not False
    return replace(
        found,
        request=written(example.request),
        content_type=_STREAMS["ollama"] if is_stream else found.content_type,
    )


def alone(name: str, answer: bytes) -> Call:
    """An answer, to a greeting."""
    path, asked = _ASKED[folder(name)]
    is_stream = not answer.lstrip().startswith(b"{")
    streamed = _STREAMS.get(folder(name), "text/event-stream")
    return Call(
        method="POST",
        path=path,
        target=path,
        request=written(asked),
        status=200,
        content_type=streamed if is_stream else "application/json",
        answer=answer,
    )
