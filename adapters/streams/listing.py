"""The conversations of a tenant as a list shows them, and which of them go on from which."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from onrecord.adapters.streams.lineage import BEGINNING, beginning_of
from onrecord.domain.head import Head
from onrecord.domain.header import time_of
from onrecord.domain.log import Backend, CatalogueEntry


@dataclass(frozen=True, slots=True)
class Listed:
    """A conversation as a list shows it; `key` is None once it was forgotten.

    `origin` is the conversation that it was forked from, if it was. Times are microseconds since 1970-01-01 UTC.
    """

    key: str | None
    conversation_id: UUID
    origin: UUID | None
    head: Head
    started_at: int
    recorded_at: int

    @property
    def started_time(self) -> datetime:
        """Return `started_at` as a datetime, in UTC."""
        return time_of(self.started_at)

    @property
    def recorded_time(self) -> datetime:
        """Return `recorded_at` as a datetime, in UTC."""
        return time_of(self.recorded_at)


def listed(backend: Backend, conversation: CatalogueEntry) -> Listed:
    """Return a conversation of the catalogue with its key, and what it was forked from."""
    beginning = beginning_of(backend, conversation.conversation_id)
    return Listed(
        key=beginning.key,
        conversation_id=conversation.conversation_id,
        origin=beginning.origin,
        head=conversation.head,
        started_at=conversation.started_at,
        recorded_at=conversation.recorded_at,
    )


def forks_of(backend: Backend, tenant: UUID, conversation_id: UUID) -> list[Listed]:
    """Return the conversations that go on from one, and those that go on from them."""
    there = list(backend.conversations(tenant))
    first_time = min(
        (one.started_at for one in there if one.conversation_id == conversation_id),
        default=None,
    )
    if first_time is None:
        return []
    younger = (
        one for one in there if one.started_at >= first_time and one.head.version >= BEGINNING
    )
    shown = (listed(backend, one) for one in younger)
    forked = [fork for fork in shown if fork.origin is not None]
    family = {conversation_id}
    while more := {one.conversation_id for one in forked if one.origin in family} - family:
        family |= more
    return [one for one in forked if one.origin in family]
