"""The names of those who act, in a log on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from onrecord.adapters.storage.postgres.connections import Connections
from onrecord.domain.actors import ActorName, actor_id

_PAGE: Final = 256


class PostgresActors:
    """The directory of actors in a database."""

    def __init__(self, connections: Connections) -> None:
        """Ask by these connections."""
        self._connections = connections

    def keep(self, tenant: UUID, digest: bytes, name: str) -> None:
        """Keep the name that a digest is of, durably; one that is there stays."""
        row = (tenant, digest, actor_id(tenant, digest), name.encode())
        self._connections.ask("keep_actor_name", row)

    def names(self, tenant: UUID, digests: Sequence[bytes]) -> dict[bytes, str]:
        """Return the names that digests are of, as far as they are there and the role sees them."""
        if not digests:
            return {}
        rows = self._connections.ask("actor_names", (tenant, list(digests)))
        return {bytes(digest): bytes(name).decode() for digest, name in rows}

    def stored(self) -> Iterator[ActorName]:
        """Yield all that is kept and that the role sees."""
        last = UUID(int=0), b""
        while True:
            rows = self._connections.ask("stored_actor_names", (*last, _PAGE))
            for tenant, digest, id_, name in rows:
                yield ActorName(tenant.bytes, bytes(digest), id_.bytes, bytes(name))
            if len(rows) < _PAGE:
                return
            last = rows[-1][0], bytes(rows[-1][1])
