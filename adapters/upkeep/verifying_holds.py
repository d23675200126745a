"""Whether what is erased was under a legal hold when somebody intended to erase it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from onrecord.adapters.upkeep.erasing import intent_position
from onrecord.adapters.upkeep.holds import holds_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.inventory import StoredHead
from onrecord.domain.log import Backend
from onrecord.projections.history.erasure_records import ErasureEntry
from onrecord.projections.verification.verification import Fault


def broken_hold_faults(
    backend: Backend, head: StoredHead, erasures: Sequence[ErasureEntry]
) -> Iterator[Fault]:
    """Yield where a conversation was erased though a hold stands before the intent, by their places.

    Whoever erases past the library and the service breaks a hold so. A hold that cannot be read is a
    fault of its own stream.
    """
    if not head.forgotten:
        return
    own = head.conversation_id
    both = itertools.chain(
        holds_of(backend.read, head.tenant, own), holds_of(backend.read, head.tenant, None)
    )
    try:
        holds = list(both)
    except CorruptRecord:
        return
    done = [
        intent_position(backend, head.tenant, entry.erasure_id)
        for entry in erasures
        if entry.outcome is not None
    ]
    for hold in holds:
        # Without an intent no place tells which came first: the hold is named.
        is_broken = any(hold.was_in_force(position) for position in done)
        if is_broken or (not erasures and hold.was_in_force()):
            yield Fault(own, 0, f"it was erased while a legal hold kept it: {hold.hold_id}")
