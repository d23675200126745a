"""The bodies of requests, read within limits of size and time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from starlette.requests import ClientDisconnect, Request

from onrecord.adapters.service.problems import (
    MALFORMED,
    TOO_LARGE,
    TOO_SLOW,
    WRONG_MEDIA_TYPE,
    Problem,
)
from onrecord.adapters.service.quotas import Share
from onrecord.domain import jsontext


@dataclass(frozen=True, slots=True)
class Limits:
    """What the service takes on: bytes of a body and of a document, seconds, and requests at once.

    `values` are those of a body of JSON: while it is read, the process does nothing else. `bodies` are
    the bytes of all bodies that are held at once. `bodies`, `open_requests` and `tails` are of the
    process; one key has at most half of each. A tail without an event says that it is there each
    `tail_seconds`.
    """

    body: int = 64 << 20
    values: int = 250_000
    bodies: int = 256 << 20
    document: int = 1 << 30
    body_seconds: float = 60.0
    answer_seconds: float = 60.0
    open_requests: int = 512
    tails: int = 2_000
    tail_seconds: float = 15.0


_JSON: Final = "application/json"


async def body_of(request: Request, limits: Limits, share: Share, *, is_json: bool = True) -> bytes:
    """Return the whole body; Problem where it is too large, too slow, or of another kind.

    What is announced is held before it is read, so a body that there is no room for is not read.
    """
    if is_json:
        _must_be_json(request)
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal():
        raise Problem(MALFORMED, "Content-Length is no number")
    if int(announced) > limits.body:
        raise Problem(TOO_LARGE, f"at most {limits.body:,} bytes are taken", limit=limits.body)
    share.hold(int(announced))
    try:
        async with asyncio.timeout(limits.body_seconds):
            body = await _read(request, limits.body, share)
    except TimeoutError:
        raise Problem(TOO_SLOW) from None
    except ClientDisconnect:
        raise Problem(MALFORMED, "the body was cut") from None
    if is_json and jsontext.has_more_values(body, limits.values):
        raise Problem(TOO_LARGE, f"at most {limits.values:,} values are taken", limit=limits.values)
    return body


async def _read(request: Request, most: int, share: Share) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise Problem(TOO_LARGE, f"at most {most:,} bytes are taken", limit=most)
        share.hold(len(body))
    return bytes(body)


def _must_be_json(request: Request) -> None:
    kind = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if kind != _JSON:
        raise Problem(WRONG_MEDIA_TYPE, "send application/json")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(WRONG_MEDIA_TYPE, "send the body as it is, not compressed")
