"""The stores of the tenants that a service serves, on one backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from onrecord.adapters.asynchronous.conversation import AsyncConversation
from onrecord.adapters.asynchronous.store import AsyncStore
from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.storage.steps import Steps, steps_of
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.errors import ConversationClosed, ConversationForgotten, VersionConflict
from onrecord.domain.log import Backend

MOVED: Final = (VersionConflict, ConversationClosed, ConversationForgotten)
"""Why the log refuses what is appended at a version that is remembered."""

_MOST: Final = 64
"""How many tenants' stores are kept: what they remember of conversations goes with the others."""


_MOST_OWNERS: Final = 1 << 16
"""How many conversations are remembered by whose they are."""


class Owners:
    """Whose conversations are: who began one keeps it for ever, so that is remembered."""

    def __init__(self, backend: Backend) -> None:
        """Ask a log."""
        self._backend = backend
        self._known: dict[UUID, UUID] = {}

    def of(self, conversation_id: UUID) -> UUID | None:
        """Return whose a conversation is; None if it has not begun. This is a step of the log."""
        owner = self._known.get(conversation_id)
        if owner is None and (owner := self._backend.owner(conversation_id)) is not None:
            if len(self._known) >= _MOST_OWNERS:
                self._known.clear()
            self._known[conversation_id] = owner
        return owner


_MOST_WRITTEN: Final = 4096
"""How many conversations are remembered that were written to: the one of longest ago goes first."""


@dataclass(frozen=True, slots=True)
class Written:
    """A conversation that was written to here, and the version that it was at then."""

    conversation: AsyncConversation
    version: int


class WrittenConversations:
    """The conversations that were written to last: of one that is where it was, nothing is asked.

    What is remembered may be wrong by now: another server appended, it was ended or forgotten, or the
    database was restored. So who uses it appends at that version alone, which the log compares, and
    looks at the conversation anew where the log refused.
    """

    def __init__(self) -> None:
        """Remember none yet."""
        self._written: Newest[tuple[object, ...], Written] = Newest(_MOST_WRITTEN)

    def take(self, *name: object) -> Written | None:
        """Return what is remembered by a name, if anything, and remember it no more."""
        return self._written.pop(name, None)

    def keep(self, written: Written, *name: object) -> None:
        """Remember a conversation by a name: its tenant, its key, and who acts."""
        self._written[name] = written


class Tenants:
    """The stores of tenants: each is made when it is first asked for. For one event loop."""

    def __init__(self, store: Store, open_store: Callable[[UUID], Store]) -> None:
        """Serve a store, and those of other tenants that `open_store` makes on its backend."""
        self._root = store, AsyncStore(store)
        self._open = open_store
        self._stores: Newest[UUID, tuple[Store, AsyncStore]] = Newest(_MOST)
        self.backend: Final[Backend] = backend_of(store)
        self.steps: Final[Steps] = steps_of(self.backend)
        self.owners: Final = Owners(self.backend)
        self.written: Final = WrittenConversations()
        self.url: Final = store.url
        self.tenant: Final = store.tenant

    async def of(self, tenant: UUID) -> AsyncStore:
        """Return the store of a tenant, to be awaited."""
        _, awaited = await self._both(tenant)
        return awaited

    async def store_of(self, tenant: UUID) -> Store:
        """Return the store of a tenant, as threads use it."""
        store, _ = await self._both(tenant)
        return store

    async def close(self) -> None:
        """Let go of files and connections, once what was begun is done."""
        _, awaited = self._root
        await awaited.close()

    async def _both(self, tenant: UUID) -> tuple[Store, AsyncStore]:
        if tenant == self.tenant:
            return self._root
        both = self._stores.get(tenant)
        if both is None:
            store = await self.steps.run(lambda: self._open(tenant))
            # Another request may have opened it meanwhile: its folds count.
            both = self._stores.setdefault(tenant, (store, AsyncStore(store)))
        self._stores.move_to_end(tenant)
        return both
