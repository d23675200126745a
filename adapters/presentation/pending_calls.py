"""Pending calls, which wait for a person: which conversations have some, and what is said of one."""

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


class PendingCall(NamedTuple):
    """A pending call, and the conversation that it is in."""

    key: str
    conversation_id: UUID
    approval: PendingApproval


def pending_calls(store: Store) -> Iterator[PendingCall]:
    """Yield the pending calls of all conversations, those of the conversation that moved last first."""
    return pending_calls_in(store, conversations_to_search(store))


def conversations_to_search(store: Store) -> Iterator[CatalogueEntry]:
    """Yield the conversations that may have open calls, the one that moved last first."""
    # Whether it is a fork costs a look at its beginning.
    entries = backend_of(store).conversations(store.tenant)
    return (entry for entry in entries if may_have_open_calls(entry.head, is_fork=True))


def pending_calls_in(store: Store, entries: Iterable[CatalogueEntry]) -> Iterator[PendingCall]:
    """Yield the pending calls of some conversations."""
    for entry in entries:
        one = listed(backend_of(store), entry)
        if one.key is not None and may_have_open_calls(one.head, is_fork=one.origin is not None):
            for approval in store.conversation(one.key).approvals():
                yield PendingCall(one.key, one.conversation_id, approval)


def may_have_open_calls(head: Head, *, is_fork: bool) -> bool:
    """Return whether calls may be open, as far as the head of a conversation tells.

    In a fork that sent no request yet, the open calls of its origin are open, too.
    """
    return not head.closed and (bool(head.open_calls) or (is_fork and not head.request))
