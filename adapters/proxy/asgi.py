"""What the proxy uses of ASGI: the shapes of its messages, and answers that come whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]


async def answer(send: Send, status: int, headers: Iterable[Header], body: bytes) -> None:
    """Send an answer that is there as a whole."""
    length = (b"content-length", b"%d" % len(body))
    await begin_answer(send, status, [*headers, length])
    await send({"type": "http.response.body", "body": body})


async def begin_answer(send: Send, status: int, headers: Iterable[Header]) -> None:
    """Send the head of an answer whose body follows."""
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
