"""What a store checks when it is asked to: its whole log with the seals of it, or one conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from onrecord.adapters.seals.trust import seals_of
from onrecord.adapters.upkeep.erasing import unfinished_erasures
from onrecord.adapters.upkeep.verified import Verified
from onrecord.adapters.upkeep.verifying import Progress, verify_conversation, verify_log
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Backend
from onrecord.domain.seals.merkle import Root


def verify_store(
    backend: Backend,
    tenant: UUID,
    conversation_id: UUID | None,
    roots: Iterable[Root],
    seals: str | Sequence[str] | None,
    vkeys: str | Sequence[str] | None,
    *,
    progress: Progress,
) -> Verified:
    """Check a conversation, or else the log; InvalidInput for roots or seals of a conversation."""
    known_roots = list(roots)
    if conversation_id is None:
        wanted = seals_of(seals, vkeys)
        verified = verify_log(backend, roots=known_roots, seals=wanted, progress=progress)
        own = unfinished_erasures(backend, tenant)
        return replace(verified, unfinished=tuple(one.conversation_id for one in own))
    if known_roots:
        raise InvalidInput("a root is a shard's: verify the whole store, or leave it out")
    if seals is not None or vkeys is not None:
        raise InvalidInput("a seal is a shard's: verify the whole store, or leave it out")
    return verify_conversation(backend, conversation_id)
