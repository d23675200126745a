"""Which legal holds keep a conversation: those on it, and those on all that its tenant has."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from uuid import UUID

from onrecord.adapters.streams.lineage import beginning_of
from onrecord.domain.errors import ConversationOnHold, CorruptRecord
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.marks.marked_ids import hold_id, is_hold, operators_of
from onrecord.projections.retention.hold_records import HoldEntry, hold_entry

logger = logging.getLogger("onrecord")


def holds(backend: Backend, tenant: UUID, *, lifted: bool = False) -> Iterator[HoldEntry]:
    """Yield the legal holds of a tenant that are in force; with `lifted` those too that were lifted.

    One that cannot be read is left out, with a warning; `verify` names it too.
    """
    operators = operators_of(tenant)
    streams = (
        (listed.conversation_id for listed in backend.conversations(operators))
        if lifted
        else iter(backend.open_conversations(operators))
    )
    for stream in streams:
        if not is_hold(stream):
            continue
        try:
            entry = hold_entry(backend.read(stream), operators)
        except CorruptRecord as error:
            logger.warning("the hold %s cannot be read: %s", stream, error)
            continue
        if entry is not None:
            yield entry


def holds_of(
    read: Callable[[UUID], Iterable[RecordedEvent]], tenant: UUID, conversation_id: UUID | None
) -> Iterator[HoldEntry]:
    """Yield the legal holds on a conversation, or on all that a tenant has, the first one first.

    CorruptRecord where one cannot be read: whether it keeps anything cannot be told then.
    """
    operators = operators_of(tenant)
    for number in itertools.count():
        events = list(read(hold_id(tenant, conversation_id, number)))
        if not events:
            return
        entry = hold_entry(events, operators)
        if entry is not None:  # Another tenant's operators may have taken the id.
            yield entry


def hold_on(
    backend: Backend, tenant: UUID, conversation_id: UUID, before: int | None = None
) -> HoldEntry | None:
    """Return a hold that keeps a conversation now, or kept it before a position in its shard; or None.

    One on a fork of it keeps it too, as long as that hold is in force: the fork repeats what it says.
    """
    found = itertools.chain(
        holds_of(backend.read, tenant, conversation_id),
        holds_of(backend.read, tenant, None),
        _holds_on_forks(backend, tenant, conversation_id),
    )
    return next((hold for hold in found if hold.was_in_force(before)), None)


def _holds_on_forks(backend: Backend, tenant: UUID, origin: UUID) -> Iterator[HoldEntry]:
    """Yield the holds in force on what goes on from a conversation: from the holds back, they are few."""
    for hold in holds(backend, tenant):
        known = set[UUID]()
        fork = hold.conversation_id
        while fork is not None and fork not in known:
            known.add(fork)
            fork = _origin_of(backend, fork)
            if fork == origin:
                yield hold
                break


def _origin_of(backend: Backend, conversation_id: UUID) -> UUID | None:
    try:
        return beginning_of(backend, conversation_id).origin
    except CorruptRecord:
        return None  # `verify` names it.


def must_not_be_on_hold(
    backend: Backend, tenant: UUID, conversation_id: UUID, before: int | None = None
) -> None:
    """Raise ConversationOnHold where a hold keeps a conversation, as `hold_on` has it."""
    hold = hold_on(backend, tenant, conversation_id, before)
    if hold is not None:
        raise refusal_of(hold)


def refusal_of(hold: HoldEntry) -> ConversationOnHold:
    """Return the error that says which hold it is that keeps something."""
    what = "all that this tenant has" if hold.conversation_id is None else "this conversation"
    return ConversationOnHold(
        f"{hold} keeps {what}: nothing of it is erased before `onrecord holds lift` ends the hold"
    )
