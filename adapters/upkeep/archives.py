"""Archives of conversations at a place outside the database, written before anything is erased.

An archive is a folder: the bytes in parts, so that a large one needs no large memory, and a manifest
that is written last and holds the digest of each. Without its manifest it is none. All is read back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.adapters.seals.places import Place
from onrecord.domain import jsontext
from onrecord.domain.errors import CorruptRecord

ArchiveWriter: TypeAlias = Callable[[UUID, str | None], Iterable[bytes]]
"""Gives the bytes of the archive of a conversation, by its id and its key."""

_PART: Final = 8 * 1024 * 1024
_MANIFEST: Final = "manifest.json"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class ArchivedConversation:
    """The archive of a conversation as it was at a version: `path` is its folder at the place.

    `sha256` is the digest of all its bytes, in hex, `size` how many there are.
    """

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    size: int
    sha256: str


def archive(
    place: Place,
    tenant: UUID,
    conversation_id: UUID,
    version: int,
    pieces: Callable[[], Iterable[bytes]],
) -> ArchivedConversation:
    """Return the archive of a conversation at a version, written now unless it is there, and read back.

    CorruptRecord where the place gives other bytes than were written.
    """
    path = f"{tenant}/{conversation_id}/{version}"
    known = place.read(f"{path}/{_MANIFEST}")
    if known is None:
        known = _written(place, path, pieces())
        if place.read(f"{path}/{_MANIFEST}") != known:
            raise _other_bytes(path, place)
    return _read_back(place, path, known)


def archived_bytes(place: Place, path: str) -> Iterator[bytes]:
    """Yield the bytes of an archive part by part; CorruptRecord where they are not those of its manifest."""
    manifest = place.read(f"{path}/{_MANIFEST}")
    if manifest is None:
        raise CorruptRecord(f"{path} at {place} has no manifest, so it is no archive")
    for part in _parts(manifest, path, place):
        data = place.read(f"{path}/{part.name}")
        if data is None or (len(data), hashlib.sha256(data).hexdigest()) != (
            part.size,
            part.sha256,
        ):
            raise _other_bytes(path, place)
        yield data


def _written(place: Place, path: str, pieces: Iterable[bytes]) -> bytes:
    """Write the parts, then the manifest, and return that."""
    parts: list[_Part] = []
    for number, data in enumerate(_cut(pieces)):
        name = f"part-{number:06}"
        # In place of what a program left that ended before its manifest: that may be other bytes.
        place.replace(f"{path}/{name}", data)
        parts.append(_Part(name, len(data), hashlib.sha256(data).hexdigest()))
    listed = [{"name": p.name, "size": p.size, "sha256": p.sha256} for p in parts]
    manifest = jsontext.write({"onrecord": "archive", "format": _FORMAT, "parts": listed})
    place.replace(f"{path}/{_MANIFEST}", manifest)
    return manifest


def _cut(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in parts, the last one shorter."""
    part = bytearray()
    for piece in pieces:
        part += piece
        while len(part) >= _PART:
            yield bytes(part[:_PART])
            del part[:_PART]
    if part:
        yield bytes(part)


def _read_back(place: Place, path: str, manifest: bytes) -> ArchivedConversation:
    digest, size = hashlib.sha256(), 0
    for data in archived_bytes(place, path):
        digest.update(data)
        size += len(data)
    if place.read(f"{path}/{_MANIFEST}") != manifest:
        raise _other_bytes(path, place)
    return ArchivedConversation(path, digest.hexdigest(), size)


def _parts(manifest: bytes, path: str, place: Place) -> list[_Part]:
    try:
        listed = jsontext.read_object(manifest)["parts"]
        return [_Part(each["name"], each["size"], each["sha256"]) for each in listed]
    except (KeyError, TypeError, ValueError):
        raise _other_bytes(path, place) from None


def _other_bytes(path: str, place: Place) -> CorruptRecord:
    return CorruptRecord(
        f"the archive {path} at {place} is not what was written there: nothing was erased; look after "
        "the place, and take the folder away"
    )
