"""Every conversation of the corpus: recordings of calls, and answers that were recorded alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.corpus import openai_chat_wire, openai_responses_wire, wire
from tests.corpus.interactions import FOLDERS, Call, calls, written
from tests.corpus.wire import CORPUS, JsonObject

_CHAT: Final = ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}]})
_ASKED: Final[dict[str, tuple[str, JsonObject]]] = {
    "anthropic": (
        "/v1/messages",
        {"max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]},
    ),
    "openai-chat": _CHAT,
    "openai-compatible": _CHAT,
    "openai-responses": ("/v1/responses", {"input": "Hello"}),
    "gemini": (
        "/v1beta/models/gemini-3-flash-preview:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    ),
    "bedrock": (
        "/model/us.amazon.nova-pro-v1:0/converse",
        {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]},
    ),
    "ollama": ("/api/chat", {"messages": [{"role": "user", "content": "Hello"}]}),
}


def files() -> list[str]:
    """All recordings of the four folders that hold a turn that was answered."""
    every = (path for folder in FOLDERS for path in CORPUS.glob(f"{folder}/*/*"))
    names = sorted(str(path.relative_to(CORPUS)) for path in every)
    return [name for name in names if any(conversations(name))]


def conversations(name: str) -> Iterator[tuple[Call, ...]]:
    """The conversations of a file: its calls are one, each answer that stands alone is one."""
    recorded = calls(name) if name.endswith(".json") else ()
    if any(call.api and call.is_accepted for call in recorded):
        yield recorded
    if not recorded:
        yield from ((alone(name, body),) for status, body in answers(name) if status == 200)


def answers(name: str) -> Iterator[tuple[int, bytes]]:
    match name.partition("/")[0]:
        case "anthropic":
            yield from ((one.status, one.body) for one in wire.exchanges(name))
        case "openai-responses":
            yield from ((one.status, one.body) for one in openai_responses_wire.calls(name))
        case _:
            yield from ((one.status, one.body) for one in openai_chat_wire.exchanges(name))


def alone(name: str, answer: bytes) -> Call:
    """An answer, to a greeting."""
    path, asked = _ASKED[name.partition("/")[0]]
    is_stream = not answer.lstrip().startswith(b"{")
    return Call(
        method="POST",
        path=path,
        target=path,
        request=written({"model": "a-model", **asked}),
        status=200,
        content_type="text/event-stream" if is_stream else "application/json",
        answer=answer,
    )
