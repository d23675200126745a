"""Archives of conversations at a place outside the database, written before anything is erased.

An archive is a folder: the bytes in parts, so that a large one needs no large memory, and a manifest
that is written last, says what it is an archive of, and holds the digest of each part. Without its
manifest it is none. All is read back. What is there before counts only where it is what would be written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.adapters.seals.places import Place
from onrecord.domain import jsontext
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.operators import RetentionClass

ArchiveWriter: TypeAlias = Callable[[UUID, str | None], Iterable[bytes]]
"""Gives the bytes of the archive of a conversation, by its id and its key: the same ones each time."""

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
class ArchiveSubject:
    """What an archive is of: a conversation of a log at a version, and the class by which it goes.

    `log` is the log's id. `archived_by` says who archives it, `archived_at` when (RFC 3339).
    """

    log: UUID
    tenant: UUID
    conversation_id: UUID
    version: int
    keep: RetentionClass | None
    rule: str | None
    archived_by: str
    archived_at: str

    @property
    def path(self) -> str:
        """Return the folder of the archive at its place."""
        return f"{self.tenant}/{self.conversation_id}/{self.version}"


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    size: int
    sha256: str


def archive(
    place: Place, subject: ArchiveSubject, pieces: Callable[[], Iterable[bytes]]
) -> ArchivedConversation:
    """Return the archive of a conversation at a version, written now unless it is there, and read back.

    CorruptRecord where the place gives other bytes than were written, or has another archive there.
    """
    path = subject.path
    there = place.read(f"{path}/{_MANIFEST}")
    if there is not None:
        parts = [part for part, _ in _cut(pieces())]
        manifest = _manifest(_begun_before(subject, there), parts)
        if there != manifest:
            raise _another(path, place)
        return _read_back(place, path, manifest, parts)
    parts = list[_Part]()
    for part, data in _cut(pieces()):
        # In place of what a program left that ended before its manifest: that may be other bytes.
        place.replace(f"{path}/{part.name}", data)
        parts.append(part)
    manifest = _manifest(subject, parts)
    place.replace(f"{path}/{_MANIFEST}", manifest)
    return _read_back(place, path, manifest, parts)


def archived_bytes(place: Place, path: str) -> Iterator[bytes]:
    """Yield the bytes of an archive part by part; CorruptRecord where they are not those of its manifest."""
    manifest = place.read(f"{path}/{_MANIFEST}")
    if manifest is None:
        raise CorruptRecord(f"{path} at {place} has no manifest, so it is no archive")
    return _bytes_of(place, path, _listed(manifest, path, place))


def _bytes_of(place: Place, path: str, parts: Sequence[_Part]) -> Iterator[bytes]:
    for part in parts:
        data = place.read(f"{path}/{part.name}")
        if data is None or _part(part.name, data) != part:
            raise _other_bytes(path, place)
        yield data


def _manifest(subject: ArchiveSubject, parts: Sequence[_Part]) -> bytes:
    return jsontext.write(
        {
            "onrecord": "archive",
            "format": _FORMAT,
            "log": str(subject.log),
            "tenant": str(subject.tenant),
            "conversation": str(subject.conversation_id),
            "version": subject.version,
            "class": subject.keep,
            "rule": subject.rule,
            "archived_by": subject.archived_by,
            "archived_at": subject.archived_at,
            "parts": [{"name": p.name, "size": p.size, "sha256": p.sha256} for p in parts],
        }
    )


def _begun_before(subject: ArchiveSubject, manifest: bytes) -> ArchiveSubject:
    """Return a subject as a run before this one archived it: by whom and when is all that may differ."""
    try:
        there = jsontext.read_object(manifest)
    except ValueError:
        return subject
    who, at = there.get("archived_by"), there.get("archived_at")
    if not (isinstance(who, str) and isinstance(at, str)):
        return subject
    return replace(subject, archived_by=who, archived_at=at)


def _cut(pieces: Iterable[bytes]) -> Iterator[tuple[_Part, bytes]]:
    """Yield the same bytes in parts, the last one shorter."""
    for number, data in enumerate(_of_a_size(pieces)):
        yield _part(_name(number), data), data


def _of_a_size(pieces: Iterable[bytes]) -> Iterator[bytes]:
    part = bytearray()
    for piece in pieces:
        part += piece
        while len(part) >= _PART:
            yield bytes(part[:_PART])
            del part[:_PART]
    if part:
        yield bytes(part)


def _name(number: int) -> str:
    return f"part-{number:06}"


def _part(name: str, data: bytes) -> _Part:
    return _Part(name, len(data), hashlib.sha256(data).hexdigest())


def _read_back(
    place: Place, path: str, manifest: bytes, parts: Sequence[_Part]
) -> ArchivedConversation:
    digest, size = hashlib.sha256(), 0
    for data in _bytes_of(place, path, parts):
        digest.update(data)
        size += len(data)
    if place.read(f"{path}/{_MANIFEST}") != manifest:
        raise _other_bytes(path, place)
    return ArchivedConversation(path, digest.hexdigest(), size)


def _listed(manifest: bytes, path: str, place: Place) -> list[_Part]:
    """Return the parts that a manifest lists, under our own names: it may be anybody's."""
    try:
        listed = jsontext.read_object(manifest)["parts"]
        parts = [_Part(each["name"], each["size"], each["sha256"]) for each in listed]
    except (KeyError, TypeError, ValueError):
        raise _other_bytes(path, place) from None
    if [part.name for part in parts] != [_name(number) for number in range(len(parts))]:
        raise _other_bytes(path, place)
    return parts


def _another(path: str, place: Place) -> CorruptRecord:
    return CorruptRecord(
        f"{path} at {place} has a manifest that is not the one of this archive: it was changed, or the log "
        "was restored since; look after the place, and take the folder away"
    )


def _other_bytes(path: str, place: Place) -> CorruptRecord:
    return CorruptRecord(
        f"the archive {path} at {place} is not what was written there: look after the place, and take "
        "the folder away"
    )
