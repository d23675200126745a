"""The calls that wait for a person, as frozen values that a template lays out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from uuid import UUID

from onrecord.adapters.page.forms import is_count
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.presentation.waiting_calls import (
    DOUBT,
    awaiting_conversations,
    calls_in,
    may_await,
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
"""The most conversations that a page looks through for calls that wait."""


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
    """A call that waits: in which conversation, what it would do, since when.

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
class WaitingApprovals:
    """The calls that wait, by the conversations that moved last; `conversations` are those that have some.

    `further` is the cursor after which there are conversations that were not looked through, if there are.
    """

    approvals: tuple[ShownApproval, ...]
    conversations: tuple[UUID, ...]
    further: Cursor | None


def shown_approvals(store: Store, conversation: NamedConversation) -> tuple[ShownApproval, ...]:
    """Return the calls that wait in a conversation."""
    if conversation.key is None or not may_await(conversation.head, is_fork=True):
        return ()
    return tuple(
        _shown(conversation.key, each) for each in store.conversation(conversation.key).approvals()
    )


def waiting_approvals(store: Store, after: Cursor | None) -> WaitingApprovals:
    """Return the calls that wait in the next conversations after a cursor, or in the first ones.

    First those are looked through that have open calls: of others only forks await any. Where a conversation
    moves meanwhile, it comes to the beginning of its kind.
    """
    cursors = ((_cursor(entry), entry) for entry in awaiting_conversations(store))
    later = (each for each in cursors if after is None or each[0] > after)
    looked = nsmallest(MOST + 1, later, key=itemgetter(0))
    found = tuple(calls_in(store, (entry for _, entry in looked[:MOST])))
    return WaitingApprovals(
        approvals=tuple(_shown(each.key, each.pending) for each in found),
        conversations=tuple(dict.fromkeys(each.conversation_id for each in found)),
        further=looked[MOST - 1][0] if len(looked) > MOST else None,
    )


def open_marks(store: Store, entries: Iterable[Overview]) -> Mapping[UUID, str]:
    """Return in words which conversations of a list have open calls, by their ids."""
    heads, marks = backend_of(store), dict[UUID, str]()
    for entry in entries:
        head = heads.head(entry.conversation_id)
        if entry.key is None or not may_await(head, is_fork=entry.origin is not None):
            continue
        if store.conversation(entry.key).approvals():
            marks[entry.conversation_id] = "waits for approval"
        elif head.open_calls:
            marks[entry.conversation_id] = f"{counted(len(head.open_calls), 'call')} open"
    return marks


def approval_values(
    access: Access, approvals: tuple[ShownApproval, ...], next_path: str
) -> Mapping[str, Any]:
    """Return what the fragment of calls that wait is laid out with; `next_path` is the page that shows it.

    A key or an issuer says who decides. Whoever needs neither is asked, as `onrecord approve` asks.
    """
    actor = local_actor() if approvals and access.caller_id is None else None
    return {"approvals": approvals, "next_path": next_path, "actor": actor}


def _shown(key: str, pending: PendingApproval) -> ShownApproval:
    return ShownApproval(
        key=key,
        call_id=pending.call.id,
        question=pending.question,
        tool=pending.call.name,
        arguments=pending.call.arguments,
        requested_at=pending.requested_at,
        doubt=DOUBT if pending.unsure else None,
    )
