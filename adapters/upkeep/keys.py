"""Keys of the service: issued, listed and revoked, each a stream of the operators of its tenant.

A key reads `ork_<id>_<secret>`. The id is that of its stream, the secret 256 random bits. The log has the
SHA-256 of the secret only. No slow hash is needed: nobody guesses what is random.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, get_args
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.inputs.arguments import name_given, text_given
from onrecord.adapters.storage.append import let_log_know
from onrecord.domain.admission import Refused
from onrecord.domain.errors import CorruptRecord, InvalidContent, InvalidInput, StorageReadOnly
from onrecord.domain.header import SALT_SIZE
from onrecord.domain.log import Append, Backend, Recorded
from onrecord.domain.marks.marked_ids import is_key, key_id, operators_of
from onrecord.domain.new_events import Stamp, draft_fact
from onrecord.domain.operators import LAST_MOMENT, KeyFact, KeyIssued, KeyRevoked, KeyRole
from onrecord.projections.history.key_records import KeyEntry, key_entry

logger = logging.getLogger("onrecord")

_SECRET_SIZE: Final = 32
_TOKEN: Final = re.compile(r"ork_([0-9a-f]{32})_([A-Za-z0-9_-]{43})", re.ASCII)
_NO_KEY: Final = "no key of this tenant has that id: `onrecord keys list` shows them"
_NO_ISSUER: Final = (
    "this role may not issue or revoke keys: connect as an issuer, a role that the log's owner let in "
    "with SELECT onrecord.admit_issuer('role'), or as the owner"
)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was issued now: its `token` is shown once, and is nowhere kept."""

    key_id: UUID
    token: str = field(repr=False)


def parsed(token: str) -> tuple[UUID, str] | None:
    """Return the id in a key, and the digest of its secret; None for what is no key."""
    match = _TOKEN.fullmatch(token)
    return None if match is None else (UUID(hex=match[1]), _digest(match[2]))


def issue_key(
    backend: Backend,
    tenant: UUID,
    name: str,
    *,
    actor: str,
    role: KeyRole = "write",
    all_tenants: bool = False,
    expires_at: int | None = None,
) -> NewKey:
    """Issue a key for one tenant, or for all; `name` says who it is for, `actor` who issues it.

    It is recorded when this returns. `expires_at` is in microseconds since 1970-01-01 UTC. InvalidInput
    where it is past, where the role is none or does not go with `all_tenants`; StorageReadOnly for a
    role of the database that may not.
    """
    now = moment()
    _must_be_sound(role, all_tenants=all_tenants, expires_at=expires_at, now=now)
    secret = secrets.token_urlsafe(_SECRET_SIZE)
    issued = KeyIssued(
        tenant=tenant,
        digest=_digest(secret),
        name=name_given("a key", name),
        role=role,
        all_tenants=all_tenants,
        expires_at=expires_at,
        actor=name_given("who issues a key", actor),
        at=now,
    )
    stream = key_id(backend.digest, issued.digest)
    try:
        let_log_know(backend, tenant)
        _recorded(backend, stream, issued, actor, expected_version=0)
    except StorageReadOnly as error:
        raise StorageReadOnly(_NO_ISSUER) from error
    backend.actors().keep(tenant, backend.digest(actor), actor)
    return NewKey(stream, f"ork_{stream.hex}_{secret}")


def revoke_key(backend: Backend, tenant: UUID, id_: UUID, *, reason: str, actor: str) -> bool:
    """Take a key of a tenant back, for good; return False where it was taken back before.

    It is recorded when this returns, with who did it and why. InvalidInput where the tenant has no such
    key; StorageReadOnly for a role of the database that may not. A key that cannot be read is taken back
    like any other.
    """
    because = text_given("a reason", reason)
    if not because.strip():
        raise InvalidContent("say why the key is taken back: give a reason")
    who = name_given("who revokes a key", actor)
    if not is_key(id_) or backend.owner(id_) != operators_of(tenant):
        raise InvalidInput(_NO_KEY)
    fact = KeyRevoked(tenant=tenant, actor=who, reason=because, at=moment())
    try:
        is_new = _recorded(backend, id_, fact, who)
    except StorageReadOnly as error:
        raise StorageReadOnly(_NO_ISSUER) from error
    backend.actors().keep(tenant, backend.digest(who), who)
    return is_new


def service_keys(backend: Backend, tenant: UUID) -> Iterator[KeyEntry]:
    """Yield the keys that were issued for a tenant, the one that something was told of last first.

    One that cannot be read is left out, with a warning: it is no key, and `verify` names it too.
    """
    operators = operators_of(tenant)
    for listed in backend.conversations(operators):
        stream, head = listed.conversation_id, listed.head
        if not is_key(stream):
            continue
        first = next(backend.read(stream, limit=1))
        last = tuple(backend.read(stream, after=max(head.version - 2, 1), until=head.version))
        try:
            yield key_entry(first, last, operators, backend.digest, is_revoked=head.closed)
        except CorruptRecord as error:
            logger.warning("the key %s cannot be read: %s", stream, error)


def moment() -> int:
    """Return the time by this machine's clock, in microseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1000


def new_request(
    stream: UUID, fact: KeyFact, actor: str | None = None, expected_version: int | None = None
) -> Append:
    """Return the request to record what is told of a key; `actor` is a keyed digest in hex."""
    operators = operators_of(fact.tenant)
    stamp = Stamp(uuid7(), fact.at, secrets.token_bytes(SALT_SIZE), operators, stream, actor)
    return Append(operators, stream, (draft_fact(fact, stamp),), expected_version)


def _recorded(
    backend: Backend,
    stream: UUID,
    fact: KeyFact,
    actor: str,
    expected_version: int | None = None,
) -> bool:
    """Record what is told of a key; return False where the key was revoked before."""
    request = new_request(stream, fact, backend.digest(actor).hex(), expected_version)
    (verdict,) = backend.append([request])
    if isinstance(verdict, Refused):
        return False
    if not isinstance(verdict, Recorded):
        raise CorruptRecord("the stream of a key is another's: run `onrecord verify`")
    return True


def _must_be_sound(role: KeyRole, *, all_tenants: bool, expires_at: int | None, now: int) -> None:
    if role not in get_args(KeyRole):
        raise InvalidInput(f"a key's role is one of {', '.join(get_args(KeyRole))}")
    if all_tenants and role != "operate":
        raise InvalidInput("a key for all tenants is one to operate: give it that role")
    if expires_at is not None and expires_at <= now:
        raise InvalidInput("the key would have expired already: give a time to come")
    if expires_at is not None and expires_at > LAST_MOMENT:
        raise InvalidInput(
            "a key expires before the year 10000: leave the time out, or give another"
        )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
