"""What an erasure is of where that is no conversation by itself, and what became of a subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """What is erased, as `ErasureIntended` has it.

    `named` is the digest of the actor whose name is erased. `subject` is the digest of the subject that
    is erased, `key` the id of its key, `rule` the rule that is followed. `part_of` is the erasure of the
    subject with which a conversation goes.
    """

    named: str | None = None
    subject: str | None = None
    key: str | None = None
    rule: str | None = None
    part_of: UUID | None = None


@dataclass(frozen=True, slots=True)
class SubjectOutcome:
    """What became of the conversations and the key of a subject, as `ErasureCompleted` has it."""

    conversations: int | None = None
    retired: tuple[str, ...] = ()
    undoable_until: int | None = None


CONVERSATION: Final = ErasureTarget()
NO_SUBJECT: Final = SubjectOutcome()
