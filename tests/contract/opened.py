"""A store opened twice, for what holds of two processes as of one."""

from uuid import UUID, uuid4

from onrecord.domain.log import Append, Backend
from tests.contract.places import MemoryPlace, Place
from tests.factories import raw_event

# On PostgreSQL the first and the last share a shard.
TENANTS = [UUID(int=1), UUID(int=2), UUID(int=3)]


class Opened:
    """A store opened twice, as two processes would; what is in memory only, once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        first = place.open()
        self._handles = [first, first if isinstance(place, MemoryPlace) else place.open()]
        self.shards = {tenant: shard_of(first, tenant) for tenant in TENANTS}

    def of(self, handle: int) -> Backend:
        return self._handles[handle]

    def incarnation(self) -> UUID:
        return self.of(0).cursors()[0].incarnation

    def reopen(self, handle: int) -> None:
        if not isinstance(self._place, MemoryPlace):
            self._handles[handle].close()
            self._handles[handle] = self._place.open()

    def close(self) -> None:
        for backend in self._handles:
            backend.close()


def shard_of(backend: Backend, tenant: UUID) -> int:
    conversation = uuid4()
    backend.append([Append(tenant, conversation, (raw_event(),))])
    (event,) = backend.read(conversation)
    return event.shard
