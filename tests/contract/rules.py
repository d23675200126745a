"""The log as anybody would say it in a page: what the state machine holds each backend against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.head import Effect, Head, advance
from onrecord.domain.log import (
    Append,
    BlobMissing,
    Conflict,
    Duplicate,
    Forgotten,
    Mismatch,
    NewEvent,
    Recorded,
    RecordedEvent,
    Verdict,
)


class Refused(Exception):
    """The conversation is another tenant's, or was forgotten: nothing is done."""


@dataclass
class Said:
    """What the model remembers of a recorded event."""

    conversation_id: UUID
    event_id: UUID
    body: bytes | None
    once: str | None
    effect: Effect
    exchange: int
    version: int


@dataclass
class Told:
    """What the model remembers of a conversation."""

    tenant: UUID | None = None
    head: Head = field(default_factory=Head)
    said: list[Said] = field(default_factory=list[Said])
    forgotten: bool = False


@dataclass
class Rules:
    """The model. `shards` says where each tenant lives, `begins` where each shard's log began."""

    shards: Mapping[UUID, int]
    begins: Mapping[int, int]
    told: dict[UUID, Told] = field(default_factory=dict[UUID, Told])
    logs: dict[int, list[Said]] = field(default_factory=dict[int, list[Said]])
    keys: dict[tuple[UUID, str], UUID] = field(default_factory=dict[tuple[UUID, str], UUID])
    blobs: dict[tuple[UUID, Blob | KeyedBlob], bool] = field(
        default_factory=dict[tuple[UUID, Blob | KeyedBlob], bool]
    )
    """Which blobs conversations own, and whether an event refers to them."""

    def copy(self) -> Rules:
        """Another model that remembers the same, to try something on."""
        twins = {id(said): replace(said) for told in self.told.values() for said in told.said}
        return replace(
            self,
            told={
                conversation_id: replace(told, said=[twins[id(said)] for said in told.said])
                for conversation_id, told in self.told.items()
            },
            logs={shard: [twins[id(said)] for said in log] for shard, log in self.logs.items()},
            keys=dict(self.keys),
            blobs=dict(self.blobs),
        )

    def conversation(self, conversation_id: UUID) -> Told:
        return self.told.setdefault(conversation_id, Told())

    def log(self, shard: int) -> list[Said]:
        return self.logs.setdefault(shard, [])

    def end(self, shard: int) -> int:
        return self.begins[shard] + len(self.log(shard))

    def append_all(self, appends: Sequence[Append]) -> list[Verdict]:
        """The verdicts; Refused if one is for another tenant's conversation."""
        return [self.append(append) for append in appends]

    def append(self, append: Append) -> Verdict:
        told = self.conversation(append.conversation_id)
        if told.tenant not in (None, append.tenant):
            raise Refused
        known = [self.known(append.conversation_id, event) for event in append.events]
        for ordinal, (event, found) in enumerate(zip(append.events, known, strict=True)):
            other = found is not None and found not in told.said
            if found and (other or (found.body is not None and found.body != event.body)):
                return Mismatch(ordinal)
        versions = [found.version for found in known if found]
        if len(versions) == len(known):
            return Duplicate(min(versions), max(versions))
        if versions:
            return Mismatch(next(n for n, found in enumerate(known) if found))
        onces = [event.once for event in append.events]
        for ordinal, once in enumerate(onces):
            if once is not None and once in onces[:ordinal]:
                return Mismatch(ordinal)
        if told.forgotten:
            return Forgotten()
        if append.expected_version not in (None, told.head.version):
            return Conflict(told.head.version)
        return self.missing(append) or self.record(append, told)

    def missing(self, append: Append) -> BlobMissing | None:
        blobs = [blob for event in append.events for blob in event.blobs]
        gone = (
            n for n, blob in enumerate(blobs) if (append.conversation_id, blob) not in self.blobs
        )
        ordinal = next(gone, None)
        return None if ordinal is None else BlobMissing(ordinal)

    def record(self, append: Append, told: Told) -> Recorded:
        told.tenant, first = append.tenant, told.head.version + 1
        shard = self.shards[append.tenant]
        for event in append.events:
            told.head = advance(told.head, event.effect)
            said = Said(
                append.conversation_id,
                event.event_id,
                event.body,
                event.once,
                event.effect,
                told.head.exchange,
                told.head.version,
            )
            told.said.append(said)
            self.log(shard).append(said)
            for blob in event.blobs:
                self.blobs[append.conversation_id, blob] = True
        return Recorded(first, told.head.version, self.end(shard))

    def known(self, conversation_id: UUID, event: NewEvent) -> Said | None:
        everything = [said for told in self.told.values() for said in told.said]
        by_id = [said for said in everything if said.event_id == event.event_id]
        own = self.told[conversation_id].said
        by_once = [said for said in own if said.once is not None and said.once == event.once]
        return next(iter(by_id + by_once), None)

    def forget(self, conversation_id: UUID) -> int:
        told = self.conversation(conversation_id)
        erased = [said for said in told.said if said.body is not None]
        for said in erased:
            said.body = said.once = None
        told.head = replace(told.head, open_calls={})
        told.forgotten = bool(told.said)
        self.keys = {name: owner for name, owner in self.keys.items() if owner != conversation_id}
        self.blobs = {at: used for at, used in self.blobs.items() if at[0] != conversation_id}
        return len(erased)

    def must_take(self, tenant: UUID, conversation_id: UUID) -> None:
        told = self.conversation(conversation_id)
        if told.tenant not in (None, tenant) or told.forgotten:
            raise Refused

    def open(self, tenant: UUID, key: str, conversation_id: UUID) -> UUID:
        if (tenant, key) not in self.keys:
            self.must_take(tenant, conversation_id)
        return self.keys.setdefault((tenant, key), conversation_id)

    def put_blob(self, tenant: UUID, conversation_id: UUID, blob: Blob) -> None:
        self.must_take(tenant, conversation_id)
        self.blobs.setdefault((conversation_id, blob), False)

    def sweep_blobs(self) -> int:
        kept: dict[tuple[UUID, Blob | KeyedBlob], bool] = {
            at: True for at, used in self.blobs.items() if used
        }
        swept = len(self.blobs) - len(kept)
        self.blobs = kept
        return swept


def seen(events: Iterable[RecordedEvent]) -> list[tuple[object, ...]]:
    return [(e.conversation_id, e.event_id, e.body, e.exchange, e.version) for e in events]


def remembered(said: Sequence[Said]) -> list[tuple[object, ...]]:
    return [(s.conversation_id, s.event_id, s.body, s.exchange, s.version) for s in said]


def first_of(told: Told, exchange: int) -> int:
    own = [said.version for said in told.said if said.exchange == exchange]
    return own[0] if own else 0
