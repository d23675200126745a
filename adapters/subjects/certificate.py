"""The certificate of an erasure: what the operators' stream tells of it, and in plain words its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from onrecord.domain.header import timestamp
from onrecord.domain.seals.checkpoint import Checkpoint
from onrecord.projections.history.erasure_records import ErasureEntry

_BOUNDS: Final = (
    (
        "A backup of the key store can be read with the generations of the key-encryption key that were there "
        "when it was made. The store has none of these any more: a copy of one that is kept elsewhere is to "
        "be destroyed too, or counts until its retention ends."
    ),
    (
        "Backups and replicas of the log, and its write-ahead log, hold ciphertext that nobody can read without "
        "the key. Headers, ids, times, sizes, digests and tool context that was persisted stay in clear."
    ),
    (
        "Another program that had used the key has it in memory for up to 60 seconds, and perhaps in swap or "
        "in a core dump."
    ),
    "What providers of models were sent is kept by them, as their terms say.",
    (
        "Files that were exported in clear, copied or printed are not reached, nor backups of views that were "
        "allowed to hold text."
    ),
    "A name by which the subject acted is another record: `onrecord forget-actor` erases it.",
)


@dataclass(frozen=True, slots=True)
class ErasureCertificate:
    """What was erased of a subject, by whom, why and under which rule.

    `subject` is its keyed digest in hex, never its name; `key` the id of its key. `retired` are the
    generations of the key-encryption key that are gone. `undoable_until` is until when a KMS lets somebody bring
    one of them back, in microseconds since 1970-01-01 UTC; None: the store cannot. `checkpoints` seal the log with this
    erasure in it, where it is sealed. `residue` is as a `ForgetResult` has it, and `bounds` are sentences
    on what is not reached.
    """

    erasure_id: UUID
    subject: str
    key: str
    actor: str
    reason: str
    rule: str | None
    intended_at: int
    completed_at: int
    conversations: int
    events: int
    retired: tuple[str, ...]
    undoable_until: int | None
    checkpoints: tuple[Checkpoint, ...] = ()
    residue: tuple[str, ...] = ()
    bounds: tuple[str, ...] = _BOUNDS

    def document(self) -> dict[str, object]:
        """Return the certificate as JSON has it: times as RFC 3339, hashes in hex."""
        until = self.undoable_until
        return {
            "onrecord": "certificate of erasure",
            "format": 1,
            "erasure": str(self.erasure_id),
            "subject": self.subject,
            "key": self.key,
            "actor": self.actor,
            "reason": self.reason,
            "rule": self.rule,
            "intended_at": timestamp(self.intended_at),
            "completed_at": timestamp(self.completed_at),
            "conversations": self.conversations,
            "events": self.events,
            "retired": list(self.retired),
            "undoable_until": None if until is None else timestamp(until),
            "checkpoints": [
                {"origin": each.origin, "size": each.size, "root": each.hash.hex()}
                for each in self.checkpoints
            ],
            "residue": list(self.residue),
            "bounds": list(self.bounds),
        }


def certificate(
    entry: ErasureEntry, residue: Sequence[str], checkpoints: Sequence[Checkpoint]
) -> ErasureCertificate | None:
    """Return the certificate of an erasure of a subject; None where it is of something else, or unfinished."""
    intention, outcome = entry.intention, entry.outcome
    if intention.subject is None or intention.key is None or outcome is None:
        return None
    return ErasureCertificate(
        erasure_id=entry.erasure_id,
        subject=intention.subject,
        key=intention.key,
        actor=intention.actor,
        reason=intention.reason,
        rule=intention.rule,
        intended_at=intention.at,
        completed_at=outcome.at,
        conversations=outcome.conversations or 0,
        events=outcome.events,
        retired=outcome.retired,
        undoable_until=outcome.undoable_until,
        checkpoints=tuple(checkpoints),
        residue=tuple(residue),
    )
