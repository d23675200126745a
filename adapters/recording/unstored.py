"""Events that the log could not take, and how a file of the spool spells them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol
from uuid import UUID

from onrecord.adapters.wire.blob_bytes import BlobBytes, FileBytes, Readable
from onrecord.domain import jsontext
from onrecord.domain.admission import need_of
from onrecord.domain.content import Blob
from onrecord.domain.encoding import Unrecognised, decode
from onrecord.domain.head import effect_of
from onrecord.domain.log import Append, NewEvent
from onrecord.domain.new_events import blobs_of, once_of


class PendingAppend(NamedTuple):
    """Events that the log could not take, and the blobs they refer to, by digest."""

    append: Append
    blobs: Mapping[str, BlobBytes]


def encoded(unstored: PendingAppend) -> Iterator[bytes]:
    """Yield the bytes of a file that holds them: a line of JSON, then the blobs that are long."""
    append = unstored.append
    blobs = unstored.blobs.values()
    long = [content for content in blobs if isinstance(content, FileBytes)]
    yield jsontext.write(
        {
            "format": 1,
            "tenant": str(append.tenant),
            "conversation": str(append.conversation_id),
            "events": [_event_members(event) for event in append.events],
            "blobs": [_base64(content) for content in blobs if isinstance(content, bytes)],
            "long": [content.blob.model_dump() for content in long],
        }
    )
    yield b"\n"
    for content in long:
        yield from content.pieces()


def _event_members(event: NewEvent) -> dict[str, Any]:
    return {
        "id": str(event.event_id),
        "type": event.type,
        "schema": event.schema_version,
        "header": _base64(event.header),
        "salt": _base64(event.salt),
        "body": _base64(event.body),
    }


class SpooledContent(Readable, Protocol):
    """What a file of a spool holds."""

    def readline(self) -> bytes:
        """Return the bytes from here on up to the end of a line, that included."""
        ...

    def tell(self) -> int:
        """Return the place."""
        ...


class SpoolFiles(Protocol):
    """How the files of a spool are written and read."""

    @property
    def is_encrypted(self) -> bool:
        """Whether the files tell nothing without keys."""
        ...

    def written(self, append: Append, content: Iterable[bytes], /) -> Iterable[bytes]:
        """Return the bytes of a file that holds what an append waits with."""
        ...

    def opened(self, path: Path) -> AbstractContextManager[SpooledContent]:
        """Have what a file holds."""
        ...


class ClearFiles:
    """Files that hold what is written."""

    is_encrypted = False

    def written(self, _append: Append, content: Iterable[bytes]) -> Iterable[bytes]:
        """Return what is written."""
        return content

    @contextmanager
    def opened(self, path: Path) -> Generator[BinaryIO]:
        """Have the file."""
        with path.open("rb") as file:
            yield file


@contextmanager
def opened(path: Path, files: SpoolFiles) -> Generator[PendingAppend]:
    """Have what a file holds; a ValueError, KeyError or OnrecordError where it is none.

    Blobs that are long stay in it, and are read as long as it is open.
    """
    with files.opened(path) as file:
        members = jsontext.read_object(file.readline())
        long = _long(file, [Blob.model_validate(blob) for blob in members["long"]])
        yield PendingAppend(
            Append(
                UUID(members["tenant"]),
                UUID(members["conversation"]),
                tuple(_event(blob) for blob in members["events"]),
            ),
            {**dict(_by_digest(members["blobs"])), **dict(long)},
        )


def _long(file: SpooledContent, blobs: list[Blob]) -> Iterator[tuple[str, FileBytes]]:
    at = file.tell()
    for blob in blobs:
        yield blob.sha256, FileBytes(file, blob, at)
        at += blob.size


def _event(members: dict[str, Any]) -> NewEvent:
    body = base64.b64decode(members["body"])
    event = decode(members["type"], members["schema"], body)
    event_or_none = None if isinstance(event, Unrecognised) else event
    return NewEvent(
        event_id=UUID(members["id"]),
        type=members["type"],
        schema_version=members["schema"],
        header=base64.b64decode(members["header"]),
        salt=base64.b64decode(members["salt"]),
        body=body,
        effect=effect_of(event),
        once=None if event_or_none is None else once_of(event_or_none),
        blobs=() if event_or_none is None else blobs_of(event_or_none),
        needs=need_of(event),
    )


def _by_digest(blobs: list[str]) -> Iterator[tuple[str, bytes]]:
    for encoded in blobs:
        data = base64.b64decode(encoded)
        yield hashlib.sha256(data).hexdigest(), data


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
