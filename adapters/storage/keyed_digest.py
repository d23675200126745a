"""Names that callers choose, made fit to be looked up without standing anywhere in clear."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID

KEY_SIZE: Final = 32
DIGEST_SIZE: Final = 16

Proof: TypeAlias = Callable[[bytes], bytes]
"""What proves that who has the log told something: 16 bytes."""


def new_digest_key() -> bytes:
    """Return a random key; each log has its own, so digests of two logs cannot be compared."""
    return secrets.token_bytes(KEY_SIZE)


def keyed_digest(key: bytes, text: str) -> bytes:
    """Return the first 16 bytes of HMAC-SHA256 over the text's UTF-8."""
    message = text.encode("utf-8", "surrogatepass")
    return hmac.digest(key, message, "sha256")[:DIGEST_SIZE]


def proof_of(key: bytes, told: bytes) -> bytes:
    """Return 16 bytes that only who has the key can make for what is told.

    No digest of a text is one, though callers choose texts and see their digests: none has an
    octet FF in its UTF-8 (RFC 3629, section 1).
    """
    return hmac.digest(key, b"\xff" + told, "sha256")[:DIGEST_SIZE]


def prover_of(seal: bytes, tenant: UUID | None) -> Proof:
    """Return what proves a tenant's word with the seal of a log; without one, the log's own word.

    What proves for one tenant proves nothing for another, and nothing for the log.
    """
    key = seal if tenant is None else tenant_seal(seal, tenant)
    return partial(proof_of, key)


def tenant_seal(seal: bytes, tenant: UUID) -> bytes:
    """Return the seal of one tenant, from which nobody has that of the log or of another one."""
    return hashlib.sha256(seal + tenant.bytes).digest()
