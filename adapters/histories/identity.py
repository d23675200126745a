"""Ids that a history has wherever and whenever it is read, so that importing it again is free.

An id stands for the tenant, the key and all that was said up to there. Ids outlive erasure, so they
come from the store's keyed digest: without its key nobody can try what they stand for. An id has
the form of a UUIDv7 (RFC 9562) at time 0, for a source seldom tells times and may correct them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final
from uuid import UUID

from onrecord.adapters.histories.history import Digest
from onrecord.domain.encoding import encode
from onrecord.domain.events import Event
from onrecord.domain.registry import name_of

_SUBJECT: Final = "a history of another program"


class Identity:
    """The ids of what an imported conversation holds."""

    def __init__(self, digest: Digest, tenant: UUID, key: str) -> None:
        """Take the tenant and the key: they set one import apart from another."""
        self._seed = digest(f"{_SUBJECT}:{tenant}:{key}")

    def conversation(self) -> UUID:
        """Return the id of the conversation."""
        return _id(self._seed, b"conversation")

    def responses(self) -> Iterator[UUID]:
        """Yield the ids of its responses, in order."""
        return (_id(self._seed, b"response:%d" % number) for number in count())

    def line(self, number: int) -> UUID:
        """Return the id of a side line of it."""
        return _id(self._seed, b"line:%d" % number)

    def of_events(self, events: Iterable[Event]) -> Iterator[UUID]:
        """Yield an id for each event: it stands for that one and all before it."""
        digest = self._seed
        for event in events:
            digest = _after(digest, event)
            yield _id(digest, b"event")

    def of_setting(self, event: Event, before: UUID | None) -> UUID:
        """Return the id of an event that sets something after the event of an id."""
        place = before.bytes if before else b""
        return _id(_after(self._seed + place, event), b"setting")


def _after(digest: bytes, event: Event) -> bytes:
    body = encode(event)
    return hashlib.sha256(digest + name_of(event).encode() + b"\x00" + body).digest()


def _id(digest: bytes, kind: bytes) -> UUID:
    drawn = int.from_bytes(hashlib.sha256(digest + b"\x00" + kind).digest()[:10])
    version_7, variant = 0x7 << 76, 0b10 << 62
    return UUID(int=version_7 | (drawn >> 66 & 0xFFF) << 64 | variant | drawn & (1 << 62) - 1)
