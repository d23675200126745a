"""Keys for tests: some that were issued, and some whose id fits though nobody issued them."""

from __future__ import annotations

import secrets
from typing import Any, cast
from uuid import UUID

from onrecord.adapters.upkeep.keys import NewKey, issue_key, parsed
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import key_id
from tests.factories import TENANT


def issued(backend: Backend, tenant: UUID = TENANT, **options: Any) -> NewKey:
    return issue_key(backend, tenant, "the runtime", actor="ana", **options)


def fitting(backend: Backend) -> tuple[str, UUID, str]:
    """Return a token whose id fits its secret, the id and the digest: nobody issued it."""
    secret = secrets.token_urlsafe(32)
    digest = cast("tuple[UUID, str]", parsed(f"ork_{'0' * 32}_{secret}"))[1]
    id_ = key_id(backend.digest, digest)
    return f"ork_{id_.hex}_{secret}", id_, digest
