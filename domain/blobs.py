"""Long strings inside native JSON live in blobs; a reference stands in their place.

A provider may answer with a whole PDF in base64. Kept inline, it would be read again with every
window; as a blob it is stored once in its conversation and read when a request needs it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.errors import CorruptRecord

LIMIT: Final = 64 * 1024
"""Strings of more bytes than this move out of an event's body."""

REFERENCE: Final = "$onrecord.blob"
ESCAPE: Final = "$onrecord.escaped"


def blob_of(data: bytes) -> Blob:
    """Return the reference to some bytes."""
    return Blob(sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def digest_of(blob: Blob | KeyedBlob) -> bytes:
    """Return the digest in a reference, keyed or not; CorruptRecord where it is none."""
    try:
        return bytes.fromhex(blob.hmac if isinstance(blob, KeyedBlob) else blob.sha256)
    except ValueError:
        raise CorruptRecord(
            "a reference to stored bytes is no digest: verify the log and restore it from a backup"
        ) from None


def spill(value: Any, decoded: Mapping[str, bytes] | None = None) -> tuple[Any, dict[str, bytes]]:
    """Return the value with long strings replaced by references, and those strings by digest.

    `decoded` holds bytes that are stored as such, by their standard base64 (RFC 4648): a long
    string that is it refers to them.
    """
    spilled: dict[str, bytes] = {}
    return _spill(value, spilled, decoded or {}), spilled


def referenced(value: Any) -> Iterator[Blob]:
    """Yield the blobs that a spilled value refers to, in order, as often as it does."""
    match value:
        case {"$onrecord.blob": str() as digest, "size": int() as size}:
            yield Blob(sha256=digest, size=size)
        case dict():
            members = cast("dict[str, Any]", value)
            yield from _referenced_in(members.get(ESCAPE, members).values())
        case list():
            yield from _referenced_in(cast("list[Any]", value))
        case _:
            return


def restore(value: Any, blobs: Mapping[str, bytes]) -> Any:
    """Return a spilled value as it came; CorruptRecord where a blob is not among `blobs`."""
    match value:
        case {"$onrecord.blob": str() as digest}:
            if digest not in blobs:
                raise CorruptRecord("a blob that an event refers to is missing")
            return _text_of(blobs[digest], cast("dict[str, Any]", value).get("as"))
        case {"$onrecord.escaped": dict()}:
            return _restore_members(cast("dict[str, Any]", value[ESCAPE]), blobs)
        case dict():
            return _restore_members(cast("dict[str, Any]", value), blobs)
        case list():
            return [restore(item, blobs) for item in cast("list[Any]", value)]
        case _:
            return value


def _referenced_in(values: Iterable[Any]) -> Iterator[Blob]:
    for value in values:
        yield from referenced(value)


def _restore_members(value: dict[str, Any], blobs: Mapping[str, bytes]) -> dict[str, Any]:
    return {key: restore(item, blobs) for key, item in value.items()}


def _text_of(data: bytes, form: Any) -> str:
    """Return the string that bytes stand for, in the form that its reference says."""
    if form == "base64":
        return base64.b64encode(data).decode("ascii")
    return data.decode("utf-8", "surrogatepass")


def _spill(value: Any, spilled: dict[str, bytes], decoded: Mapping[str, bytes]) -> Any:
    match value:
        case str() if len(value) > LIMIT // 4:
            return _spill_text(value, spilled, decoded)
        case dict():
            members = {
                key: _spill(item, spilled, decoded)
                for key, item in cast("dict[str, Any]", value).items()
            }
            return {ESCAPE: members} if REFERENCE in members or ESCAPE in members else members
        case list():
            return [_spill(item, spilled, decoded) for item in cast("list[Any]", value)]
        case _:
            return value


def _spill_text(text: str, spilled: dict[str, bytes], decoded: Mapping[str, bytes]) -> Any:
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= LIMIT:
        return text
    encoding = {} if text not in decoded else {"as": "base64"}
    data = decoded.get(text, data)
    blob = blob_of(data)
    spilled[blob.sha256] = data
    return {REFERENCE: blob.sha256, "size": blob.size, **encoding}
