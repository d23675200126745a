"""A batch of appends as the parameters of hansard.append, and its rows as verdicts.

The driver's own lists cost more time than the call's work on the server, so arrays are packed
here, in the binary form of the protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import TupleRow

from hansard.domain.head import Effect, Pointer
from hansard.domain.log import Append, Conflict, Duplicate, Mismatch, Recorded, Verdict

_BYTEA: Final = 17
_BIGINT: Final = 20
_INTEGER: Final = 23
_TEXT: Final = 25
_UUID: Final = 2950

_LENGTH: Final = struct.Struct(">i").pack
_NULL: Final = _LENGTH(-1)
_EMPTY: Final = struct.Struct(">iiI").pack
_VECTOR: Final = struct.Struct(">iiIii").pack
_INT4: Final = struct.Struct(">i").pack
_INT8: Final = struct.Struct(">q").pack

_POINTERS: Final[dict[Pointer | None, int]] = {
    None: 0,
    "instructions": 32,
    "tools": 64,
    "request": 128,
}


class Array(NamedTuple):
    """A one-dimensional array: the OID of its element type, and each element in binary form."""

    element: int
    items: Sequence[bytes | None]


class ArrayDumper(Dumper):
    """Writes an Array as array_recv() of the server reads it; the statement's cast types it."""

    format = Format.BINARY

    def dump(self, obj: Array) -> bytes:
        """Return the bytes of the parameter."""
        items = obj.items
        if not items:
            return _EMPTY(0, 0, obj.element)
        parts = [_VECTOR(1, None in items, obj.element, len(items), 1)]
        for item in items:
            if item is None:
                parts.append(_NULL)
            else:
                parts += (_LENGTH(len(item)), item)
        return b"".join(parts)


def parameters_of(appends: Sequence[Append], digest: Callable[[str], bytes]) -> tuple[Array, ...]:
    """Return the arguments of hansard.append; `digest` makes keyed digests of once-names."""
    new = [event for append in appends for event in append.events]
    effects = [event.effect for event in new]
    blobs = [
        (bytes.fromhex(blob.sha256), asked)
        for asked, append in enumerate(appends, 1)
        for event in append.events
        for blob in event.blobs
    ]
    return (
        Array(_UUID, [append.tenant.bytes for append in appends]),
        Array(_UUID, [append.conversation_id.bytes for append in appends]),
        Array(_BIGINT, [_bigint(append.expected_version) for append in appends]),
        Array(_INTEGER, [_INT4(len(append.events)) for append in appends]),
        Array(_UUID, [event.event_id.bytes for event in new]),
        Array(_TEXT, [event.type.encode() for event in new]),
        Array(_INTEGER, [_INT4(event.schema_version) for event in new]),
        Array(_BYTEA, [event.header for event in new]),
        Array(_BYTEA, [event.salt for event in new]),
        Array(_BYTEA, [event.body for event in new]),
        Array(_BYTEA, [None if event.once is None else digest(event.once) for event in new]),
        Array(_INTEGER, [_INT4(_bits(effect)) for effect in effects]),
        Array(_BYTEA, [_call(effect) for effect in effects]),
        Array(_BIGINT, [_INT8(effect.input_tokens) for effect in effects]),
        Array(_BIGINT, [_INT8(effect.output_tokens) for effect in effects]),
        Array(_BYTEA, [blob for blob, _ in blobs]),
        Array(_INTEGER, [_INT4(asked) for _, asked in blobs]),
    )


def verdict_of(row: TupleRow) -> Verdict:
    """Return the verdict that a row of hansard.append stands for."""
    match row:
        case ("recorded", first, last, position):
            return Recorded(first, last, position)
        case ("duplicate", first, last, _):
            return Duplicate(first, last)
        case ("conflict", current, _, _):
            return Conflict(current)
        case ("mismatch", ordinal, _, _):
            return Mismatch(ordinal)
        case _:
            raise AssertionError(f"hansard.append answered {row[0]!r}")


def call_bytes(call_id: str) -> bytes:
    """Return the id of a call as bytes: JSON allows text that PostgreSQL does not."""
    return call_id.encode("utf-8", "surrogatepass")


def call_id(data: bytes) -> str:
    """Return the id of a call that bytes stand for."""
    return data.decode("utf-8", "surrogatepass")


def _bigint(value: int | None) -> bytes | None:
    return None if value is None else _INT8(value)


def _bits(effect: Effect) -> int:
    # 002_append.sql says what each bit means.
    return (
        effect.prompts
        | effect.gives_up << 1
        | effect.closes << 2
        | (effect.opens_call is not None) << 3
        | (effect.closes_call is not None) << 4
        | _POINTERS[effect.points]
    )


def _call(effect: Effect) -> bytes | None:
    # As in domain/head.py, an event that opens a call closes none.
    named = effect.closes_call if effect.opens_call is None else effect.opens_call
    return None if named is None else call_bytes(named)
