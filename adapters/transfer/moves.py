"""A log in clear that is moved into an encrypted one: planned, done and bound, and checked with both."""

from __future__ import annotations

import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.encryption.encrypted_log import LOCKED, EncryptedLog
from onrecord.adapters.recording.actor_names import ActorNames
from onrecord.adapters.seals.checkpoints import SealedCheckpoint, ShardSeals
from onrecord.adapters.seals.trust import NO_SEALS, Seals
from onrecord.adapters.storage.append import let_log_know
from onrecord.adapters.streams.stream import done_of
from onrecord.adapters.transfer.importing import Progress, unheeded
from onrecord.adapters.transfer.moved_retention import carry_retention, must_not_leave_held
from onrecord.adapters.transfer.moving import NO_SUBJECTS, Mode, ShardWalk, Subjects, TenantMove
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageUnavailable, counted
from onrecord.domain.header import SALT_SIZE
from onrecord.domain.log import Append, Backend, Cursor
from onrecord.domain.marks.marked_ids import is_move, move_id, operators_of
from onrecord.domain.new_events import Stamp, draft_fact
from onrecord.domain.operators import LogMoved
from onrecord.domain.seals.checkpoint import Checkpoint, log_id_of, parse_checkpoint
from onrecord.domain.seals.notes import parse_note
from onrecord.projections.verification.moves import moves_of

_FIRST_MOVE: Final = UUID(bytes=b"ONRM" + bytes(12))
_LAST_MOVE: Final = UUID(bytes=b"ONRM" + b"\xff" * 12)
_PAGE: Final = 100


class Checked(NamedTuple):
    """What binds two logs that are the same; `textless` events were compared by their headers alone."""

    facts: list[LogMoved]
    textless: int


def plan(
    source: Backend,
    destination: Backend | None,
    *,
    tenant: UUID | None = None,
    subjects: Subjects = NO_SUBJECTS,
    progress: Progress = unheeded,
) -> list[TenantMove]:
    """Return what would be moved, of all tenants or of one; nothing is recorded.

    `destination` is None where there is no new log yet.
    """
    new = None if destination is None else _encrypted(source, destination)
    found: list[TenantMove] = []
    for walk in _walks(source, new, "plan", tenant, subjects):
        _advance(walk, source, progress)
        for moved in walk.tenants.values():
            must_not_leave_held(source, moved.tenant, moved.left_out)
        found += walk.tenants.values()
    return found


def move(
    source: Backend,
    destination: Backend,
    *,
    actor: str,
    tenant: UUID | None = None,
    subjects: Subjects = NO_SUBJECTS,
    seals: Seals = NO_SEALS,
    progress: Progress = unheeded,
) -> list[TenantMove]:
    """Record all conversations of a log in clear in an encrypted one, and bind both, for each tenant.

    It goes on until nothing new came to the old log. What is there already is compared, and not recorded
    again: so it may be stopped anywhere and done again. `subjects` are those that conversations are about.
    Holds in force and retention classes are set in the new log by who set them. A checkpoint of the old
    log that `seals` have is compared before anything is recorded, and kept with what binds. CorruptRecord
    at the first event that is damaged or not the same in both, and where the old log is not what was
    sealed; ConversationOnHold where a hold keeps what is left out; InvalidInput where a log cannot be moved,
    or a conversation was forgotten meanwhile.
    """
    new, found = _encrypted(source, destination), list[TenantMove]()
    checkpoints = _checkpoints(source, seals, progress)
    walks = list(_walks(source, new, "move", tenant, subjects))
    for walk in walks:
        sealed = checkpoints.get(walk.shard)
        if sealed is not None:
            end = _end(source, walk.shard)
            walk.advance(sealed.checkpoint.size, _counting(progress, end))
            _must_be_sealed(walk, sealed.checkpoint)
        _advance(walk, source, progress)
        walk.end()
        for moved in walk.tenants.values():
            must_not_leave_held(source, moved.tenant, moved.left_out)
    for walk in walks:
        for moved in walk.tenants.values():
            if moved.events:
                carry_retention(source, new, moved.tenant, moved.left_out)
                _bind(source, new, walk, moved, checkpoints.get(walk.shard), actor)
        found += walk.tenants.values()
    return found


def check(
    source: Backend,
    destination: Backend,
    *,
    tenant: UUID | None = None,
    progress: Progress = unheeded,
) -> Checked:
    """Return what binds a new log to an old one, checked event by event with both and the keys.

    CorruptRecord names the first event that is not the same, or says what else does not hold; InvalidInput
    where nothing was moved from that log, or it has events that were not.
    """
    new, origin = _encrypted(source, destination), log_id_of(source.digest)
    facts = [
        fact for fact in moves_in(new) if fact.origin == origin and tenant in (None, fact.tenant)
    ]
    if not facts:
        raise InvalidInput("the new log tells of no move from the old one: move it first")
    lasts = {last.shard: last for last in source.cursors()}
    for fact in facts:
        if fact.shard not in lasts:
            raise CorruptRecord(
                f"the new log tells of a move from shard {fact.shard}, and the old one has none of that number"
            )
    walks = [
        _check_shard(source, new, last, [fact for fact in facts if fact.shard == shard], progress)
        for shard, last in lasts.items()
    ]
    if later := sum(
        count for walk in walks for of, count in walk.beyond.items() if tenant in (None, of)
    ):
        raise InvalidInput(
            f"{counted(later, 'event')} of the old log {'was' if later == 1 else 'were'} not moved, and all "
            "others are the same in both logs: run `onrecord move` again, and check then"
        )
    moved = [moved for walk in walks for moved in walk.tenants.values()]
    return Checked(facts, sum(of.textless for of in moved))


def _check_shard(
    source: Backend, new: EncryptedLog, last: Cursor, facts: list[LogMoved], progress: Progress
) -> ShardWalk:
    """Walk a shard of the old log to its end; compare at each size that facts and checkpoints name."""
    checkpoints = [_checkpoint_in(fact) for fact in facts]
    for fact, sealed in zip(facts, checkpoints, strict=True):
        _must_fit(fact, sealed, last)
    ends = Counter[UUID]()
    for fact in facts:
        ends[fact.tenant] = max(ends[fact.tenant], fact.size)
    sizes = {fact.size for fact in facts} | {sealed.size for sealed in checkpoints if sealed}
    walk = ShardWalk(source, new, last, ends=ends, mode="check")
    for size in sorted(sizes):
        walk.advance(size, _counting(progress, max(sizes)))
        for fact, sealed in zip(facts, checkpoints, strict=True):
            if sealed is not None and sealed.size == size:
                _must_be_sealed(walk, sealed)
            if fact.size == size:
                _must_be_bound(walk, fact)
    _advance(walk, source, progress)
    return walk


def _checkpoint_in(fact: LogMoved) -> Checkpoint | None:
    """Return the checkpoint that a fact keeps; CorruptRecord where it is none."""
    if fact.checkpoint is None:
        return None
    return parse_checkpoint(parse_note(fact.checkpoint.encode()).text)


def _must_fit(fact: LogMoved, sealed: Checkpoint | None, last: Cursor) -> None:
    if fact.size > last.position:
        raise CorruptRecord(
            f"shard {fact.shard} of the old log has {last.position} events, and had {fact.size} when it "
            "was moved"
        )
    if sealed is None:
        return
    is_of_shard = (sealed.log_id, sealed.shard) == (fact.origin, fact.shard)
    if not is_of_shard or sealed.size > fact.size:
        raise CorruptRecord(
            f"the checkpoint that the new log keeps of the tenant {fact.tenant} is not of the first "
            f"{fact.size} events of shard {fact.shard} of the old log"
        )


def moves_in(log: Backend) -> list[LogMoved]:
    """Return all moves that the operators' streams of a log tell of; the other logs are not needed."""
    found: list[LogMoved] = []
    after: UUID | None = _FIRST_MOVE
    while after is not None:
        with log.inventory().moment() as moment:
            heads = moment.heads(after, _PAGE)
        for head in heads:
            if is_move(head.conversation_id):
                found += moves_of(log.read(head.conversation_id), head.tenant)
        is_last = len(heads) < _PAGE or heads[-1].conversation_id > _LAST_MOVE
        after = None if is_last else heads[-1].conversation_id
    return found


def _encrypted(source: Backend, destination: Backend) -> EncryptedLog:
    """Return the new log; raise where the two cannot be an old and a new one."""
    if isinstance(source, EncryptedLog):
        raise InvalidInput("the old log is encrypted already")
    if log_id_of(source.digest) == log_id_of(destination.digest):
        raise InvalidInput("the new log is the old one, or a copy of it: name another one")
    if not isinstance(destination, EncryptedLog):
        raise InvalidInput(
            "the new log would be in clear: set ONRECORD_KEYS and ONRECORD_KEK, or keys and kek"
        )
    if destination.keys is None:
        raise StorageUnavailable(LOCKED)
    return destination


def _walks(
    source: Backend, new: EncryptedLog | None, mode: Mode, tenant: UUID | None, subjects: Subjects
) -> Iterator[ShardWalk]:
    ends = None if tenant is None else {tenant: sys.maxsize}
    for last in source.cursors():
        yield ShardWalk(source, new, last, ends=ends, subjects=subjects, mode=mode)


def _advance(walk: ShardWalk, source: Backend, progress: Progress) -> None:
    """Go on to the end of a shard, and then to what came meanwhile, until nothing did."""
    while (end := _end(source, walk.shard)) > walk.tree.size:
        walk.advance(end, _counting(progress, end))


def _counting(progress: Progress, total: int) -> Callable[[int], None]:
    return lambda done: progress(done, total)


def _end(source: Backend, shard: int) -> int:
    return next(last.position for last in source.cursors() if last.shard == shard)


def _sealed(source: Backend, seals: Seals, shard: int) -> SealedCheckpoint | None:
    """Return the last checkpoint of a shard, from the first place that has one."""
    log_id = log_id_of(source.digest)
    lasts = (ShardSeals(place, log_id, shard, seals.trusted.keys).last() for place in seals.places)
    return next((sealed for sealed in lasts if sealed is not None), None)


def _checkpoints(source: Backend, seals: Seals, progress: Progress) -> dict[int, SealedCheckpoint]:
    """Return the last checkpoint of each shard that is sealed; CorruptRecord where the log is another one.

    Nothing is recorded: all shards are read up to their checkpoints.
    """
    found = dict[int, SealedCheckpoint]()
    for walk in _walks(source, None, "plan", None, NO_SUBJECTS):
        sealed = _sealed(source, seals, walk.shard)
        if sealed is not None:
            size = min(sealed.checkpoint.size, _end(source, walk.shard))
            walk.advance(size, _counting(progress, size))
            _must_be_sealed(walk, sealed.checkpoint)
            found[walk.shard] = sealed
    return found


def _must_be_sealed(walk: ShardWalk, sealed: Checkpoint) -> None:
    if (walk.tree.size, walk.tree.root()) != (sealed.size, sealed.hash):
        raise CorruptRecord(
            f"shard {walk.shard} of the old log is not what was sealed at {sealed.size} events: run "
            "`onrecord verify --seals`"
        )


def _must_be_bound(walk: ShardWalk, fact: LogMoved) -> None:
    if walk.tree.root().hex() != fact.root:
        raise CorruptRecord(
            f"shard {fact.shard} of the old log is not what was moved: the tree over its first "
            f"{fact.size} events has another root"
        )
    moved = walk.tenants.get(fact.tenant) or TenantMove(fact.tenant)
    if (moved.events, moved.pairs.root().hex()) != (fact.events, fact.pairs):
        raise CorruptRecord(
            f"the events of the tenant {fact.tenant} say the same in both logs, and are not those that "
            "were bound: the tree over both leaves has another root"
        )
    if len(moved.left_out) != fact.left:
        raise CorruptRecord(
            f"the new log says that {fact.left} conversations of the tenant {fact.tenant} were left out, "
            f"and {len(moved.left_out)} are"
        )


def _bind(
    source: Backend,
    new: EncryptedLog,
    walk: ShardWalk,
    moved: TenantMove,
    sealed: SealedCheckpoint | None,
    actor: str,
) -> None:
    """Record what was moved of a tenant, unless the last that was recorded says the same."""
    tenant, origin = moved.tenant, log_id_of(source.digest)
    operators, stream = operators_of(tenant), move_id(tenant, origin)
    known = moves_of(new.read(stream), operators)
    pairs = moved.pairs.root().hex()
    if known and _says_all(known[-1], moved, sealed):
        moved.bound = known[-1]
        return
    moved.bound = LogMoved(
        tenant=tenant,
        origin=origin,
        incarnation=walk.incarnation,
        shard=walk.shard,
        size=walk.tree.size,
        root=walk.tree.root().hex(),
        events=moved.events,
        pairs=pairs,
        left=len(moved.left_out),
        checkpoint=None if sealed is None else sealed.note.decode(),
        actor=actor,
        at=time.time_ns() // 1000,
    )
    moved.is_new = True
    names = ActorNames(new, tenant)
    who = names.attribution(actor=actor)
    names.keep(who)
    let_log_know(new, tenant)
    salt = secrets.token_bytes(SALT_SIZE)
    stamp = Stamp(uuid7(), moved.bound.at, salt, operators, stream, who.actor)
    request = Append(operators, stream, (draft_fact(moved.bound, stamp),), len(known))
    (verdict,) = new.append([request])
    done_of(request, verdict)


def _says_all(fact: LogMoved, moved: TenantMove, sealed: SealedCheckpoint | None) -> bool:
    """Whether what was recorded of a tenant says the same, with a checkpoint as far as there is one."""
    if (fact.events, fact.pairs) != (moved.events, moved.pairs.root().hex()):
        return False
    kept = _checkpoint_in(fact)
    is_sealed = kept is not None and kept.size == fact.size
    return sealed is None or is_sealed or sealed.checkpoint.size <= (kept.size if kept else 0)
