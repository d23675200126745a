"""Blobs in SQLite: in rows of at most 1 MiB, each committed on its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from onrecord.adapters.storage.append import PIECE_SIZE, Digested, pieces, verified
from onrecord.adapters.storage.sqlite.append import must_take
from onrecord.adapters.storage.sqlite.connection import Session
from onrecord.adapters.storage.sqlite.file import SqliteFile
from onrecord.domain.blobs import blob_of, digest_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import KeyedBytes
from onrecord.domain.errors import CorruptRecord

B = TypeVar("B", Blob, KeyedBlob)


def put_blob(
    file: SqliteFile, tenant: UUID, conversation_id: UUID, chunks: Iterable[bytes]
) -> Blob:
    """Store bytes, durably, and return the reference; storing them again changes nothing."""
    arriving = pieces(chunks)
    first = next(arriving, b"")
    if len(first) < PIECE_SIZE:
        blob = blob_of(first)
        _put_small(file, tenant, conversation_id, first, blob)
        return blob
    digested = Digested(chain((first,), arriving))
    return _put_large(file, tenant, conversation_id, digested, digested.blob)


def put_keyed_blob(
    file: SqliteFile, tenant: UUID, conversation_id: UUID, stored: KeyedBytes
) -> KeyedBlob:
    """Store the bytes of an encrypted blob, durably, and return where they stand."""
    arriving = pieces(stored)
    first = next(arriving, b"")
    if len(first) < PIECE_SIZE:
        address = stored.address()
        _put_small(file, tenant, conversation_id, first, address)
        return address
    return _put_large(file, tenant, conversation_id, chain((first,), arriving), stored.address)


def get_blob(file: SqliteFile, conversation_id: UUID, blob: Blob | KeyedBlob) -> Iterator[bytes]:
    """Yield the bytes of a blob in pieces of at most 1 MiB; CorruptRecord if it is missing."""
    with file.connections.borrowed() as session:
        number = _find(session, conversation_id, blob)
    if number is None:
        raise CorruptRecord("the bytes of a document are missing: restore them from a backup")
    yield from verified(_stored(file, number), blob)


def sweep_blobs(file: SqliteFile, age: int) -> int:
    """Delete blobs that no event refers to and that were stored so long ago, at least."""
    with file.writing() as session:
        session.run("sweep_blobs", age, *_now())
        return session.changed()


def _put_small(
    file: SqliteFile, tenant: UUID, conversation_id: UUID, data: bytes, blob: Blob | KeyedBlob
) -> None:
    with file.writing() as session:
        must_take(session, tenant, conversation_id)
        if not _keep(session, conversation_id, blob):
            number = _begin(session, tenant, conversation_id)
            if data:
                session.run("insert_piece", number, 0, data)
            _complete(session, number, blob)


def _put_large(
    file: SqliteFile,
    tenant: UUID,
    conversation_id: UUID,
    arriving: Iterable[bytes],
    reference: Callable[[], B],
) -> B:
    """Store bytes in rows as they come; `reference` says what refers to them when all came."""
    with file.writing() as session:
        must_take(session, tenant, conversation_id)
        number = _begin(session, tenant, conversation_id)
    for ordinal, piece in enumerate(arriving):
        with file.writing() as session:
            must_take(session, tenant, conversation_id)
            session.run("insert_piece", number, ordinal, piece)
            session.run("touch_blob", number, *_now())
    blob = reference()
    with file.writing() as session:
        must_take(session, tenant, conversation_id)
        if _keep(session, conversation_id, blob):
            session.run("delete_blob", number)
        else:
            _complete(session, number, blob)
    return blob


def _begin(session: Session, tenant: UUID, conversation_id: UUID) -> int:
    (number,) = session.one("insert_blob", tenant.bytes, conversation_id.bytes, *_now()) or (0,)
    return int(number)


def _keep(session: Session, conversation_id: UUID, blob: Blob | KeyedBlob) -> bool:
    """Keep the blob from the sweep for now, if it is stored already; say whether it is."""
    number = _find(session, conversation_id, blob)
    if number is None:
        return False
    session.run("touch_blob", number, *_now())
    return True


def _complete(session: Session, number: int, blob: Blob | KeyedBlob) -> None:
    session.run("complete_blob", number, digest_of(blob), *_now())


def _find(session: Session, conversation_id: UUID, blob: Blob | KeyedBlob) -> int | None:
    row = session.one("select_blob", conversation_id.bytes, digest_of(blob))
    return None if row is None else row[0]


def _stored(file: SqliteFile, number: int) -> Iterator[bytes]:
    ordinal = 0
    while (piece := _piece(file, number, ordinal)) is not None:
        yield piece
        ordinal += 1


def _piece(file: SqliteFile, number: int, ordinal: int) -> bytes | None:
    with file.connections.borrowed() as session:
        row = session.one("select_piece", number, ordinal)
    return None if row is None else row[0]


# How long a document has waited.
#
# The time of day jumps: it is set by hand, by a service, by a battery that died. So the time that
# has passed since the machine started is noted too, by a clock that nobody sets. Where both can
# tell how long it was, the shorter time holds.

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
# Not clock_gettime(2): what fakes the time of a process (libfaketime) fakes all clocks of that call.
_UPTIME: Final = Path("/proc/uptime")


def _now() -> tuple[int, str | None, int]:
    """Return the time of day in microseconds, and what `elapsed` tells."""
    return time.time_ns() // 1000, *elapsed()


def elapsed() -> tuple[str | None, int]:
    """Return which start of the machine it is, and how many microseconds ago that was.

    None and 0 where the machine does not tell.
    """
    boot = _boot()
    if boot is None:
        return None, 0
    seconds, _, fraction = _UPTIME.read_text("ascii").split()[0].partition(".")
    return boot, int(seconds) * 1_000_000 + int(f"{fraction:0<6}"[:6])


@cache
def _boot() -> str | None:
    try:
        _UPTIME.read_text("ascii")
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return None
