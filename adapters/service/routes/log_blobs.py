"""Routes of the documents in a log: bytes, streamed both ways."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from onrecord.adapters.encryption.encrypted_log import stored_of
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import (
    MALFORMED,
    TOO_LARGE,
    TOO_SLOW,
    WRONG_MEDIA_TYPE,
    Problem,
)
from onrecord.adapters.service.route import Call, Route, answered
from onrecord.adapters.service.routes.log_paths import (
    OF_ONE,
    conversation_id_of,
)
from onrecord.adapters.service.strangers import (
    is_visible,
)
from onrecord.adapters.storage.append import PIECE_SIZE
from onrecord.adapters.storage.http.append_forms import BlobForm
from onrecord.adapters.storage.http.forms import (
    Count,
)
from onrecord.adapters.storage.http.problem_types import BYTES_MISSING
from onrecord.adapters.storage.steps import each_beside_loop
from onrecord.adapters.wire.blob_bytes import HeldBytes
from onrecord.domain.content import Blob
from onrecord.domain.errors import CorruptRecord

_OCTETS: Final = "application/octet-stream"


class Size(Model):
    """How many bytes a document has."""

    size: Count
    """How many bytes the document has."""


async def put_blob(call: Call[Empty, Empty]) -> Response:
    """Store the bytes of a document, and return the reference."""
    conversation_id = conversation_id_of(call)
    call.share.hold(PIECE_SIZE)  # The rest goes through a file.
    held = HeldBytes(PIECE_SIZE, is_encrypted=stored_of(call.backend) is not call.backend)
    await _receive(call, held)
    blob = await call.steps.run(
        lambda: call.backend.put_blob(
            call.tenant, conversation_id, each_beside_loop(held.pieces(PIECE_SIZE))
        )
    )
    return answered(BlobForm(sha256=blob.sha256, size=blob.size), 201)


async def _receive(call: Call[Empty, Empty], held: HeldBytes) -> None:
    """Write the body to a file: whoever sends slowly holds up nobody else's use of the store."""
    if call.request.headers.get("content-type", _OCTETS) != _OCTETS:
        raise Problem(WRONG_MEDIA_TYPE, f"send {_OCTETS}")
    size, most, loop = 0, call.limits.document, asyncio.get_running_loop()
    try:
        async with asyncio.timeout(call.limits.body_seconds) as alarm:
            async for chunk in call.request.stream():
                size += len(chunk)
                if size > most:
                    raise Problem(TOO_LARGE, f"at most {most:,} bytes are taken", limit=most)
                await asyncio.to_thread(held.write, chunk)
                alarm.reschedule(loop.time() + call.limits.body_seconds)
    except TimeoutError:
        raise Problem(TOO_SLOW) from None
    except ClientDisconnect:
        raise Problem(MALFORMED, "the body was cut") from None


async def get_blob(call: Call[Size, Empty]) -> Response:
    """Return the bytes of a document."""
    conversation_id = conversation_id_of(call)
    blob = Blob(sha256=call.path["sha256"], size=call.query.size)

    def begin() -> tuple[bytes, Iterator[bytes]]:
        if not is_visible(call, conversation_id):
            raise Problem(BYTES_MISSING)
        pieces = call.backend.get_blob(conversation_id, blob)
        try:
            return next(pieces, b""), pieces
        except CorruptRecord:
            raise Problem(BYTES_MISSING) from None

    first, pieces = await call.steps.run(begin)
    return StreamingResponse(_pieces(call, first, pieces), media_type=_OCTETS)


async def _pieces(
    call: Call[Size, Empty], first: bytes, pieces: Iterator[bytes]
) -> AsyncIterator[bytes]:
    piece = first
    while piece:
        yield piece
        try:
            piece = await call.steps.run(partial(next, pieces, b""))
        except CorruptRecord:
            return  # Whoever asked has the digest, and finds it too.


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        *("POST", f"{OF_ONE}/blobs", "log_put_blob", "Store a document."),
        role="write",
        query=Empty,
        body=Empty,
        answers=put_blob,
        answer=BlobForm,
        status=201,
        statuses=(410, 507),
        takes_bytes=True,
    ),
    Route(
        *("GET", f"{OF_ONE}/blobs/{{sha256}}", "log_get_blob", "Read a document."),
        role="read",
        query=Size,
        body=Empty,
        answers=get_blob,
        media_type=_OCTETS,
    ),
)
