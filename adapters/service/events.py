"""Events as JSON: what `onrecord show --json` writes, as the model that `/openapi.json` describes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from onrecord.adapters.presentation.actors import ShownActors
from onrecord.adapters.presentation.event_documents import event_document
from onrecord.adapters.service.model import Model
from onrecord.domain.log import Backend, RecordedEvent


class EventDocument(Model):
    """A recorded event."""

    version: int
    """Its place in its conversation, from 1."""

    exchange: int
    """The number of its exchange; 0 before the first prompt."""

    type: str
    """What happened, such as `message.recorded`."""

    schema_version: int
    """The version of the form of its body."""

    event: str
    """The id of the event."""

    conversation: str
    """The id of the conversation."""

    shard: int
    """The shard of the log that it is in."""

    position: int
    """Its place in the shard, from 1."""

    occurred_at: str
    """When it happened, by the clock of whoever recorded it (RFC 3339)."""

    recorded_at: str
    """When it was recorded, by the clock of the log (RFC 3339)."""

    digest: str
    """The digest of its salted body, in hex digits."""

    leaf: str
    """Its leaf in the Merkle tree of the shard, in hex digits."""

    body: Any
    """What happened; null once it was erased."""

    tool: dict[str, Any] | None
    """What a tool of the provider's did, where it is about one."""

    actor: str | None
    """The keyed digest of who did it."""

    actor_name: str | None
    """The name of who did it; null once it is forgotten."""

    on_behalf_of: str | None
    """The keyed digest of whom it was done for."""

    on_behalf_of_name: str | None
    """The name of whom it was done for; null once it is forgotten."""

    policy: str | None
    """The version of the policy that was in force, as the caller named it."""

    deployment: str | None
    """The deployment that did it, as the caller named it."""


def event_documents(
    backend: Backend, tenant: UUID, events: Iterable[RecordedEvent]
) -> list[EventDocument]:
    """Return events as JSON says them, with the names of actors: a step of the log."""
    actors = ShownActors(backend, tenant)
    return [EventDocument.model_construct(**event_document(event, actors)) for event in events]
