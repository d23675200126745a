"""The directory of actors: the names that the keyed digests in headers are of, until they are erased."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID, uuid5


def actor_id(tenant: UUID, digest: bytes) -> UUID:
    """Return the id that the name of a tenant's actor is erased by, of the keyed digest of the name.

    It is a UUID of version 5 (RFC 9562), as no conversation that is made here and no marked id is.
    """
    return uuid5(tenant, f"onrecord actor {digest.hex()}")


def name_of(directory: ActorDirectory, tenant: UUID, digest: str) -> str | None:
    """Return the name that a digest in hex is of; None where none is kept, and for what is no digest."""
    try:
        known = bytes.fromhex(digest)
    except ValueError:  # A header of another system's: it may say anything.
        return None
    return directory.names(tenant, (known,)).get(known)


class ActorName(NamedTuple):
    """A row of the directory of actors, as it is stored: what it holds may be anything."""

    tenant: bytes
    digest: bytes
    actor_id: bytes
    name: bytes


class ActorDirectory(Protocol):
    """The names of those who act, by the keyed digests that stand in headers.

    `Erasure.forget` erases a name, by the id that `actor_id` gives (domain/operators.py).
    """

    def keep(self, tenant: UUID, digest: bytes, name: str) -> None:
        """Keep the name that a digest is of, durably; one that is there stays."""
        ...

    def names(self, tenant: UUID, digests: Sequence[bytes]) -> dict[bytes, str]:
        """Return the names that digests are of, as far as they are there."""
        ...

    def stored(self) -> Iterator[ActorName]:
        """Yield all that is kept, of all tenants that the caller sees."""
        ...
