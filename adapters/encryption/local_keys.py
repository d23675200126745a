"""Key-encryption keys that are at hand as bytes: how they are written, and what they wrap.

A key is written as 43 characters of base64url, behind the name of its generation. The name is derived
from the key. So one that was changed or cut is known as such, and two keys never have one name.
"""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from onrecord.adapters.encryption.aes import unwrapped, wrapped
from onrecord.domain.encryption.keys import KEY_SIZE, expand
from onrecord.domain.encryption.wrapped import Wrapped, context_bytes
from onrecord.domain.errors import InvalidInput, StorageUnavailable

PREFIX: Final = "kek-"
"""How a key begins where it is written."""

_TEXT: Final = re.compile(PREFIX + r"([0-9a-f]{16})\.([A-Za-z0-9_-]{43})")
_INFO: Final = b"onrecord key-encryption key"


@dataclass(frozen=True, slots=True)
class LocalKey:
    """A key-encryption key, 32 random bytes, and the name of its generation."""

    generation: str
    secret: bytes = field(repr=False)

    def text(self) -> str:
        """Return it as it is written."""
        return f"{self.generation}.{base64.urlsafe_b64encode(self.secret).decode().rstrip('=')}"


def new_local_key() -> LocalKey:
    """Return a new one."""
    return _of(secrets.token_bytes(KEY_SIZE))


def parse_local_key(text: str) -> LocalKey:
    """Return the key that a text tells; InvalidInput where it tells none or is not whole."""
    match = _TEXT.fullmatch(text)
    key = _of(base64.urlsafe_b64decode(f"{match[2]}=")) if match else None
    if key is None or key.text() != text:
        # The text is a secret: not even a part of it is told.
        raise InvalidInput("a key-encryption key is not whole: it was cut or changed")
    return key


def wrap(key: LocalKey, plain: bytes, context: Mapping[str, str]) -> Wrapped:
    """Return bytes wrapped under a key."""
    return Wrapped(key.generation, wrapped(key.secret, plain, context_bytes(context)))


def unwrap(
    keys: Sequence[LocalKey], what: Wrapped, context: Mapping[str, str], source: object
) -> bytes:
    """Return what was wrapped under one of some keys; StorageUnavailable if none is of its generation.

    `source` is where the keys are from, as an error names it.
    """
    for key in keys:
        if key.generation == what.generation:
            return unwrapped(key.secret, what.data, context_bytes(context))
    raise StorageUnavailable(
        f"{source} holds {', '.join(key.generation for key in keys)}, and the key store needs "
        f"{what.generation}, which is not there: if the keys were rotated, copy the new key-encryption "
        "key here, else give the one of this key store; one that was retired never comes back"
    )


def must_be_apart(keys: Sequence[LocalKey]) -> None:
    """Refuse a key that stands twice: InvalidInput."""
    if len({key.generation for key in keys}) < len(keys):
        raise InvalidInput("a key-encryption key stands twice: take one out")


def _of(secret: bytes) -> LocalKey:
    return LocalKey(f"kek-{expand(secret, _INFO, 8).hex()}", secret)
