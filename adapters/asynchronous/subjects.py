"""What is kept of a subject, awaited: `await store.subjects.erase(...)`.

Each verb is that of `StoreSubjects`, which says what it means, takes, gives and raises. It runs in a
thread, for it may work for long.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING

from onrecord.adapters.asynchronous.iteration import awaited_each
from onrecord.adapters.storage.steps import Steps
from onrecord.adapters.store import Store

if TYPE_CHECKING:
    from onrecord.adapters.subjects.certificate import ErasureCertificate
    from onrecord.adapters.subjects.store_subjects import SubjectConversation
    from onrecord.projections.history.erasure_records import ErasureEntry


class AsyncStoreSubjects:
    """What finds, hands out and erases what is kept of a subject. Get it as `store.subjects`."""

    def __init__(self, store: Store, steps: Steps) -> None:
        """Await what is kept of subjects in a store."""
        self._store = store
        self._steps = steps

    async def digest(self, name: str) -> str:
        """Return what the record has in place of a subject's name, as `StoreSubjects.digest` does."""
        return await self._steps.run_long(partial(self._store.subjects.digest, name))

    async def erasures(self, name: str) -> list[ErasureEntry]:
        """Return the erasures of a subject, the last one first, as `StoreSubjects.erasures` does."""
        return await self._steps.run_long(partial(self._store.subjects.erasures, name))

    async def conversations(self, name: str) -> list[SubjectConversation]:
        """Return the conversations of a subject, as `StoreSubjects.conversations` does."""
        return await self._steps.run_long(partial(self._store.subjects.conversations, name))

    async def erase(
        self,
        name: str,
        *,
        reason: str,
        rule: str,
        actor: str | None = None,
        destroyed_key: str | None = None,
    ) -> ErasureCertificate:
        """Erase a subject by its key, for good, as `StoreSubjects.erase` does."""
        erase = partial(self._store.subjects.erase, name, reason=reason, rule=rule, actor=actor)
        return await self._steps.run_long(partial(erase, destroyed_key=destroyed_key))

    def export(self, name: str) -> AsyncIterator[bytes]:
        """Yield all that is recorded of a subject, as `StoreSubjects.export` does: `async for`."""
        return awaited_each(self._steps, partial(self._store.subjects.export, name))
