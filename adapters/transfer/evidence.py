"""The evidence bundle: what was said, with the proof of each event, for who trusts neither us nor the log.

JSON lines, as an export has them: keys and signed checkpoints first; then each conversation, behind the
operators' events of its erasures; each event with its proof, behind its documents and the request that
it tells of, as it was sent. docs/format.md is the specification, and
src/onrecord_verify.py reads it by itself.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import readable_in, stored_of, without_bodies
from onrecord.adapters.seals.checkpoints import SealedCheckpoint
from onrecord.adapters.seals.proofs import LogProofs, ShardProofs
from onrecord.adapters.streams.lineage import Lineages, LineSegment
from onrecord.adapters.transfer.export import (
    blob_lines,
    blobs_in,
    byte_members,
    bytes_among,
    closed,
    place_members,
)
from onrecord.domain.content import Blob
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.events import ConversationStarted
from onrecord.domain.inventory import StoredHead
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.marks.marked_ids import erasure_id
from onrecord.domain.operators import COMPLETED
from onrecord.domain.seals.notes import parse_note
from onrecord.projections.matching.template import RequestReplay, sent_in

FORMAT: Final = 1
_PAGE: Final = 256

Line = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a bundle is about: a conversation, or what moved in a tenant's period.

    `since` and `until` are in microseconds since 1970-01-01 UTC by the log's clock; the period begins at
    the one and ends before the other, and None is no bound. A conversation that moved in it is told from its
    beginning to its last event of the period.
    """

    tenant: UUID
    conversation_id: UUID | None = None
    since: int | None = None
    until: int | None = None

    def has(self, event: RecordedEvent) -> bool:
        """Whether an event was recorded in the period."""
        return (self.since is None or event.recorded_at >= self.since) and (
            self.until is None or event.recorded_at < self.until
        )

    def member(self) -> Line:
        """Return what the first line says of it."""
        if self.conversation_id is not None:
            return {"conversation": str(self.conversation_id)}
        return {"tenant": str(self.tenant), "since": self.since, "until": self.until}


@dataclass(slots=True)
class Evidence:
    """Writes one bundle of a log, as the log stood when `ends` was read: the last position of each shard.

    Encrypted events stand in it as they are stored, whoever has keys, and nothing that they say. A shard
    that is not in `ends` counts as empty.

    What the last checkpoint does not cover is refused, InvalidInput, or left out where it is `partial`.
    CorruptRecord where the log is not what was sealed, or a document is missing.
    """

    backend: Backend
    proofs: LogProofs
    scope: Scope
    ends: Mapping[int, int]
    partial: bool = False
    left_out: int = field(default=0, init=False)
    """How many events no checkpoint covered, of those that were read so far."""
    _unsealed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Read nothing of what is encrypted."""
        self.backend = without_bodies(self.backend)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines; memory is that of the largest request, whatever the length of the log."""
        return closed(self._lines())

    def must_be_sealed(self) -> None:
        """Raise InvalidInput where there is nothing to show, or something is not covered, before anything is written."""
        is_shown = False
        for last in self._last_events():
            if not self.partial:
                self._is_covered(last)
            is_shown = is_shown or self._begins_sealed(last.conversation_id)
            if is_shown and self.partial:
                return
        if not is_shown:
            raise InvalidInput(
                "there is nothing to prove: no conversation has an event in that time that is sealed"
            )

    def _begins_sealed(self, conversation_id: UUID) -> bool:
        """Whether the last checkpoint covers the first event of a conversation."""
        first = next(self.backend.read(conversation_id, limit=1), None)
        return first is not None and first.position <= self.proofs.of(first.shard).size

    def _lines(self) -> Iterator[Line]:
        yield {
            "onrecord": "evidence",
            "format": FORMAT,
            "log": str(self.proofs.log_id),
            "incarnation": str(self.backend.cursors()[0].incarnation),
            "scope": self.scope.member(),
            "partial": self.partial,
        }
        chains = [self._chain(shard) for shard in sorted(self.ends)]
        yield from self._key_lines([sealed for chain in chains for sealed in chain])
        for chain in chains:
            yield from self._checkpoint_lines(chain)
        for last in self._last_events():
            yield from self._conversation(last.conversation_id, last.version)

    # What was sealed.

    def _chain(self, shard: int) -> list[SealedCheckpoint]:
        """Return the checkpoints of a shard to show: around what is shown, and the last one."""
        proofs = self.proofs.of(shard)
        if proofs.last is None:
            return []
        sizes = proofs.sizes
        before, behind = self._around(proofs, sizes)
        places = {place for place in (before, behind) if 0 <= place < len(sizes)}
        shown = {sizes[place] for place in places if 0 < sizes[place] < proofs.size}
        earlier = [proofs.seals.at(size) for size in sorted(shown)]
        return [*(each for each in earlier if each is not None), proofs.last]

    def _around(self, proofs: ShardProofs, sizes: Sequence[int]) -> tuple[int, int]:
        """Return which checkpoint is the last before what is shown, and which is the first behind it."""
        if self.scope.conversation_id is not None:
            first = next(self.backend.read(self.scope.conversation_id, limit=1), None)
            last = self._last_event(self.scope.conversation_id)
            if first is None or last is None or first.shard != proofs.seals.shard:
                return -1, len(sizes)
            return bisect_left(sizes, first.position) - 1, bisect_left(sizes, last.position)

        def sealed_at(size: int) -> int:
            sealed = proofs.seals.at(size)
            return 0 if sealed is None else sealed.checkpoint.sealed_at

        since, until = self.scope.since, self.scope.until
        before = -1 if since is None else bisect_left(sizes, since, key=sealed_at) - 1
        behind = len(sizes) if until is None else bisect_left(sizes, until, key=sealed_at)
        return before, behind

    def _key_lines(self, checkpoints: list[SealedCheckpoint]) -> Iterator[Line]:
        signatures = {
            (signature.name, signature.key_id)
            for sealed in checkpoints
            for signature in parse_note(sealed.note).signatures
        }
        for key in self.proofs.keys:
            if (key.name, key.key_id) in signatures:
                yield {"public_key": str(key)}

    def _checkpoint_lines(self, chain: list[SealedCheckpoint]) -> Iterator[Line]:
        older: SealedCheckpoint | None = None
        for sealed in chain:
            checkpoint = sealed.checkpoint
            hashes: tuple[bytes, ...] = ()
            if older is not None:
                sizes = older.checkpoint.size, checkpoint.size
                hashes = self.proofs.of(checkpoint.shard).consistency(*sizes).hashes
            yield {"checkpoint": sealed.note.decode(), "consistency": _hexadecimal(hashes)}
            older = sealed

    # What was recorded.

    def _last_events(self) -> Iterator[RecordedEvent]:
        """Yield the last event in scope of each conversation, in the order of their ids.

        That order does not change meanwhile, whoever writes.
        """
        if self.scope.conversation_id is not None:
            last = self._last_event(self.scope.conversation_id)
            if last is None:
                raise InvalidInput("nothing is recorded of this conversation yet")
            yield last
            return
        after: UUID | None = None
        while heads := self._heads(after):
            for head in heads:
                if head.tenant == self.scope.tenant and not self._is_aggregate(head):
                    last = self._last_event(head.conversation_id)
                    if last is not None:
                        yield last
            after = heads[-1].conversation_id

    def _heads(self, after: UUID | None) -> list[StoredHead]:
        with self.backend.inventory().moment() as moment:
            return moment.heads(after, _PAGE)

    def _is_aggregate(self, head: StoredHead) -> bool:
        """Whether it begins at version 0, as no conversation does."""
        first = next(self.backend.read(head.conversation_id, limit=1), None)
        return first is not None and first.version < 1

    def _last_event(self, conversation_id: UUID) -> RecordedEvent | None:
        """Return the last event of a conversation in scope, or None."""
        last: RecordedEvent | None = None
        for event in self.backend.read(conversation_id):
            if event.position > self.ends[event.shard]:
                break
            if self.scope.has(event):
                last = event
        return last

    def _conversation(self, conversation_id: UUID, until: int) -> Iterator[Line]:
        is_erased = False
        for stream in self._erasures(conversation_id):
            yield {"erasure": str(stream), "of": str(conversation_id)}
            for event in self.backend.read(stream):
                if self._is_covered(event):
                    is_erased = is_erased or event.type == COMPLETED
                    yield self._event_line(event)
            yield from self._left_out()
        yield {"conversation": str(conversation_id), "key": self._key(conversation_id)}
        yield from self._told(conversation_id, until, is_erased=is_erased)
        yield from self._left_out()

    def _key(self, conversation_id: UUID) -> str | None:
        """Return the key, where the first event says it and is sealed."""
        for event in self.backend.read(conversation_id, limit=1):
            if event.version < 1:
                raise InvalidInput(
                    "this is an aggregate that begins at version 0, and no conversation: its own application "
                    "reads it"
                )
            is_sealed = self._begins_sealed(conversation_id)
            if is_sealed and isinstance(started := event.event(), ConversationStarted):
                return started.key
        return None

    def _told(self, conversation_id: UUID, until: int, *, is_erased: bool) -> Iterator[Line]:
        """Yield a conversation's events, documents and requests."""
        segments = Lineages(self.backend, conversation_id).whole(until)
        owners = [segment.conversation_id for segment in reversed(segments)]

        def bytes_of(blob: Blob) -> bytes:
            return b"".join(bytes_among(self.backend, owners, blob))

        told = (readable_in(self.backend, stored) for stored in self._read(segments))
        replay = RequestReplay(sent_in(told), bytes_of)
        seen: set[str] = set()
        for stored in self._read(segments):
            event = readable_in(self.backend, stored)
            replayed = replay.take(event)
            if event.conversation_id != conversation_id or not self._is_covered(event):
                continue
            if stored.body is None and not is_erased:
                raise CorruptRecord(
                    f"version {event.version} has no content, and no completed erasure that is sealed says why: seal the "
                    "log, and run `onrecord verify`"
                )
            for blob in blobs_in(event):
                if blob.sha256 not in seen:
                    seen.add(blob.sha256)
                    yield from blob_lines(blob, bytes_among(self.backend, owners, blob))
            if replayed is not None and replayed[0].is_whole:
                sent = Blob(sha256=sha256(replayed[1]).hexdigest(), size=len(replayed[1]))
                if sent.sha256 not in seen:
                    seen.add(sent.sha256)
                    yield from blob_lines(sent, [replayed[1]])
            yield self._event_line(stored)

    def _read(self, segments: tuple[LineSegment, ...]) -> Iterator[RecordedEvent]:
        for segment in segments:
            yield from stored_of(self.backend).read(
                segment.conversation_id, after=segment.after, until=segment.until
            )

    def _erasures(self, conversation_id: UUID) -> Iterator[UUID]:
        """Yield the streams of a conversation's erasures: their numbers have no gap."""
        for number in itertools.count():
            stream = erasure_id(self.scope.tenant, conversation_id, number)
            first = next(self.backend.read(stream, limit=1), None)
            if first is None or first.position > self.ends.get(first.shard, 0):
                return
            yield stream

    def _is_covered(self, event: RecordedEvent) -> bool:
        """Whether the last checkpoint covers an event; those that it does not are counted.

        What came after this was begun is none of it. InvalidInput where nothing may be left out.
        """
        if event.position > self.ends.get(event.shard, 0):
            return False
        is_covered = event.position <= self.proofs.of(event.shard).size
        if not is_covered and not self.partial:
            raise InvalidInput(
                f"version {event.version} of {event.conversation_id} is not sealed yet: seal the log first "
                "(--seal), or leave out what is not sealed (--partial)"
            )
        self._unsealed += not is_covered
        return is_covered

    def _left_out(self) -> Iterator[Line]:
        if self._unsealed:
            yield {"unsealed": self._unsealed}
        self.left_out += self._unsealed
        self._unsealed = 0

    def _event_line(self, event: RecordedEvent) -> Line:
        proof = self.proofs.of(event.shard).inclusion(event)
        return {
            **place_members(event),
            **byte_members(event),
            "proof": _hexadecimal(proof.hashes),
        }


def ends_of(backend: Backend) -> dict[int, int]:
    """Return the last position of each shard now: a bundle is of what was there when it was begun."""
    return {cursor.shard: cursor.position for cursor in backend.cursors()}


def _hexadecimal(hashes: tuple[bytes, ...]) -> list[str]:
    return [each.hex() for each in hashes]
