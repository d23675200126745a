"""Answers over HTTP as every service gives them: JSON at once, or a stream of unknown length."""

from collections.abc import Iterable, Mapping

from onrecord.adapters.demo.connection import Reply
from onrecord.adapters.demo.scenes import JsonObject
from onrecord.adapters.demo.wire import encoded

SSE = "text/event-stream"


def at_once(status: int, body: JsonObject, headers: Mapping[str, str]) -> Reply:
    """Return an answer that comes at once."""
    return Reply(status, {**headers, "content-type": "application/json"}, encoded(body))


def streamed(pieces: Iterable[bytes], content_type: str, headers: Mapping[str, str]) -> Reply:
    """Return an answer that comes piece by piece."""
    return Reply(200, {**headers, "content-type": content_type}, b"".join(pieces), chunked=True)


def tokens(value: JsonObject) -> int:
    """Return a count of tokens made from a size, four bytes a token."""
    return len(encoded(value)) // 4 + 1
