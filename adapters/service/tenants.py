"""The stores of the tenants that a service serves, on one backend."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final
from uuid import UUID

from onrecord.adapters.asynchronous.store import AsyncStore
from onrecord.adapters.storage.steps import Steps, steps_of
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.log import Backend

_MOST: Final = 64
"""How many tenants' stores are kept: what they remember of conversations goes with the others."""


class Tenants:
    """The stores of tenants: each is made when it is first asked for. For one event loop."""

    def __init__(self, store: Store, open_store: Callable[[UUID], Store]) -> None:
        """Serve a store, and those of other tenants that `open_store` makes on its backend."""
        self._root = AsyncStore(store)
        self._open = open_store
        self._stores: OrderedDict[UUID, AsyncStore] = OrderedDict()
        self.backend: Final[Backend] = backend_of(store)
        self.steps: Final[Steps] = steps_of(self.backend)
        self.url: Final = store.url
        self.tenant: Final = store.tenant

    async def of(self, tenant: UUID) -> AsyncStore:
        """Return the store of a tenant."""
        if tenant == self.tenant:
            return self._root
        store = self._stores.get(tenant)
        if store is None:
            store = AsyncStore(await self.steps.run(lambda: self._open(tenant)))
            # Another request may have opened it meanwhile: its folds count.
            store = self._stores.setdefault(tenant, store)
            if len(self._stores) > _MOST:
                self._stores.popitem(last=False)
        self._stores.move_to_end(tenant)
        return store

    async def close(self) -> None:
        """Let go of files and connections, once what was begun is done."""
        await self._root.close()
