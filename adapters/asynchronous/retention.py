"""Legal holds and retention classes, awaited: `await store.retention.place_hold(...)`.

Each verb is that of `StoreRetention`, which says what it means, takes, gives and raises. It runs in a
thread, for it may work for long.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.asynchronous.iteration import awaited_each
from onrecord.adapters.storage.steps import Steps
from onrecord.adapters.store import Store
from onrecord.adapters.upkeep.dispositions import unseen

if TYPE_CHECKING:
    from onrecord.adapters.upkeep.archives import ArchiveWriter
    from onrecord.adapters.upkeep.dispositions import Disposition, DispositionResult
    from onrecord.domain.operators import RetentionClass
    from onrecord.projections.retention.hold_records import HoldEntry
    from onrecord.projections.retention.retention_records import RetentionEntry


class AsyncStoreRetention:
    """What is to be kept of a tenant's conversations, as `StoreRetention`. Get it as `store.retention`."""

    def __init__(self, store: Store, steps: Steps) -> None:
        """Await what is kept and erased of a store."""
        self._store = store
        self._steps = steps

    async def place_hold(
        self, which: str | UUID | None = None, *, matter: str, reason: str, actor: str | None = None
    ) -> HoldEntry:
        """Place a legal hold, as `StoreRetention.place_hold` does."""
        verb = self._store.retention.place_hold
        return await self._steps.run_long(
            partial(verb, which, matter=matter, reason=reason, actor=actor)
        )

    async def lift_hold(self, hold_id: UUID, *, reason: str, actor: str | None = None) -> bool:
        """Lift a legal hold, as `StoreRetention.lift_hold` does."""
        verb = self._store.retention.lift_hold
        return await self._steps.run_long(partial(verb, hold_id, reason=reason, actor=actor))

    async def holds(
        self, which: str | UUID | None = None, *, lifted: bool = False
    ) -> list[HoldEntry]:
        """Return the holds in force, as `StoreRetention.holds` does."""
        return await self._steps.run_long(
            partial(self._store.retention.holds, which, lifted=lifted)
        )

    async def set_class(
        self,
        keep: RetentionClass | timedelta,
        *,
        rule: str,
        which: str | UUID | None = None,
        label: str | None = None,
        value: str | None = None,
        actor: str | None = None,
    ) -> RetentionEntry:
        """Set a retention class, as `StoreRetention.set_class` does."""
        verb = partial(self._store.retention.set_class, keep, rule=rule, which=which, actor=actor)
        return await self._steps.run_long(partial(verb, label=label, value=value))

    async def clear_class(
        self,
        *,
        reason: str,
        which: str | UUID | None = None,
        label: str | None = None,
        value: str | None = None,
        actor: str | None = None,
    ) -> bool:
        """Take a retention class back, as `StoreRetention.clear_class` does."""
        verb = partial(self._store.retention.clear_class, reason=reason, which=which, actor=actor)
        return await self._steps.run_long(partial(verb, label=label, value=value))

    async def classes(self) -> list[RetentionEntry]:
        """Return the retention classes, as `StoreRetention.classes` does."""
        return await self._steps.run_long(self._store.retention.classes)

    async def class_of(self, which: str | UUID) -> RetentionEntry | None:
        """Return the retention class that a conversation goes by; None where it has none."""
        return await self._steps.run_long(partial(self._store.retention.class_of, which))

    def due(
        self,
        *,
        before: datetime | None = None,
        older_than: timedelta | None = None,
        prefix: str | None = None,
        expired: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> AsyncIterator[Disposition]:
        """Yield what is chosen, and change nothing, as `StoreRetention.due` does."""
        chosen = partial(self._store.retention.due, before=before, older_than=older_than)
        return awaited_each(
            self._steps, partial(chosen, prefix=prefix, expired=expired, progress=progress)
        )

    async def forget(
        self,
        *,
        reason: str,
        actor: str | None = None,
        before: datetime | None = None,
        older_than: timedelta | None = None,
        prefix: str | None = None,
        expired: bool = False,
        each: Callable[[Disposition], None] = unseen,
        progress: Callable[[int, int], None] | None = None,
    ) -> DispositionResult:
        """Erase what is chosen, as `StoreRetention.forget` does; `each` is called in another thread."""
        verb = partial(self._store.retention.forget, reason=reason, actor=actor, each=each)
        chosen = partial(verb, before=before, older_than=older_than, prefix=prefix)
        return await self._steps.run_long(partial(chosen, expired=expired, progress=progress))

    async def expire(
        self,
        archive: str | None,
        *,
        actor: str | None = None,
        writer: ArchiveWriter | None = None,
        each: Callable[[Disposition], None] = unseen,
        progress: Callable[[int, int], None] | None = None,
    ) -> DispositionResult:
        """Archive and erase what has run out, as `StoreRetention.expire` does; `each` is called in another thread."""
        verb = partial(self._store.retention.expire, archive, actor=actor, writer=writer)
        return await self._steps.run_long(partial(verb, each=each, progress=progress))
