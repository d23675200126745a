"""A batch of appends as the parameter of onrecord.append, and its rows as verdicts.

The driver's own composites and lists cost more time than the call's work on the server, so the
requests are packed here, in the binary form of the protocol: an array of onrecord.request, each
with its array of onrecord.new_event (001_log.sql).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID

from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import TupleRow

from onrecord.adapters.storage.append import must_be_apart
from onrecord.domain.admission import Need, Refused
from onrecord.domain.blobs import digest_of
from onrecord.domain.erasure.destroyed import KeyDestroyed
from onrecord.domain.head import Effect, Head, Pointer
from onrecord.domain.log import (
    Append,
    BlobMissing,
    Conflict,
    Duplicate,
    Forgotten,
    Mismatch,
    NewEvent,
    NewSince,
    Recorded,
    RecordedEvent,
    Verdict,
)

_BYTEA: Final = 17
_BYTEAS: Final = 1001
# The server knows its own types: it looks at the OIDs of built-in ones only.
_OURS: Final = 0

_LENGTH: Final = struct.Struct(">i").pack
_FIELD: Final = struct.Struct(">Ii").pack
_VECTOR: Final = struct.Struct(">iiIii").pack
_NO_ITEMS: Final = struct.Struct(">iiI").pack

# What record_recv() of the server reads: the number of columns, and each column's type, length and
# value. Columns of a fixed length are packed together with their neighbours' types and lengths.
_REQUEST: Final = struct.Struct(">i Ii16s Ii16s").pack
_EVENT: Final = struct.Struct(">i Ii16s Ii").pack
_INTEGER: Final = struct.Struct(">Iii").pack
_BIGINT: Final = struct.Struct(">Iiq").pack
_TEXT_OID: Final = 25
_INTEGER_OID: Final = 23
_BIGINT_OID: Final = 20
_UUID_OID: Final = 2950

_NO_BYTES: Final = _FIELD(_BYTEA, -1)
_NO_VERSION: Final = _FIELD(_BIGINT_OID, -1)

_POINTERS: Final[dict[Pointer | None, int]] = {
    None: 0,
    "instructions": 32,
    "tools": 64,
    "request": 128,
    "adopted": 256,
    "amended": 512,
}


_NEEDS: Final[dict[Need | None, int]] = {None: 0, "first": 1024, "early": 2048, "open": 4096}


class Requests(bytes):
    """An array of onrecord.request, packed."""


class RequestsDumper(Dumper):
    """Hands packed requests to the server; the statement's cast types them."""

    format = Format.BINARY

    def dump(self, obj: Requests) -> Requests:
        """Return the bytes of the parameter."""
        return obj


def packed(appends: Sequence[Append], digest: Callable[[str], bytes]) -> list[bytes]:
    """Return each append as an onrecord.request; `digest` makes keyed digests of once-names.

    StorageReadOnly where one is refused whatever the log holds.
    """
    must_be_apart(appends)
    return [_request(append, digest) for append in appends]


def parameters_of(requests: Sequence[bytes]) -> tuple[Requests]:
    """Return packed requests, of whatever callers, as the argument of onrecord.append."""
    return (Requests(_array(_OURS, requests)),)


def verdict_of(row: TupleRow) -> Verdict:
    """Return the verdict that a row of onrecord.append stands for."""
    match row:
        case ("recorded", first, last, position):
            return Recorded(first, last, position)
        case ("duplicate", first, last, _):
            return Duplicate(first, last)
        case ("forgotten", *_):
            return Forgotten()
        case ("conflict", current, _, _):
            return Conflict(current)
        case ("mismatch", ordinal, _, _):
            return Mismatch(ordinal)
        case ("missing", ordinal, _, _):
            return BlobMissing(ordinal)
        case ("refused", ordinal, _, _):
            return Refused(ordinal)
        case ("destroyed", ordinal, _, _):
            return KeyDestroyed(ordinal)
        case _:
            raise AssertionError(f"onrecord.append answered {row[0]!r}")


def call_bytes(call_id: str) -> bytes:
    """Return the id of a call as bytes: JSON allows text that PostgreSQL does not."""
    return call_id.encode("utf-8", "surrogatepass")


def call_id(data: bytes) -> str:
    """Return the id of a call that bytes stand for."""
    return data.decode("utf-8", "surrogatepass")


def _request(append: Append, digest: Callable[[str], bytes]) -> bytes:
    tenant, conversation = append.tenant.bytes, append.conversation_id.bytes
    expected = append.expected_version
    events = _array(_OURS, [_event(event, digest) for event in append.events])
    blobs = _array(_BYTEA, [digest_of(blob) for event in append.events for blob in event.blobs])
    return b"".join(
        (
            _REQUEST(5, _UUID_OID, 16, tenant, _UUID_OID, 16, conversation),
            _NO_VERSION if expected is None else _BIGINT(_BIGINT_OID, 8, expected),
            _FIELD(_OURS, len(events)),
            events,
            _FIELD(_BYTEAS, len(blobs)),
            blobs,
        )
    )


def _event(event: NewEvent, digest: Callable[[str], bytes]) -> bytes:
    name, effect = event.type.encode(), event.effect
    return b"".join(
        (
            _EVENT(11, _UUID_OID, 16, event.event_id.bytes, _TEXT_OID, len(name)),
            name,
            _INTEGER(_INTEGER_OID, 4, event.schema_version),
            _FIELD(_BYTEA, len(event.header)),
            event.header,
            _FIELD(_BYTEA, len(event.salt)),
            event.salt,
            _FIELD(_BYTEA, len(event.body)),
            event.body,
            _NO_BYTES if event.once is None else _bytes(digest(event.once)),
            _INTEGER(_INTEGER_OID, 4, _bits(effect) | _NEEDS[event.needs]),
            _call(effect),
            _BIGINT(_BIGINT_OID, 8, effect.input_tokens),
            _BIGINT(_BIGINT_OID, 8, effect.output_tokens),
        )
    )


def _array(element: int, items: Sequence[bytes]) -> bytes:
    """Return a one-dimensional array as array_recv() of the server reads it."""
    if not items:
        return _NO_ITEMS(0, 0, element)
    parts = [_VECTOR(1, 0, element, len(items), 1)]
    for item in items:
        parts += (_LENGTH(len(item)), item)
    return b"".join(parts)


def _bytes(value: bytes) -> bytes:
    return _FIELD(_BYTEA, len(value)) + value


def _bits(effect: Effect) -> int:
    # 001_log.sql says what each bit means.
    return (
        effect.prompts
        | effect.gives_up << 1
        | effect.closes << 2
        | (effect.opens_call is not None) << 3
        | (effect.closes_call is not None) << 4
        | _POINTERS[effect.points]
    )


def _call(effect: Effect) -> bytes:
    # As in domain/head.py, an event that opens a call closes none.
    named = effect.closes_call if effect.opens_call is None else effect.opens_call
    return _NO_BYTES if named is None else _bytes(call_bytes(named))


def open_calls(calls: Sequence[bytes], since: Sequence[int]) -> dict[str, int]:
    """Return the open calls, and since which version each is open, of their two columns."""
    return dict(zip(map(call_id, calls), since, strict=True))


_HEAD: Final = 12
"""How many columns a row of `head` has."""


def new_since_of(rows: list[TupleRow], incarnation: UUID) -> NewSince:
    """Return what the rows of `progress` say: each has the head, and those events that came."""
    erasures, version, *_ = first = rows[0]
    head = Head() if version is None else head_of(first[1 : _HEAD + 1])
    came = (row[_HEAD + 1 :] for row in rows)
    events = [RecordedEvent._make(event) for event in came if event[0] is not None]
    return NewSince(incarnation, erasures, head, events)


def head_of(
    row: TupleRow, calls_of: Callable[[list[Any], list[Any]], dict[str, int]] = open_calls
) -> Head:
    """Return the head of a row of `head`, or of the first columns of `conversations`.

    `calls_of` reads the two columns of open calls.
    """
    version, exchange, calls, since, *rest = row
    return Head(version, exchange, calls_of(calls, since), *rest)
