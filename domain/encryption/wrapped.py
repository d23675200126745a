"""Keys of subjects as a key store has them: wrapped under a generation of the key-encryption key.

What is wrapped is the key and the digest of its subject, 48 bytes. So neither a key nor a subject can
be put in another's place in a key store without being noticed.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.domain import jsontext
from onrecord.domain.encryption.keys import KEY_SIZE, SubjectKey, subject_key
from onrecord.domain.errors import CorruptRecord

SUBJECT_SIZE: Final = 16
"""The bytes of a subject's keyed digest."""


class Wrapped(NamedTuple):
    """Bytes under a generation of the key-encryption key."""

    generation: str
    data: bytes


class WrappedKey(NamedTuple):
    """The key of a subject in a key store. `created_at` is in microseconds since 1970-01-01 UTC."""

    key_id: str
    subject: bytes
    wrapped: Wrapped
    created_at: int


class Rewrapping(NamedTuple):
    """A key that is to be wrapped under another generation, as it was and as it will be."""

    key_id: str
    old: Wrapped
    new: Wrapped


class DestroyedKey(NamedTuple):
    """What a key store has of a key that was destroyed: its id, and when. Not whose it was."""

    key_id: str
    destroyed_at: int


class Generation(NamedTuple):
    """A generation of the key-encryption key that keys of a store were ever wrapped under.

    `keys` are wrapped under it now, `destroyed` were when they were destroyed. A closed one takes no more
    keys. A retired one is gone: nothing is unwrapped under it any more, from backups neither. Somebody can
    bring it back until `undoable_until`, in microseconds since 1970-01-01 UTC; None: nobody can.
    """

    name: str
    keys: int
    destroyed: int
    is_closed: bool
    is_retired: bool
    undoable_until: int | None


def context_of(log_id: UUID, key_id: str) -> Mapping[str, str]:
    """Return what a wrapped key is bound to. It holds nothing personal: a KMS may log it."""
    return {"onrecord:key": key_id, "onrecord:log": f"{log_id}"}


def context_bytes(context: Mapping[str, str]) -> bytes:
    """Return a context as additional data: canonical JSON."""
    return jsontext.write_canonical(dict(context))


def plain_of(key: SubjectKey, subject: bytes) -> bytes:
    """Return what is wrapped: the key, and the digest of whose it is."""
    return key.secret + subject


def key_of(record: WrappedKey, plain: bytes) -> SubjectKey:
    """Return the key that a record unwraps to; CorruptRecord where it is another's."""
    if len(plain) != KEY_SIZE + SUBJECT_SIZE:
        raise CorruptRecord(_another(record))
    key = subject_key(plain[:KEY_SIZE])
    is_its_own = hmac.compare_digest(plain[KEY_SIZE:], record.subject)
    if key.key_id != record.key_id or not is_its_own:
        raise CorruptRecord(_another(record))
    return key


def _another(record: WrappedKey) -> str:
    return f"another key stands under the id {record.key_id}: restore the key store from a backup"
