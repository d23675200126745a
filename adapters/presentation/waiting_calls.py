"""The calls that wait for a person: which conversations have some, and what is said of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.listing import listed
from onrecord.domain.head import Head
from onrecord.domain.log import CatalogueEntry

if TYPE_CHECKING:
    from onrecord.adapters.conversation.approvals import PendingApproval

DOUBT: Final = "It was begun, and nobody knows whether it was made."
"""What is said of a call that is `unsure`."""


class WaitingCall(NamedTuple):
    """A call that waits, and the conversation that it is in."""

    key: str
    conversation_id: UUID
    pending: PendingApproval


def waiting_calls(store: Store) -> Iterator[tuple[str, PendingApproval]]:
    """Yield the calls that wait in all conversations, each with the key of its conversation."""
    for each in calls_in(store, awaiting_conversations(store)):
        yield each.key, each.pending


def awaiting_conversations(store: Store) -> Iterator[CatalogueEntry]:
    """Yield the conversations in which calls may wait, as far as their heads tell, the last moved first."""
    # Whether it is a fork costs a look at its beginning.
    entries = backend_of(store).conversations(store.tenant)
    return (entry for entry in entries if may_await(entry.head, is_fork=True))


def calls_in(store: Store, entries: Iterable[CatalogueEntry]) -> Iterator[WaitingCall]:
    """Yield the calls that wait in some conversations."""
    for entry in entries:
        one = listed(backend_of(store), entry)
        if one.key is not None and may_await(one.head, is_fork=one.origin is not None):
            for pending in store.conversation(one.key).approvals():
                yield WaitingCall(one.key, one.conversation_id, pending)


def may_await(head: Head, *, is_fork: bool) -> bool:
    """Return whether calls may be open, as far as the head of a conversation tells.

    A fork that sent no request yet awaits the calls of its origin, too.
    """
    return not head.closed and (bool(head.open_calls) or (is_fork and not head.request))
