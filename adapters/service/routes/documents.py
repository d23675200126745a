"""Routes of documents: stored before they are spoken of, listed, and their bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import quote

from pydantic import Field
from starlette.responses import Response, StreamingResponse

from onrecord.adapters.asynchronous.conversation import conversation_of as awaited_by
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.conversation.history_queries import main_branch, pieces_of
from onrecord.adapters.service.bodies import body_of
from onrecord.adapters.service.message_parts import FileName, MediaType
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import NOT_FOUND, Problem
from onrecord.adapters.service.route import (
    Call,
    Route,
    answered,
    etag,
    is_known,
    not_modified,
    tagged,
)
from onrecord.adapters.service.routes.conversations import At, begun, conversation_of
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.storage.steps import Steps
from onrecord.domain.documents import UNKNOWN, essence_of, media_type_found, name_of
from onrecord.projections.history.held_documents import HeldDocument

_SHOWN: Final = frozenset(
    {
        *("application/pdf", "text/plain"),
        *("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"),
        *("audio/mpeg", "audio/ogg", "audio/wav", "video/mp4", "video/webm"),
    }
)
"""What a browser may show; all else it is to save."""

_SAFE: Final = {
    "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "cache-control": "private, no-cache",
}
"""The bytes are somebody else's: nothing in them runs, and no type is guessed."""

_HEAD: Final = 512


class NewDocument(Model):
    """What is said of bytes that are to be stored."""

    name: FileName | None = None
    """The name of the file; it tells the type where the bytes do not."""

    media_type: MediaType | None = None
    """The type of the bytes, as far as they do not tell it themselves."""


class StoredBytes(Model):
    """Bytes that are stored: a part of the kind `stored_document` refers to them by these members.

    They go after a day if nothing refers to them.
    """

    sha256: str
    """The SHA-256 of the bytes, in hex digits."""

    size: int
    """How many bytes there are."""

    media_type: str
    """The type of the bytes."""

    name: str | None
    """The name of the file."""


class HeldDocumentEntry(Model):
    """A document of a conversation."""

    conversation_id: str
    """The conversation of the event that has it: of a fork it may be its origin."""

    version: int
    """The version of the event that has it."""

    origin: str
    """Whose it is: user, operator, signal, tool, rejected (a result beside the history) or provider."""

    tool_name: str | None
    """The name of the tool that gave it."""

    call_id: str | None
    """The id of the call that gave it."""

    path: str | None
    """Where in the result it was found (a JSON pointer)."""

    name: str | None
    """The name of the file."""

    media_type: str
    """Its media type."""

    size: int | None
    """How many bytes it has; null of one at an address."""

    sha256: str | None
    """The SHA-256 of its bytes, in hex digits; null of one at an address."""

    short_id: str | None
    """The id that requests show of it."""

    url: Annotated[str | None, Field(description="Its address, of one that has no bytes here.")]


class HeldDocuments(Model):
    """The documents of a conversation."""

    documents: list[HeldDocumentEntry]
    """They are in the order in which they came."""


async def store(call: Call[NewDocument, Empty]) -> Response:
    """Store bytes in a conversation, for what is said next to refer to them."""
    data = await body_of(call.request, call.limits, call.share, is_json=False)
    if not data:
        raise Problem(INVALID, "a document has bytes")
    about = call.query
    name = name_of(about.name)
    media_type = media_type_found(about.media_type, data[:_HEAD], name, (data,))
    stream = stream_of(awaited_by(conversation_of(call)))
    blob = await call.steps.run(partial(stream.put, (data,)))
    stored = StoredBytes(sha256=blob.sha256, size=blob.size, media_type=media_type, name=name)
    return answered(stored, 201)


async def listed(call: Call[At, Empty]) -> Response:
    """Return the documents of a conversation."""
    conversation, _ = await begun(call)
    documents = await conversation.documents(at=call.query.at)
    return tagged(call.request, HeldDocuments(documents=[_entry(each) for each in documents]))


async def content(call: Call[Empty, Empty]) -> Response:
    """Return the bytes of a document, in pieces; nothing of what was redacted or erased."""
    conversation, _ = await begun(call)
    sha256: str = call.path["sha256"]
    held = next(
        (
            each
            for each in await conversation.documents()
            if each.blob is not None and each.blob.sha256 == sha256
        ),
        None,
    )
    if held is None or held.blob is None:
        raise Problem(NOT_FOUND, "the conversation has no such document")
    tag = etag(sha256)
    if is_known(call.request, tag):
        return not_modified(tag)
    headers = {**_SAFE, "etag": tag, **_disposition(held), "content-length": f"{held.blob.size}"}
    stream = stream_of(awaited_by(conversation))

    def pieces() -> Iterator[bytes]:
        return pieces_of(call.backend, main_branch(stream, None), held) or iter(())

    # The first piece is read now: where the bytes are damaged that is a problem, not a cut answer.
    found = await call.steps.run(pieces)
    first = await call.steps.run(partial(next, found, b""))
    return StreamingResponse(
        _all_pieces(call.steps, first, partial(next, found, b"")),
        headers=headers,
        media_type=_shown_type(held),
    )


async def _all_pieces(
    steps: Steps, first: bytes, following: Callable[[], bytes]
) -> AsyncIterator[bytes]:
    piece = first
    while piece:
        yield piece
        piece = await steps.run(following)


def _shown_type(held: HeldDocument) -> str:
    essence = essence_of(held.document.media_type)
    if essence == "text/plain":
        return "text/plain; charset=utf-8"
    return essence if essence in _SHOWN else UNKNOWN


def _disposition(held: HeldDocument) -> dict[str, str]:
    essence = essence_of(held.document.media_type)
    way = "inline" if essence in _SHOWN else "attachment"
    named = held.document.name or held.short_id or "document"
    return {"content-disposition": f"{way}; filename*=UTF-8''{quote(named, safe='')}"}


def _entry(held: HeldDocument) -> HeldDocumentEntry:
    return HeldDocumentEntry(
        conversation_id=str(held.conversation_id),
        version=held.version,
        origin=held.origin,
        tool_name=held.tool_name,
        call_id=held.call_id,
        path=held.path,
        name=held.document.name,
        media_type=held.document.media_type,
        size=held.blob.size if held.blob else None,
        sha256=held.blob.sha256 if held.blob else None,
        short_id=held.short_id,
        url=held.document.url if held.blob is None else None,
    )


_DOCUMENTS: Final = "/v1/conversations/{key}/documents"

ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        *("POST", _DOCUMENTS, "storeDocument", "Store the bytes of a document."),
        role="write",
        query=NewDocument,
        body=Empty,
        takes_bytes=True,
        answers=store,
        answer=StoredBytes,
        status=201,
        statuses=(410, 507),
    ),
    Route(
        *("GET", _DOCUMENTS, "documents", "Which documents does a conversation have?"),
        role="read",
        query=At,
        body=Empty,
        answers=listed,
        answer=HeldDocuments,
        statuses=(304,),
    ),
    Route(
        *("GET", f"{_DOCUMENTS}/{{sha256}}", "documentBytes", "Read the bytes of a document."),
        role="read",
        query=Empty,
        body=Empty,
        answers=content,
        media_type="application/octet-stream",
        statuses=(304,),
    ),
)
