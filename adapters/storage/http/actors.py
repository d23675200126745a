"""The names of those who act, which a service keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from onrecord.adapters.storage.http.forms import (
    ActorForm,
    ActorsForm,
    Digests,
    Number,
    StoredActorsForm,
    text_bytes,
    text_of,
)
from onrecord.adapters.storage.http.transport import MOST_LISTED, Ask, Transport
from onrecord.domain.actors import ActorName

_ACTORS: Final = "/v1/log/actors"


class HttpActors:
    """The directory of actors of a service."""

    def __init__(self, transport: Transport) -> None:
        """Ask a service."""
        self._transport = transport

    def keep(self, tenant: UUID, digest: bytes, name: str) -> None:
        """Keep the name that a digest is of, durably; one that is there stays."""
        body = ActorForm(digest=digest, name=text_bytes(name))
        self._transport.form(Ask("POST", _ACTORS, body=body, tenant=str(tenant)), Number)

    def names(self, tenant: UUID, digests: Sequence[bytes]) -> dict[bytes, str]:
        """Return the names that digests are of, as far as they are there."""
        body = Digests(digests=list(digests))
        ask = Ask("POST", f"{_ACTORS}/names", body=body, tenant=str(tenant))
        found = self._transport.form(ask, ActorsForm)
        return {actor.digest: text_of(actor.name) for actor in found.actors}

    def stored(self) -> Iterator[ActorName]:
        """Yield all that is kept, of all tenants that the key is for."""
        for row in self._transport.form(
            Ask("GET", _ACTORS, most=MOST_LISTED), StoredActorsForm
        ).actors:
            yield ActorName(row.tenant, row.digest, row.actor_id, row.name)
