"""The end of a log in Redis, a stream a shard, for many readers: one relay reads for all of them.

A reader takes from the stream what follows, position by position, on what it has; what is missing
there, for whatever reason, it takes from the log. So it never skips an event and never repeats one.
The relay marks how far it saw the log a moment ago. Who has all up to there may wait for the stream
alone, and looks into the log now and then, for a mark may say what is not so; once it has lapsed,
readers follow the log as if there were no Redis.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Any, Final, NamedTuple, Protocol, cast
from uuid import UUID

from onrecord.adapters.redis.connection import PATIENT_SECONDS, Connection
from onrecord.adapters.storage.append import Proof
from onrecord.adapters.storage.subscription import PAGE, PollingSubscription, Wakeups, owned_by
from onrecord.domain.log import Backend, Cursor, RecordedEvent

# What is kept in Redis bears a proof of the log's: what another put there is as good as missing.

_SIZE: Final = 16
_PLAIN: Final = b"\x00"
_PACKED: Final = b"\x01"

_WORTH_PACKING: Final = 1 << 17
"""Shorter values are kept as they are: to unpack 64 KB took as long as all else of a hit."""


def seal(prove: Proof, place: str, value: bytes) -> bytes:
    """Return a value as it is kept at a place, with the proof that it belongs there."""
    is_long = len(value) >= _WORTH_PACKING
    packed = _PACKED + zlib.compress(value, 1) if is_long else _PLAIN + value
    return prove(_statement(place, packed)) + packed


def opened(prove: Proof, place: str, sealed: bytes) -> bytes | None:
    """Return the value that was sealed for a place; None for anything else."""
    proof, data = sealed[:_SIZE], sealed[_SIZE:]
    if not hmac.compare_digest(proof, prove(_statement(place, data))):
        return None
    return zlib.decompress(data[1:]) if data[:1] == _PACKED else data[1:]


def _statement(place: str, data: bytes) -> bytes:
    return f"redis {place} ".encode() + hashlib.sha256(data).digest()


# A recorded event as an entry of a tail, and back: every field as the log has it.

FIELD: Final = b"event"
"""The only field of an entry."""

AT_ONCE: Final = 100
"""How many entries are sent at once: few enough for an answer in time, were they all large."""

_FIXED: Final = struct.Struct(">16s16s16sqqqq6i")
_NONE: Final = -1


class Entry(NamedTuple):
    """An event, and whose it is: readers of one tenant need not ask the log."""

    tenant: UUID
    event: RecordedEvent


def tail_key(incarnation: UUID, shard: int) -> str:
    """Return the key of a shard's tail."""
    return f"onrecord:{incarnation}:tail:{shard}"


def sealed_entry(prove: Proof, key: str, entry: Entry) -> bytes:
    """Return an entry as the tail of that key has it."""
    event = entry.event
    parts = (event.type.encode(), event.header, event.digest, event.leaf, event.salt, event.body)
    fixed = _FIXED.pack(
        entry.tenant.bytes,
        event.conversation_id.bytes,
        event.event_id.bytes,
        event.version,
        event.exchange,
        event.schema_version,
        event.recorded_at,
        *(_NONE if part is None else len(part) for part in parts),
    )
    packed = fixed + b"".join(part for part in parts if part is not None)
    return seal(prove, f"{key} {event.position}", packed)


def entries_in(prove: Proof, key: str, shard: int, answer: Any) -> list[Entry]:
    """Return the entries of an answer to XREAD, up to the first that is not of this log's making.

    `answer` is as the driver has it; None where nothing came.
    """
    entries: list[Entry] = []
    for place, fields in _rows(answer):
        position = int(place.partition(b"-")[0])
        packed = opened(prove, f"{key} {position}", fields.get(FIELD, b""))
        if packed is None:
            break
        entries.append(_entry(shard, position, packed))
    return entries


def _rows(answer: Any) -> list[tuple[bytes, dict[bytes, bytes]]]:
    if not answer:
        return []
    ((_, rows),) = answer  # One tail was asked for.
    return cast("list[tuple[bytes, dict[bytes, bytes]]]", rows)


def _entry(shard: int, position: int, packed: bytes) -> Entry:
    tenant, conversation, event_id, version, exchange, schema, recorded_at, *lengths = (
        _FIXED.unpack_from(packed)
    )
    parts: list[bytes | None] = []
    at = _FIXED.size
    for length in lengths:
        parts.append(None if length == _NONE else packed[at : at + length])
        at += max(length, 0)
    name, header, digest, leaf, salt, body = parts
    event = RecordedEvent(
        shard=shard,
        position=position,
        conversation_id=UUID(bytes=conversation),
        version=version,
        exchange=exchange,
        event_id=UUID(bytes=event_id),
        type=cast("bytes", name).decode(),
        schema_version=schema,
        recorded_at=recorded_at,
        header=cast("bytes", header),
        digest=cast("bytes", digest),
        leaf=cast("bytes", leaf),
        salt=salt,
        body=body,
    )
    return Entry(UUID(bytes=tenant), event)


LOOK_SECONDS: Final = 5.0
"""How long a reader waits for the stream alone until it asks the log whether there is more."""

_WAIT: Final = ("BLOCK", round(PATIENT_SECONDS * 1000))


class Followed(Backend, Protocol):
    """A backend, and what wakes up those who follow it in this process."""

    wakeups: Wakeups


def mark_key(incarnation: UUID) -> str:
    """Return the key of the relay's mark: by shard, the position that it saw last."""
    return f"onrecord:{incarnation}:relayed"


@dataclass(frozen=True, slots=True)
class Tail:
    """The tail of one shard, as a Redis has it; `prove` is the log's."""

    connection: Connection
    prove: Proof
    incarnation: UUID
    shard: int

    def after(self, position: int, *, waits: bool) -> list[Entry] | None:
        """Return the entries that follow on a position without a gap; None: only the log can tell.

        None of them where a relay saw no more; one that `waits` gives it a moment to.
        """
        key = tail_key(self.incarnation, self.shard)
        wait = _WAIT if waits else ()
        answers = self.connection.ask(
            ("HGET", mark_key(self.incarnation), self.shard),
            ("XREAD", "COUNT", AT_ONCE, *wait, "STREAMS", key, f"{position}-0"),
            is_patient=waits,
        )
        mark, came = answers or (None, None)
        # Without a relay nobody takes out what is erased by those who have no Redis.
        if mark is None:
            return None
        entries = entries_in(self.prove, key, self.shard, came)
        following = list(takewhile(_follow(position), entries))
        # A log that was set back is behind its readers, and has to tell them.
        has_all = mark == b"%d" % position and not came
        return following if following or has_all else None


def _follow(position: int) -> Callable[[Entry], bool]:
    """Return whether an entry is the next one, asked of each in its turn."""
    expected = count(position + 1)
    return lambda entry: entry.event.position == next(expected)


class TailSubscription(PollingSubscription):
    """The events of a shard after a cursor, by way of a tail as far as that goes on."""

    def __init__(self, tail: Tail, backend: Followed, after: Cursor, tenant: UUID | None) -> None:
        """Follow a tail, and the log where that does not go on; only a tenant's events, if given.

        The first read may raise StaleCursor.
        """
        super().__init__(backend.read_log, after, backend.wakeups, owned_by(tenant, backend.owner))
        self._tail = tail
        self._tenant = tenant
        self._is_relayed = False
        self._is_behind = False
        self._looks_at = time.monotonic() + LOOK_SECONDS

    def _ended(self) -> bool:
        return super()._ended() or self._tail.connection.closed

    def _fetch(self) -> None:
        if not self._follow_tail():
            self._follow_log()

    def _follow_tail(self) -> bool:
        """Take what the tail has; False where the log is to be asked."""
        if self._is_behind:
            return False
        entries = self._tail.after(self._after.position, waits=self._is_relayed)
        self._is_relayed = entries is not None
        if entries:
            self._ready.extend(
                entry.event for entry in entries if self._tenant in (None, entry.tenant)
            )
            self._after = replace(self._after, position=entries[-1].event.position)
            return True
        return self._is_relayed and time.monotonic() < self._looks_at

    def _follow_log(self) -> None:
        """Take what the log has; wait a moment where that is nothing."""
        seen = self._wakeups.seen()
        size = self._read_page()
        if size is None:
            return
        self._looks_at = time.monotonic() + LOOK_SECONDS
        self._is_behind = size == PAGE
        if size == 0 and not self._is_relayed:
            self._wakeups.wait(seen, lambda: self._stopped)
