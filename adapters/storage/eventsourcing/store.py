"""What the `eventsourcing` recorders ask of a store, and what differs from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

from eventsourcing.persistence import Notification, StoredEvent, Tracking
from eventsourcing.utils import Environment, resolve_topic

from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.log import Append, Verdict

Transaction = TypeVar("Transaction")

Appender = Callable[[Sequence[Append]], list[Verdict]]
"""Appends in a transaction that is open; returns a verdict for each request, in order."""

Row = tuple[Any, ...]
"""The version, the topic and the state of a stored event."""


class Within(NamedTuple):
    """The part of a sequence that is asked for: after < number <= until, `limit` of it at most."""

    after: int
    until: int
    limit: int


class Store(Protocol[Transaction]):
    """What the recorders ask of a store; `Transaction` is what its statements are run in."""

    @property
    def wakeups(self) -> Wakeups:
        """What wakes up the subscriptions of this process."""
        ...

    def append(self, append: Append) -> Verdict:
        """Append what is for one conversation, in a transaction that others may share.

        The ids of its events are new: what was recorded at a try whose answer was lost is recorded.
        """
        ...

    def appending(self) -> AbstractContextManager[tuple[Transaction, Appender]]:
        """Lend a transaction, and what appends in it: all or none, durable at the end."""
        ...

    def writing(self) -> AbstractContextManager[Transaction]:
        """Lend a transaction for what is no event: all or none, durable at the end."""
        ...

    def keep_snapshot(self, transaction: Transaction, tenant: UUID, snapshot: StoredEvent) -> bool:
        """Keep a snapshot; False where there is one of that version.

        ConversationForgotten or StorageReadOnly where the conversation does not take it.
        """
        ...

    def keep_tracking(self, transaction: Transaction, name: str, tracking: Tracking) -> bool:
        """Keep how far a follower got; False unless it is further than before."""
        ...

    def stored_events(self, conversation_id: UUID, within: Within, *, desc: bool) -> Sequence[Row]:
        """Return a conversation's events by version, those erased left out."""
        ...

    def snapshots(
        self, tenant: UUID, conversation_id: UUID, within: Within, *, desc: bool
    ) -> Sequence[Row]:
        """Return a conversation's snapshots by version."""
        ...

    def notifications(
        self, tenant: UUID, within: Within, topics: Sequence[str]
    ) -> list[Notification]:
        """Return a tenant's events by position; no topics means all."""
        ...

    def last_notification(self, tenant: UUID) -> int | None:
        """Return the position of a tenant's last event."""
        ...

    def tracked(self, name: str, application_name: str) -> int | None:
        """Return how far a follower got with an application."""
        ...


# What the environment of an `eventsourcing` application says about its log and its recorders.

_ONLY_TENANT: Final = UUID(int=0)

T = TypeVar("T")


def named_url(env: Environment, advice: str) -> str:
    """Return the URL of the log, ONRECORD_URL; OSError with the advice where there is none."""
    url = env.get("ONRECORD_URL")
    if not url:
        raise OSError(f"ONRECORD_URL is not set: {advice}")
    return url


def named_tenant(env: Environment) -> UUID:
    """Return the tenant that the application is, ONRECORD_TENANT; the only one if not named."""
    return UUID(env.get("ONRECORD_TENANT") or str(_ONLY_TENANT))


def named_class(env: Environment, variable: str, ours: type[T]) -> type[T]:
    """Return the class whose topic a variable holds, or ours."""
    topic = env.get(variable)
    named: type[T] = resolve_topic(topic) if topic else ours
    return named
