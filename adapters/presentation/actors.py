"""Who did what is shown: the names of actors, else the first digits of their digests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from onrecord.domain.actors import name_of
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.projections.history.causes import Actor, actors_of

if TYPE_CHECKING:
    from onrecord.projections.history.timeline import Row


class ShownActors:
    """The actors of events of a tenant; each name is looked up once."""

    def __init__(self, backend: Backend, tenant: UUID) -> None:
        """Look names up in the directory of a log."""
        self._name = cache(partial(name_of, backend.actors(), tenant))
        self._by_version: dict[int, Actor | None] = {}

    def noted(self, recorded: Iterable[RecordedEvent]) -> Iterator[RecordedEvent]:
        """Yield events as they are, and note who did each."""
        for event in recorded:
            self.note(event)
            yield event

    def note(self, event: RecordedEvent) -> None:
        """Note who did what an event records."""
        self._by_version[event.version], _ = actors_of(event, self._name)

    def named(self, row: Row) -> Row:
        """Return a row of a noted event with who did it."""
        actor = self._by_version.get(row.version)
        return row if actor is None else replace(row, actor=str(actor))

    def members(self, event: RecordedEvent) -> dict[str, Any]:
        """Return the actors of an event as JSON: digests, and names until they are forgotten; its rules."""
        actor, served = actors_of(event, self._name)
        rules = event.client_header()
        return {
            "actor": actor and actor.digest,
            "actor_name": actor and actor.name,
            "on_behalf_of": served and served.digest,
            "on_behalf_of_name": served and served.name,
            "policy": rules.policy,
            "deployment": rules.deployment,
        }
