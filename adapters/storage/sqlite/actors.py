"""The names of those who act, in a SQLite log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from onrecord.adapters.storage.sqlite.file import SqliteFile
from onrecord.domain.actors import ActorName, actor_id

_PAGE: Final = 256


class SqliteActors:
    """The directory of actors in an open file."""

    def __init__(self, file: SqliteFile) -> None:
        """Read from a file, and write to it."""
        self._file = file

    def keep(self, tenant: UUID, digest: bytes, name: str) -> None:
        """Keep the name that a digest is of, durably; one that is there stays."""
        if self.names(tenant, (digest,)):
            return  # No writer waits for what is known.
        row = (tenant.bytes, digest, actor_id(tenant, digest).bytes, name.encode())
        with self._file.writing() as session:
            session.run("keep_actor_name", *row)

    def names(self, tenant: UUID, digests: Sequence[bytes]) -> dict[bytes, str]:
        """Return the names that digests are of, as far as they are there."""
        with self._file.connections.borrowed() as session:
            rows = {each: session.one("actor_name", tenant.bytes, each) for each in digests}
        return {each: bytes(row[0]).decode() for each, row in rows.items() if row is not None}

    def stored(self) -> Iterator[ActorName]:
        """Yield all that is kept, of all tenants."""
        last = b"", b""
        while True:
            with self._file.connections.borrowed() as session:
                rows = session.all("stored_actor_names", *last, _PAGE)
            for tenant, digest, id_, name in rows:
                yield ActorName(bytes(tenant), bytes(digest), bytes(id_), bytes(name))
            if len(rows) < _PAGE:
                return
            last = rows[-1][0], rows[-1][1]
