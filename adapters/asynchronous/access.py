"""Who read what, awaited: `await store.access.entries()`.

Each verb is that of `StoreAccess`, which says what it means, takes, gives and raises. It runs in a
thread, for it may work for long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.storage.steps import Steps
from onrecord.adapters.store import Store

if TYPE_CHECKING:
    from onrecord.projections.access.access_records import AccessEntry


class AsyncStoreAccess:
    """Who read what of a tenant, as `StoreAccess`. Get it as `store.access`."""

    def __init__(self, store: Store, steps: Steps) -> None:
        """Await what is recorded of reads in a store."""
        self._store = store
        self._steps = steps

    async def record(
        self,
        via: str,
        *,
        which: str | UUID | None = None,
        asked: Mapping[str, object] | None = None,
        entries: int | None = None,
        conversations: Iterable[UUID] = (),
        actor: str | None = None,
        key_id: UUID | None = None,
    ) -> bool:
        """Record that a person reads, before anything is shown, as `StoreAccess.record` does."""
        verb = partial(self._store.access.record, via, which=which, asked=asked, entries=entries)
        of = partial(verb, conversations=tuple(conversations), actor=actor, key_id=key_id)
        return await self._steps.run_long(of)

    async def entries(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        actor: str | None = None,
        conversation: str | UUID | None = None,
        limit: int = 50,
    ) -> list[AccessEntry]:
        """Return what was read, the last first, as `StoreAccess.entries` does."""
        verb = partial(self._store.access.entries, since=since, until=until, actor=actor)
        return await self._steps.run_long(partial(verb, conversation=conversation, limit=limit))
