"""What a store checks when it is asked to: its whole log with the seals of it, or one conversation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.seals.trust import seals_of
from onrecord.adapters.upkeep.erasing import unfinished_erasures
from onrecord.adapters.upkeep.verified import Verified
from onrecord.adapters.upkeep.verifying import Progress, verify_conversation, verify_log
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Backend
from onrecord.domain.seals.merkle import Root

if TYPE_CHECKING:
    from onrecord.adapters.settings import SealSettings


def verify_store(
    backend: Backend,
    tenant: UUID,
    conversation_id: UUID | None,
    roots: Iterable[Root],
    seals: SealSettings,
    *,
    progress: Progress,
) -> Verified:
    """Check a conversation, or else the log and its seals; InvalidInput for roots of a conversation."""
    known_roots = list(roots)
    if conversation_id is None:
        kept = seals_of(seals)
        verified = verify_log(backend, roots=known_roots, seals=kept, progress=progress)
        own = unfinished_erasures(backend, tenant)
        return replace(verified, unfinished=tuple(one.conversation_id for one in own))
    if known_roots:
        raise InvalidInput("a root is a shard's: verify the whole store, or leave it out")
    return verify_conversation(backend, conversation_id)
