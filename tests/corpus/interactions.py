"""Recordings of several calls, of any API: each call's request and answer as they crossed the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast
from urllib.parse import urlsplit

from onrecord.adapters.wire.wires import endpoint_of
from tests.corpus.wire import CORPUS, JsonObject, below, sent_body

FOLDERS: Final = (
    *("anthropic", "bedrock", "gemini", "ollama"),
    *("openai-chat", "openai-compatible", "openai-responses"),
)


@dataclass(frozen=True, slots=True)
class Call:
    """A request with its body, and its answer."""

    method: str
    path: str
    target: str
    request: bytes
    status: int
    content_type: str
    answer: bytes

    @property
    def api(self) -> str:
        """The API of a turn; empty if the call is none."""
        found = endpoint_of(self.method, self.path)
        return found.api if found.kind == "turn" else ""

    @property
    def is_accepted(self) -> bool:
        return self.status < 300


def files() -> list[str]:
    """The recordings that hold several turns."""
    names = below(*(f"{folder}/*/*.json" for folder in FOLDERS))
    return [name for name in names if sum(bool(call.api) for call in calls(name)) > 1]


@cache
def calls(name: str) -> tuple[Call, ...]:
    """All calls of a file, those of other services too; none, if it holds answers only."""
    held: Any = json.loads((CORPUS / name).read_bytes())
    if isinstance(held, dict):
        told: list[JsonObject] = cast("JsonObject", held).get("interactions", [])
    else:
        told = [one for one in cast("list[JsonObject]", held) if "request" in one]
    return tuple(map(call, told))


def call(one: JsonObject) -> Call:
    request, response = one["request"], one["response"]
    url = urlsplit(str(request.get("uri") or request["url"]))
    body = request["body"]
    answer = b"" if response.get("body_kind") == "none" else sent_body(response)[0]
    return Call(
        method=request["method"],
        path=url.path,
        target=f"{url.path}?{url.query}" if url.query else url.path,
        request=body.encode() if isinstance(body, str) else written(body),
        status=response.get("status") or response["status_code"],
        content_type=response.get("content_type") or type_of(answer),
        answer=answer,
    )


def type_of(answer: bytes) -> str:
    is_stream = answer.lstrip().startswith((b"event:", b"data:", b":"))
    return "text/event-stream" if is_stream else "application/json"


def written(body: Any) -> bytes:
    """A body as the SDKs write it: compact."""
    if body is None:
        return b""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
