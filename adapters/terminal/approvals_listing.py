"""The calls that wait for a person: which conversations have some, and what is said of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.listing import listed
from onrecord.domain.head import Head

if TYPE_CHECKING:
    from onrecord.adapters.conversation.approvals import PendingApproval

DOUBT: Final = "It was begun, and nobody knows whether it was made."
"""What is said of a call that is `unsure`."""


def waiting_calls(store: Store) -> Iterator[tuple[str, PendingApproval]]:
    """Yield the calls that wait in all conversations, each with the key of its conversation."""
    backend = backend_of(store)
    for entry in backend.conversations(store.tenant):
        # Whether it is a fork costs a look at its beginning.
        if not may_await(entry.head, is_fork=True):
            continue
        one = listed(backend, entry)
        if one.key is not None and may_await(one.head, is_fork=one.origin is not None):
            for pending in store.conversation(one.key).approvals():
                yield one.key, pending


def may_await(head: Head, *, is_fork: bool) -> bool:
    """Return whether calls may be open, as far as the head of a conversation tells.

    A fork that sent no request yet awaits the calls of its origin, too.
    """
    return not head.closed and (bool(head.open_calls) or (is_fork and not head.request))
