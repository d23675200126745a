"""Keys of subjects, their ids, and the data key of a set of subjects.

A subject's key is 32 random bytes and encrypts nothing itself. All else is derived from it by
HKDF-Expand (RFC 5869, section 2.3, with SHA-256). Its id is, too. So a header that names the id
commits to the key, and another key under that id is known before anything is decrypted.

The data key of a set of subjects is the XOR of a share for each of them. A share is derived from the
subject's key, its id, and the ids of the whole set. Where one of the keys is gone its share is as good
as random, and so is the data key, whatever else is known.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from onrecord.domain.encryption.subjects import MOST_SUBJECTS
from onrecord.domain.errors import CorruptRecord, InvalidInput

KEY_SIZE: Final = 32

_ID_SIZE: Final = 24
_ID: Final = re.compile(r"[A-Za-z0-9_-]{32}")
_BETWEEN: Final = "+"
_ID_INFO: Final = b"onrecord key id"
_SHARE_INFO: Final = b"onrecord share "
_BODY_INFO: Final = b"onrecord body"
_BLOB_INFO: Final = b"onrecord blob"
_PIECES_INFO: Final = b"onrecord blob pieces"


@dataclass(frozen=True, slots=True)
class SubjectKey:
    """The key of one subject, 32 random bytes, and its id, 32 characters of base64url."""

    key_id: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class DataKey:
    """What the bodies of a set of subjects are encrypted with, and their blobs are addressed by.

    `name` is what the headers say: the ids of the subjects' keys. From `blob_pieces` comes the key of the
    pieces of each blob.
    """

    name: str
    body: bytes = field(repr=False)
    blob_address: bytes = field(repr=False)
    blob_pieces: bytes = field(repr=False)


def subject_key(secret: bytes) -> SubjectKey:
    """Return the key that random bytes are; InvalidInput where they are not 32."""
    if len(secret) != KEY_SIZE:
        raise InvalidInput(f"the key of a subject has {KEY_SIZE} bytes")
    key_id = base64.urlsafe_b64encode(expand(secret, _ID_INFO, _ID_SIZE)).decode()
    return SubjectKey(key_id, secret)


def data_key(keys: Sequence[SubjectKey]) -> DataKey:
    """Return the data key of the subjects that have these keys, in whatever order they come."""
    name = key_name([key.key_id for key in keys])
    secret = bytes(KEY_SIZE)
    for key in keys:
        secret = _xor(secret, expand(key.secret, _share_info(key.key_id, name)))
    return DataKey(
        name,
        body=expand(secret, _BODY_INFO),
        blob_address=expand(secret, _BLOB_INFO),
        blob_pieces=expand(secret, _PIECES_INFO),
    )


def key_name(key_ids: Sequence[str]) -> str:
    """Return what the header of an event names: ids of keys, sorted, with a plus between two.

    InvalidInput for none, for one that comes twice, and for too many.
    """
    name = _BETWEEN.join(sorted(key_ids))
    if not _is_name(name.split(_BETWEEN)):
        raise InvalidInput(f"a body is under 1 to {MOST_SUBJECTS} keys, each named once by its id")
    return name


def key_ids_of(name: str) -> tuple[str, ...]:
    """Return the ids of the keys that a header names; CorruptRecord where it names none."""
    key_ids = name.split(_BETWEEN)
    if not _is_name(key_ids):
        raise CorruptRecord("the header of an event names no keys of subjects")
    return tuple(key_ids)


def expand(secret: bytes, info: bytes, size: int = KEY_SIZE) -> bytes:
    """Return what HKDF-Expand with SHA-256 makes of a secret: one block of it, 32 bytes at most."""
    return hmac.digest(secret, info + b"\x01", "sha256")[:size]


def _share_info(key_id: str, name: str) -> bytes:
    # With its own id, two keys that are the same by mistake do not cancel each other out.
    return _SHARE_INFO + f"{key_id} {name}".encode("ascii")


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(KEY_SIZE)


def _is_name(key_ids: Sequence[str]) -> bool:
    return (
        len(key_ids) <= MOST_SUBJECTS
        and all(_ID.fullmatch(key_id) for key_id in key_ids)
        and all(one < other for one, other in pairwise(key_ids))
    )
