"""The rules of an append that hold on every backend: what is known already, what gets recorded.

Pure: a backend looks up what its log knows, asks here, and writes what it is told.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.domain.admission import Refused, Standing
from onrecord.domain.blobs import digest_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import StoredDigest
from onrecord.domain.encryption.bodies import is_unencrypted, keys_looked_for
from onrecord.domain.erasure.destroyed import KeyDestroyed
from onrecord.domain.errors import CorruptRecord, StorageReadOnly
from onrecord.domain.head import Head, advance
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.log import (
    Append,
    Conflict,
    Duplicate,
    Forgotten,
    Log,
    Mismatch,
    NewEvent,
    Recorded,
    RecordedEvent,
)
from onrecord.domain.marks.marked_ids import destroyed_key_id, operators_of
from onrecord.domain.operators import is_apart, is_operators

KEPT_FOR_OPERATORS: Final = (
    "such ids and events are kept for what operators do to the store: give the conversation another "
    "id, and erase with `forget`"
)

IN_CLEAR: Final = (
    "the log is encrypted, and takes nothing that a conversation says in clear: name its keys by "
    "$ONRECORD_KEYS and $ONRECORD_KEK, or by `keys` and `kek` of connect"
)


class Known(NamedTuple):
    """What the log has under an event's id or once-name; no salt once it was erased."""

    conversation_id: UUID
    version: int
    type: str
    salt: bytes | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class Recording:
    """What an append adds to the log: its events as recorded, and the head after them."""

    events: tuple[RecordedEvent, ...]
    head: Head

    def verdict(self) -> Recorded:
        """Return what the writer is told."""
        last = self.events[-1]
        return Recorded(self.events[0].version, last.version, last.position)


class Place(NamedTuple):
    """A conversation as the log has it: where it stands, whether it was forgotten, and has begun."""

    head: Head
    forgotten: bool = False
    begun: bool = False


def refusal(
    append: Append, known: Sequence[Known | None], place: Place
) -> Duplicate | Mismatch | Forgotten | Conflict | Refused | None:
    """Return why nothing is to be recorded, or None.

    `known` says for each event what the log has of it. What was said before is looked at first: a
    retry is told so whatever version it expected, and whatever became of the conversation.
    """
    if (repeated := _repeated(append, known)) is not None:
        return repeated
    if place.forgotten:
        return Forgotten()
    current = place.head.version
    if append.expected_version is not None and append.expected_version != current:
        return Conflict(current)
    return _unmet(append, place)


def _unmet(append: Append, place: Place) -> Refused | None:
    standing = Standing(place.begun, place.head.version, place.head.closed)
    for ordinal, event in enumerate(append.events):
        if not standing.takes(event.needs):
            return Refused(ordinal)
        standing = standing.after(closes=event.effect.closes)
    return None


def let_log_know(backend: Log, tenant: UUID) -> None:
    """Let a log know a tenant, before anything goes into its operators' stream, which is in its shard.

    A request for nothing does so. StorageReadOnly for a role that may not.
    """
    backend.append([Append(tenant, uuid7(), ())])


def under_destroyed_key(
    append: Append, owner: Callable[[UUID], UUID | None]
) -> KeyDestroyed | None:
    """Return which key of a conversation that begins is destroyed, or None.

    `owner` gives whose a stream is: the operators' of its tenant say that a key is destroyed.
    """
    header = append.events[0].header if append.events else b""
    for ordinal, key in enumerate(keys_looked_for(header)):
        if owner(destroyed_key_id(append.tenant, key)) == operators_of(append.tenant):
            return KeyDestroyed(ordinal)
    return None


def referred(append: Append) -> Iterator[Blob | KeyedBlob]:
    """Yield the blobs that the events of an append refer to, in order."""
    return (blob for event in append.events for blob in event.blobs)


def another_tenants() -> StorageReadOnly:
    """Return the error for a conversation that its tenant alone may write to."""
    return StorageReadOnly("the conversation is another tenant's: connect as that tenant")


def must_be_apart(appends: Iterable[Append]) -> None:
    """Raise where a request mixes what is the operators' with what is a conversation's."""
    for append in appends:
        if not is_apart(append.tenant, append.conversation_id, (e.type for e in append.events)):
            raise StorageReadOnly(KEPT_FOR_OPERATORS)


def must_be_encrypted(append: Append) -> None:
    """Raise where a request brings what a conversation says in clear: for a log that is encrypted."""
    if any(is_unencrypted(event.type, event.header) for event in append.events):
        raise StorageReadOnly(IN_CLEAR)


def must_take_clear(is_encrypted: bool) -> None:
    """Raise where a document comes in clear to a log that is encrypted."""
    if is_encrypted:
        raise StorageReadOnly(IN_CLEAR)


def must_be_forgettable(first_type: str) -> None:
    """Raise for the stream that begins with an event of that type, if it is one of the operators."""
    if is_operators(first_type):
        raise StorageReadOnly("what operators did to the store is kept: it cannot be forgotten")


def record(append: Append, head: Head, *, shard: int, position: int, recorded_at: int) -> Recording:
    """Return the events of an append as recorded after `position`, and the head after them."""
    events: list[RecordedEvent] = []
    for place, new in enumerate(append.events, position + 1):
        head = advance(head, new.effect)
        digest = body_digest(new.salt, new.body)
        recorded = recorded_header(new.header, head.version, place, recorded_at)
        events.append(
            RecordedEvent(
                shard,
                place,
                append.conversation_id,
                head.version,
                head.exchange,
                new.event_id,
                new.type,
                new.schema_version,
                recorded_at,
                new.header,
                digest,
                leaf(recorded, digest),
                new.salt,
                new.body,
            )
        )
    return Recording(tuple(events), head)


def _repeated(append: Append, known: Sequence[Known | None]) -> Duplicate | Mismatch | None:
    for ordinal, (event, known_event) in enumerate(zip(append.events, known, strict=True)):
        if known_event is not None and not _is_same(append.conversation_id, event, known_event):
            return Mismatch(ordinal)
    versions = [known_event.version for known_event in known if known_event is not None]
    if len(versions) == len(append.events):
        return Duplicate(min(versions, default=0), max(versions, default=0))
    if versions:
        return Mismatch(next(at for at, known_event in enumerate(known) if known_event is not None))
    return _repeated_within(append.events) if len(append.events) > 1 else None


def _is_same(conversation_id: UUID, event: NewEvent, known_event: Known) -> bool:
    if (known_event.conversation_id, known_event.type) != (conversation_id, event.type):
        return False
    return (
        known_event.salt is None or body_digest(known_event.salt, event.body) == known_event.digest
    )


def _repeated_within(events: Sequence[NewEvent]) -> Mismatch | None:
    seen: set[UUID | str] = set()
    for ordinal, event in enumerate(events):
        names: list[UUID | str] = [event.event_id]
        if event.once is not None:
            names.append(event.once)
        if not seen.isdisjoint(names):
            return Mismatch(ordinal)
        seen.update(names)
    return None


# Names that callers choose, made fit to be looked up without standing anywhere in clear.

KEY_SIZE: Final = 32
DIGEST_SIZE: Final = 16

Proof: TypeAlias = Callable[[bytes], bytes]
"""What proves that who has the log told something: 16 bytes."""


def new_digest_key() -> bytes:
    """Return a random key; each log has its own, so digests of two logs cannot be compared."""
    return secrets.token_bytes(KEY_SIZE)


def keyed_digest(key: bytes, text: str) -> bytes:
    """Return the first 16 bytes of HMAC-SHA256 over the text's UTF-8."""
    message = text.encode("utf-8", "surrogatepass")
    return hmac.digest(key, message, "sha256")[:DIGEST_SIZE]


def proof_of(key: bytes, statement: bytes) -> bytes:
    """Return 16 bytes that only who has the key can make for what is told.

    No digest of a text is one, though callers choose texts and see their digests: none has an
    octet FF in its UTF-8 (RFC 3629, section 1).
    """
    return hmac.digest(key, b"\xff" + statement, "sha256")[:DIGEST_SIZE]


def prover_of(seal: bytes, tenant: UUID | None) -> Proof:
    """Return what proves a tenant's word with the seal of a log; without one, the log's own word.

    What proves for one tenant proves nothing for another, and nothing for the log.
    """
    key = seal if tenant is None else tenant_seal(seal, tenant)
    return partial(proof_of, key)


def tenant_seal(seal: bytes, tenant: UUID) -> bytes:
    """Return the seal of one tenant, from which nobody has that of the log or of another one."""
    return hashlib.sha256(seal + tenant.bytes).digest()


# Large bytes cut into pieces that fit a row, and put together again with proof.

PIECE_SIZE: Final = 1024 * 1024
"""The most bytes of a blob that one row holds."""


def pieces(chunks: Iterable[bytes], size: int = PIECE_SIZE) -> Iterator[bytes]:
    """Yield the same bytes in pieces of `size`, the last one shorter; nothing for no bytes."""
    piece = bytearray()
    for chunk in chunks:
        rest = memoryview(chunk)
        while rest:
            room = size - len(piece)
            piece += rest[:room]
            rest = rest[room:]
            if len(piece) == size:
                yield bytes(piece)
                piece.clear()
    if piece:
        yield bytes(piece)


class Digested:
    """Bytes that come in pieces, to be read once; then it says what refers to them."""

    def __init__(self, arriving: Iterable[bytes]) -> None:
        """Read none yet."""
        self._arriving = arriving
        self._digest = hashlib.sha256()
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces as they come."""
        for piece in self._arriving:
            self._digest.update(piece)
            self._size += len(piece)
            yield piece

    def blob(self) -> Blob:
        """Return the reference to the bytes that were read."""
        return Blob(sha256=self._digest.hexdigest(), size=self._size)


def verified(stored: Iterable[bytes], blob: Blob | KeyedBlob) -> Iterator[bytes]:
    """Yield a blob's pieces; CorruptRecord at the end, if they are not the bytes it refers to.

    Of an encrypted blob it is the digest at its end that is checked: who has its key checks the rest.
    """
    keyed = isinstance(blob, KeyedBlob)
    digest = StoredDigest() if keyed else ContentDigest(digest_of(blob))
    size = 0
    for piece in stored:
        digest.update(piece)
        size += len(piece)
        yield piece
    if size != blob.size or not digest.is_right():
        raise CorruptRecord(
            "bytes of a document are missing or do not match their digest: restore them from a backup"
        )


class ContentDigest:
    """Whether bytes have a SHA-256: what shows of a blob that is not encrypted."""

    def __init__(self, wanted: bytes) -> None:
        """Begin with no bytes."""
        self._wanted = wanted
        self._digest = hashlib.sha256()

    def update(self, stored: bytes) -> None:
        """Take the next bytes."""
        self._digest.update(stored)

    def is_right(self) -> bool:
        """Whether they have, when all bytes were taken."""
        return self._digest.digest() == self._wanted
