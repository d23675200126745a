"""A conversation as JSON lines: the exact bytes of its events and blobs, and a digest over all.

One line says what follows, then come the events in order, each behind the blobs that it is the
first to refer to, in pieces; a last line counts and digests all before it, so that a file that was
cut is never taken for whole. An erased event has neither salt nor body: it is a commitment.
docs/format.md is the specification.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import readable_in, stored_of, without_bodies
from onrecord.adapters.storage.append import verified
from onrecord.adapters.streams.lineage import Lineages
from onrecord.domain import jsontext
from onrecord.domain.blobs import referenced
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.new_events import blobs_of
from onrecord.projections.verification.verification import commitment_faults

FORMAT: Final = 1
_PIECE: Final = 768 * 1024


def export(backend: Backend, conversation_id: UUID, key: str | None) -> Iterator[bytes]:
    """Yield the lines of an export, as the conversation stands now; memory stays constant.

    `key` is None where it was forgotten. CorruptRecord where a blob is missing or an event is damaged: no
    import would take the file. InvalidInput for an aggregate that begins at version 0. Encrypted events, and
    the blobs that the conversation owns then, stand in it as they are stored.
    """
    return closed(_lines(backend, conversation_id, key))


def closed(lines: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Yield lines as they are written, and a last one that counts and digests all before it."""
    running = hashlib.sha256()
    count = 0
    for line in lines:
        data = _written(line)
        running.update(data)
        count += 1
        yield data
    yield _written({"onrecord": "end", "lines": count, "sha256": running.hexdigest()})


def blobs_in(recorded: RecordedEvent) -> tuple[Blob, ...]:
    """Return the blobs that an event refers to, as far as its body can be read."""
    match recorded.event():
        case Erased():
            return ()
        case Unrecognised(body=body):
            return tuple(dict.fromkeys(_mentioned(jsontext.read(body))))
        case event:
            return blobs_of(event)


def _lines(
    backend: Backend, conversation_id: UUID, key: str | None
) -> Iterator[Mapping[str, object]]:
    readable, locked = without_bodies(backend, uses_keys=True), without_bodies(backend)
    until = backend.head(conversation_id).version
    first = next(readable.read(conversation_id, limit=1), None)
    if first is not None and first.version < 1:
        raise InvalidInput(
            "this is an aggregate that begins at version 0, and no conversation: its own application "
            "reads it"
        )
    yield {
        "onrecord": "export",
        "format": FORMAT,
        "key": key,
        "conversation": str(conversation_id),
        "incarnation": str(backend.cursors()[0].incarnation),
        "events": until,
    }
    # A fork's requests may hold what its origin owns; its file holds that too, and needs no other.
    owners = [
        segment.conversation_id
        for segment in reversed(Lineages(readable, conversation_id).whole(until))
    ]
    if stored_of(backend) is not backend:
        # Whoever has no key cannot tell which event refers to which: all of them come first.
        yield from _encrypted_blobs(backend, conversation_id)
    seen: set[str] = set()
    for recorded in undamaged(backend, conversation_id, until):
        for blob in blobs_in(readable_in(locked, recorded)):
            if blob.sha256 not in seen:
                seen.add(blob.sha256)
                yield from blob_lines(blob, bytes_among(backend, owners, blob))
        yield {**place_members(recorded), "exchange": recorded.exchange, **byte_members(recorded)}


def _encrypted_blobs(backend: Backend, conversation_id: UUID) -> Iterator[Mapping[str, object]]:
    """Yield the blobs that a conversation owns as they are stored, by their addresses."""
    inventory = backend.inventory()
    with inventory.moment() as moment:
        head = moment.head(conversation_id)
        blobs = [] if head is None else moment.blobs(head)
    for blob in blobs:
        if head is not None and blob.digest is not None and blob.referenced:
            size = sum(len(chunk.data) for chunk in inventory.chunks(head, blob))
            address = KeyedBlob(hmac=blob.digest.hex(), size=size)
            stored = (chunk.data for chunk in inventory.chunks(head, blob))
            yield from blob_lines(address, verified(stored, address))


def undamaged(backend: Backend, conversation_id: UUID, until: int) -> Iterator[RecordedEvent]:
    """Yield the events of a conversation up to a version; CorruptRecord at one that is damaged or missing."""
    version = 0
    for version, recorded in enumerate(stored_of(backend).read(conversation_id, until=until), 1):
        if recorded.version != version:
            raise CorruptRecord(f"version {version} is missing: run `onrecord verify`")
        for fault in commitment_faults(recorded):
            raise CorruptRecord(f"version {version} is damaged: {fault.why}; run `onrecord verify`")
        yield recorded
    if version != until:
        raise CorruptRecord(f"version {version + 1} is missing: run `onrecord verify`")


def place_members(recorded: RecordedEvent) -> Mapping[str, object]:
    """Return what the log gave to an event, as its line tells it."""
    return {
        "version": recorded.version,
        "shard": recorded.shard,
        "position": recorded.position,
        "recorded_at": recorded.recorded_at,
    }


def byte_members(recorded: RecordedEvent) -> Mapping[str, object]:
    """Return the stored bytes of an event and what commits to them, as its line tells them."""
    return {
        "header": recorded.header.decode("ascii"),
        "salt": None if recorded.salt is None else recorded.salt.hex(),
        **_body_member(recorded.body),
        "digest": recorded.digest.hex(),
        "leaf": recorded.leaf.hex(),
    }


def _body_member(body: bytes | None) -> Mapping[str, object]:
    """Return the body as text, so that people and grep can read it; base64 if it is not UTF-8."""
    if body is None:
        return {"body": None}
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": b64encode(body).decode()}


def bytes_among(backend: Backend, owners: Sequence[UUID], blob: Blob) -> Iterator[bytes]:
    """Yield the bytes of a blob from the first of its possible owners that has it."""
    for owner in owners:
        chunks = backend.get_blob(owner, blob)
        try:
            first = next(chunks, b"")
        except CorruptRecord:
            continue
        yield first
        yield from chunks
        return
    raise CorruptRecord("the bytes of a document are missing: restore them from a backup")


def blob_lines(blob: Blob | KeyedBlob, chunks: Iterable[bytes]) -> Iterator[Mapping[str, object]]:
    """Yield a blob in pieces, by its digest or its address; even an empty blob has one."""
    name = blob.hmac if isinstance(blob, KeyedBlob) else blob.sha256
    beginning, start = {"blob": name, "size": blob.size}, 0
    for data in _pieces(chunks):
        yield {**beginning, "start": start, "data": b64encode(data).decode()}
        start += len(data)
    if start == 0:
        yield {**beginning, "start": 0, "data": ""}


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), _PIECE):
            yield chunk[start : start + _PIECE]


def _mentioned(value: Any) -> Iterator[Blob]:
    """Yield the blobs in the body of an event that this release cannot read otherwise."""
    match value:
        case {"sha256": str() as digest, "size": int() as size} if len(value) == 2:
            yield Blob(sha256=digest, size=size)
        case {"$onrecord.blob": str()}:
            yield from referenced(value)
        case dict():
            for member in cast("dict[str, Any]", value).values():
                yield from _mentioned(member)
        case list():
            for item in cast("list[Any]", value):
                yield from _mentioned(item)
        case _:
            return


def _written(line: Mapping[str, object]) -> bytes:
    return jsontext.write(line) + b"\n"
