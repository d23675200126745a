"""The calls that wait for a person, as frozen values that a template lays out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.presentation.waiting_calls import (
    DOUBT,
    awaiting_conversations,
    calls_in,
    may_await,
)
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.model import Model
from onrecord.adapters.settings import local_actor
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.errors import counted
from onrecord.projections.views.conversations import Overview

if TYPE_CHECKING:
    from onrecord.adapters.conversation.approvals import ApprovalQuestion, PendingApproval


MOST: Final = 200
"""The most conversations that are looked through for calls that wait."""


class DecidedQuery(Model):
    """What was decided just now."""

    decided: Literal["approved", "denied"] | None = None
    """Whether the call was approved or denied."""


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

    `has_more` says that there are conversations which were not looked through.
    """

    approvals: tuple[ShownApproval, ...]
    conversations: tuple[UUID, ...]
    has_more: bool


def shown_approvals(store: Store, conversation: NamedConversation) -> tuple[ShownApproval, ...]:
    """Return the calls that wait in a conversation."""
    if conversation.key is None or not may_await(conversation.head, is_fork=True):
        return ()
    return tuple(
        _shown(conversation.key, each) for each in store.conversation(conversation.key).approvals()
    )


def waiting_approvals(store: Store) -> WaitingApprovals:
    """Return the calls that wait in all conversations, if these are not too many.

    First those are looked through that have open calls: of others only forks await any.
    """
    entries = sorted(awaiting_conversations(store), key=lambda entry: not entry.head.open_calls)
    found = tuple(calls_in(store, entries[:MOST]))
    return WaitingApprovals(
        approvals=tuple(_shown(each.key, each.pending) for each in found),
        conversations=tuple(dict.fromkeys(each.conversation_id for each in found)),
        has_more=len(entries) > MOST,
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
