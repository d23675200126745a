"""Pending calls, which wait for a person, as frozen values that a template lays out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from uuid import UUID

from onrecord.adapters.page.forms import is_count
from onrecord.adapters.page.words import segment
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.presentation.pending_calls import (
    DOUBT,
    conversations_to_search,
    may_have_open_calls,
    pending_calls_in,
)
from onrecord.adapters.service.access import Access
from onrecord.adapters.settings import local_actor
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.errors import counted
from onrecord.domain.log import CatalogueEntry
from onrecord.projections.views.conversations import Overview

if TYPE_CHECKING:
    from onrecord.adapters.conversation.approvals import ApprovalQuestion, PendingApproval


MOST: Final = 200
"""The most conversations that a page looks through for pending calls."""

FRAGMENT: Final = "#approvals"
"""Where the page of a conversation shows its pending calls."""


def approvals_path(conversation: NamedConversation) -> str:
    """Return the path at which the page of a conversation shows its pending calls."""
    return f"/c/{segment(str(conversation))}{FRAGMENT}"


class Cursor(NamedTuple):
    """How far a look for calls has come, in its order: first where calls are open, the last moved first."""

    is_without_open_calls: bool
    before: int
    conversation_id: UUID

    def __str__(self) -> str:
        """Return it as an address has it, which `parse` reads."""
        return f"{int(self.is_without_open_calls)}.{-self.before}.{self.conversation_id}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the cursor that an address has; ValueError for any other text."""
        group, moved, conversation_id = text.split(".")
        if group not in ("0", "1") or not is_count(moved):
            raise ValueError("no page has this cursor: go on from a page that has been shown")
        return cls(group == "1", -int(moved), UUID(conversation_id))


def _cursor(entry: CatalogueEntry) -> Cursor:
    return Cursor(not entry.head.open_calls, -entry.recorded_at, entry.conversation_id)


@dataclass(frozen=True, slots=True)
class ShownApproval:
    """A pending call: in which conversation, what it would do, since when.

    `question` tells it from other calls of the same id. `doubt` says what nobody knows about it, None where
    nothing is in doubt.
    """

    key: str
    call_id: str
    question: ApprovalQuestion
    tool: str
    arguments: Any
    requested_at: int
    doubt: str | None


@dataclass(frozen=True, slots=True)
class ApprovalsPage:
    """Pending calls, by the conversations that moved last; `conversations` are those that have some.

    `further` is the cursor after which there are conversations that were not looked through, if there are.
    """

    approvals: tuple[ShownApproval, ...]
    conversations: tuple[UUID, ...]
    further: Cursor | None


def shown_approvals(store: Store, conversation: NamedConversation) -> tuple[ShownApproval, ...]:
    """Return the pending calls of a conversation."""
    if conversation.key is None or not may_have_open_calls(conversation.head, is_fork=True):
        return ()
    return tuple(
        _shown(conversation.key, each) for each in store.conversation(conversation.key).approvals()
    )


def approvals_page(store: Store, after: Cursor | None) -> ApprovalsPage:
    """Return the pending calls of the next conversations after a cursor, or of the first ones.

    First those are looked through that have open calls of their own: of the others only forks may have some.
    Where a conversation moves meanwhile, it comes to the beginning of its kind.
    """
    cursors = ((_cursor(entry), entry) for entry in conversations_to_search(store))
    later = (each for each in cursors if after is None or each[0] > after)
    first = nsmallest(MOST + 1, later, key=itemgetter(0))
    calls = tuple(pending_calls_in(store, (entry for _, entry in first[:MOST])))
    return ApprovalsPage(
        approvals=tuple(_shown(each.key, each.approval) for each in calls),
        conversations=tuple(dict.fromkeys(each.conversation_id for each in calls)),
        further=first[MOST - 1][0] if len(first) > MOST else None,
    )


def open_marks(store: Store, entries: Iterable[Overview]) -> Mapping[UUID, str]:
    """Return in words which conversations of a list have open calls, by their ids."""
    heads, marks = backend_of(store), dict[UUID, str]()
    for entry in entries:
        head = heads.head(entry.conversation_id)
        if entry.key is None or not may_have_open_calls(head, is_fork=entry.origin is not None):
            continue
        if store.conversation(entry.key).approvals():
            marks[entry.conversation_id] = "waits for approval"
        elif head.open_calls:
            marks[entry.conversation_id] = f"{counted(len(head.open_calls), 'call')} open"
    return marks


def approval_values(
    access: Access, approvals: tuple[ShownApproval, ...], next_path: str
) -> Mapping[str, Any]:
    """Return what the fragment of pending calls is laid out with; `next_path` is the page that shows it.

    A key or an issuer says who decides. Whoever needs neither is asked, as `onrecord approve` asks.
    """
    actor = local_actor() if approvals and access.caller_id is None else None
    return {"approvals": approvals, "next_path": next_path, "actor": actor}


def _shown(key: str, approval: PendingApproval) -> ShownApproval:
    return ShownApproval(
        key=key,
        call_id=approval.call.id,
        question=approval.question,
        tool=approval.call.name,
        arguments=approval.call.arguments,
        requested_at=approval.requested_at,
        doubt=DOUBT if approval.unsure else None,
    )
