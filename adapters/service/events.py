"""Events as JSON: what `onrecord show --json` writes, as a model of the document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from onrecord.adapters.service.route import Model
from onrecord.adapters.terminal.actors import ShownActors
from onrecord.adapters.terminal.timeline_listing import document
from onrecord.domain.log import Backend, RecordedEvent


class EventDocument(Model):
    """A recorded event; `body` is null once it was erased, `tool` is of a provider's own tools."""

    version: int
    exchange: int
    type: str
    schema_version: int
    event: str
    conversation: str
    shard: int
    position: int
    occurred_at: str
    recorded_at: str
    digest: str
    leaf: str
    body: Any
    tool: dict[str, Any] | None
    actor: str | None
    actor_name: str | None
    on_behalf_of: str | None
    on_behalf_of_name: str | None


def event_documents(
    backend: Backend, tenant: UUID, events: Iterable[RecordedEvent]
) -> list[EventDocument]:
    """Return events as JSON says them, with the names of actors: a step of the log."""
    actors = ShownActors(backend, tenant)
    return [_document(event, actors) for event in events]


def _document(event: RecordedEvent, actors: ShownActors) -> EventDocument:
    members = document(event) | actors.members(event)
    members["schema_version"] = members.pop("schema")
    return EventDocument.model_construct(**members)
