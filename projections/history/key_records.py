"""Keys of the service as the operators' streams tell of them: whose, in which role, until when, and used when.

A server tells of the keys that were used, so it writes their streams, and may be in wrong hands. Whether
a key counts is therefore told by the first event of its stream, which whoever issued it wrote, and by
whether the stream is closed, which nothing takes back. What stands between decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import time_of
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import key_id, operators_of
from onrecord.domain.operators import KeyFact, KeyIssued, KeyRevoked, KeyUsed, decode_fact

Keyed = Callable[[str], bytes]
"""The keyed digest of a log."""

KeyStatus = Literal["valid", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key that was issued; `revocation` is None while it counts, `used_at` where nobody used it yet.

    `used_at` is in microseconds since 1970-01-01 UTC, and up to an hour old. `is_revoked` is told by the
    stream, though the event that closed it cannot be read.
    """

    key_id: UUID
    issued: KeyIssued
    is_revoked: bool = False
    revocation: KeyRevoked | None = None
    used_at: int | None = None

    @property
    def used_time(self) -> datetime | None:
        """Return `used_at` as a datetime, in UTC."""
        return None if self.used_at is None else time_of(self.used_at)

    def status(self, now: int) -> KeyStatus:
        """Return whether it counts at a time, in microseconds since 1970-01-01 UTC."""
        if self.is_revoked:
            return "revoked"
        return "expired" if is_expired(self.issued, now) else "valid"


def is_expired(issued: KeyIssued, now: int) -> bool:
    """Return whether a key counts no more at a time: the moment at which it expires is after its end."""
    return issued.expires_at is not None and now >= issued.expires_at


def issued_key(first: RecordedEvent, operators: UUID | None, keyed: Keyed) -> KeyIssued:
    """Return what the first event of a key's stream says; `operators` is the tenant whose stream it is.

    CorruptRecord where it cannot be read, or issues another key than the stream is of, or one for
    another tenant: whoever issues keys for one tenant makes none for others.
    """
    fact = _fact(first)
    if not isinstance(fact, KeyIssued):
        raise CorruptRecord("a key's stream does not begin with its issue: run `onrecord verify`")
    if key_id(keyed, fact.digest) != first.conversation_id:
        raise CorruptRecord("a key's stream issues another key: run `onrecord verify`")
    if operators_of(fact.tenant) != operators:
        raise CorruptRecord(
            "a key was issued by operators of another tenant: run `onrecord verify`"
        )
    return fact


def key_entry(
    first: RecordedEvent,
    last: Sequence[RecordedEvent],
    operators: UUID,
    keyed: Keyed,
    *,
    is_revoked: bool,
) -> KeyEntry:
    """Return a key by the first event of its stream, the last two, and whether the stream is closed.

    CorruptRecord where the first one cannot be read; the others tell what can be read of them.
    """
    entry = KeyEntry(first.conversation_id, issued_key(first, operators, keyed), is_revoked)
    for event in last:
        try:
            fact = _fact(event)
        except CorruptRecord:
            continue
        if isinstance(fact, KeyUsed):
            entry = replace(entry, used_at=fact.at)
        elif isinstance(fact, KeyRevoked) and is_revoked:
            entry = replace(entry, revocation=fact)
    return entry


def must_be_in_order(events: Iterable[RecordedEvent], operators: UUID, keyed: Keyed) -> None:
    """Raise CorruptRecord where a stream is not that of a key: issued, used, and revoked at its end."""
    before: KeyFact | None = None
    for event in events:
        fact = issued_key(event, operators, keyed) if before is None else _fact(event)
        is_next = isinstance(fact, KeyIssued) == (before is None)
        if not is_next or isinstance(before, KeyRevoked) or operators_of(fact.tenant) != operators:
            raise CorruptRecord("the events of a key are not in their order")
        before = fact


def _fact(event: RecordedEvent) -> KeyFact:
    fact = decode_fact(event.type, event.schema_version, event.body or b"")
    if isinstance(fact, KeyFact):
        return fact
    raise CorruptRecord("a key's stream tells of something else: run `onrecord verify`")
