"""How the name of an actor is erased: as a conversation is, by an id that follows from its digest."""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

from onrecord.adapters.inputs.arguments import name_given
from onrecord.adapters.recording.actor_names import ActorNames
from onrecord.adapters.upkeep.erasing import Erasing
from onrecord.domain.actors import actor_id
from onrecord.domain.erasure.targets import ErasureTarget
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Backend

_DIGEST: Final = re.compile(r"[0-9a-f]{32}")
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def forget_actor(
    backend: Backend,
    erasing: Erasing,
    names: ActorNames,
    name_or_digest: str,
    actor: str,
    reason: str,
) -> None:
    """Erase the name that is kept under a digest, which is given itself or by its name.

    InvalidInput where none is kept there.
    """
    digest = _digest_of(backend, erasing, name_given("an actor", name_or_digest))
    # First: what goes on in this name meanwhile is not to write it again.
    names.forget(digest.hex())
    erasing.forget(
        actor_id(erasing.tenant, digest), actor, reason, ErasureTarget(named=digest.hex())
    )


def _digest_of(backend: Backend, erasing: Erasing, name: str) -> bytes:
    """Return the digest under which a name is kept; a text may be a name, a digest, or an id."""
    digests = [backend.digest(name)]
    if _DIGEST.fullmatch(name):
        digests.append(bytes.fromhex(name))
    kept = backend.actors().names(erasing.tenant, digests)
    digest = next((each for each in digests if each in kept), None) or _by_id(
        backend, erasing.tenant, name
    )
    if digest is None:
        raise InvalidInput(
            "no such name of an actor is kept: it was forgotten, or nobody acted by it"
        )
    return digest


def _by_id(backend: Backend, tenant: UUID, text: str) -> bytes | None:
    """Return the digest of a tenant's name that is erased by an id, as a list of erasures has it."""
    if not _ID.fullmatch(text):
        return None
    place = tenant.bytes, UUID(text).bytes
    stored = backend.actors().stored()
    return next((row.digest for row in stored if (row.tenant, row.actor_id) == place), None)
