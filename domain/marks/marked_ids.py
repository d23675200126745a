"""The ids of the operators' streams: marked, so that no tenant's and no conversation's is one of them."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias
from uuid import UUID

StreamKind: TypeAlias = Literal[
    "erasure", "destroyed key", "key", "hold", "retention class", "access", "move"
]

_MARK: Final = b"ONRC"
_DESTROYED_MARK: Final = b"ONRD"
_ACCESS_MARK: Final = b"ONRA"
_KEY_MARK: Final = b"ONRK"
_HOLD_MARK: Final = b"ONRH"
_MOVE_MARK: Final = b"ONRM"
RETENTION_MARK: Final = b"ONRT"
_KINDS: Final[Mapping[int, StreamKind]] = {
    int.from_bytes(_MARK): "erasure",
    int.from_bytes(_DESTROYED_MARK): "destroyed key",
    int.from_bytes(_KEY_MARK): "key",
    int.from_bytes(_HOLD_MARK): "hold",
    int.from_bytes(RETENTION_MARK): "retention class",
    int.from_bytes(_ACCESS_MARK): "access",
    int.from_bytes(_MOVE_MARK): "move",
}
_MARKED_VERSION: Final = 8
"""Of UUIDs whose bits mean what their maker says (RFC 9562, 5.8)."""


def operators_of(tenant: UUID) -> UUID:
    """Return the tenant of the log that is the operators' stream of another one."""
    return marked(b"onrecord operators" + tenant.bytes)


def erasure_id(tenant: UUID, conversation_id: UUID, number: int) -> UUID:
    """Return the id of an erasure: two that begin the same one at once meet in it."""
    place = tenant.bytes + conversation_id.bytes + number.to_bytes(8)
    return marked(b"onrecord erasure" + place)


def destroyed_key_id(tenant: UUID, key_id: str) -> UUID:
    """Return the id of the stream that says that the key of a tenant's subject is destroyed."""
    return marked(b"onrecord destroyed key" + tenant.bytes + key_id.encode(), _DESTROYED_MARK)


def key_id(keyed: Callable[[str], bytes], digest: str) -> UUID:
    """Return the id of the key whose secret has a digest: `keyed` is the keyed digest of the log.

    So whoever has the log tells without a look whether an id and a secret belong together, and nobody
    else can make two that do.
    """
    return marked(b"onrecord key" + keyed(f"key {digest}"), _KEY_MARK)


def hold_id(tenant: UUID, conversation_id: UUID | None, number: int) -> UUID:
    """Return the id of a hold on a conversation, or on all that a tenant has."""
    place = number.to_bytes(8)
    if conversation_id is None:
        return marked(b"onrecord tenant hold" + tenant.bytes + place, _HOLD_MARK)
    return marked(b"onrecord hold" + tenant.bytes + conversation_id.bytes + place, _HOLD_MARK)


def day_of(at: int) -> int:
    """Return the day of a moment in microseconds, in UTC, counted from 1970-01-01."""
    return at // 86_400_000_000


def access_id(tenant: UUID, day: int) -> UUID:
    """Return the id of the stream that tells what of a tenant was read on a day, counted from 1970-01-01."""
    return marked(b"onrecord access" + tenant.bytes + day.to_bytes(8), _ACCESS_MARK)


def move_id(tenant: UUID, origin: UUID) -> UUID:
    """Return the id of the stream that tells what of a tenant came from another log, by the id of that."""
    return marked(b"onrecord move" + tenant.bytes + origin.bytes, _MOVE_MARK)


def is_marked(id_: UUID) -> bool:
    """Return whether an id is of the operators' streams: of their tenant, or of one of them."""
    # Of each request that is appended: its first 32 bits, and the 4 that say its version.
    number = id_.int >> 96
    return number in _KINDS and id_.int >> 76 & 0xF == _MARKED_VERSION


def stream_kind(id_: UUID) -> StreamKind:
    """Return what a stream of operators tells of, by its id; their tenant's says erasure."""
    return _KINDS[id_.int >> 96]


def is_key(id_: UUID) -> bool:
    """Return whether an id is of the stream of a key."""
    return is_marked(id_) and stream_kind(id_) == "key"


def is_hold(id_: UUID) -> bool:
    """Return whether an id is of the stream of a legal hold."""
    return is_marked(id_) and stream_kind(id_) == "hold"


def is_retention(id_: UUID) -> bool:
    """Return whether an id is of a stream in which a retention class is set."""
    return is_marked(id_) and stream_kind(id_) == "retention class"


def is_access(id_: UUID) -> bool:
    """Return whether an id is of a stream that tells what was read."""
    return is_marked(id_) and stream_kind(id_) == "access"


def is_destroyed_key(id_: UUID) -> bool:
    """Return whether an id is of the stream that says that a subject's key is destroyed."""
    return is_marked(id_) and stream_kind(id_) == "destroyed key"


def is_move(id_: UUID) -> bool:
    """Return whether an id is of the stream that tells what came from another log."""
    return is_marked(id_) and stream_kind(id_) == "move"


def is_erasure(id_: UUID) -> bool:
    """Return whether an id is of an erasure, where it is of a stream of operators."""
    return is_marked(id_) and stream_kind(id_) == "erasure"


def marked(name: bytes, mark: bytes = _MARK) -> UUID:
    """Return the marked id of a name: a UUID of version 8 that begins with the mark."""
    digest = bytearray(mark + hashlib.sha256(name).digest()[4:16])
    digest[6] = _MARKED_VERSION << 4 | digest[6] & 0x0F
    digest[8] = 0x80 | digest[8] & 0x3F
    return UUID(bytes=bytes(digest))
