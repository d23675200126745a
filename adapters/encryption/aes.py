"""AES-256-GCM, by the library `cryptography`: bodies under a data key, keys under another key."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from onrecord.domain.encryption.bodies import NONCE_SIZE, parted
from onrecord.domain.encryption.keys import DataKey
from onrecord.domain.errors import CorruptRecord, NotInstalled

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


class BodyCipher:
    """Encrypts the bodies of one set of subjects, and decrypts them. Threads may share it."""

    __slots__ = ("_aes", "data_key", "name")

    name: Final[str]
    """The ids of the keys, as the header of each event names them."""

    def __init__(self, data_key: DataKey) -> None:
        """Use a data key. To make the cipher costs as much as to encrypt a body: keep it."""
        self.data_key = data_key
        self.name = data_key.name
        self._aes = aes_gcm(data_key.body)

    def encrypted(self, header: bytes, body: bytes) -> bytes:
        """Return a body as it is stored under its client header, with a nonce of its own."""
        nonce = os.urandom(NONCE_SIZE)
        return nonce + self._aes.encrypt(nonce, body, header)

    def decrypted(self, header: bytes, stored: bytes) -> bytes:
        """Return the body; CorruptRecord where header or body were changed, or are under other keys."""
        return _opened(self._aes, stored, header, "the body of an event")


def wrapped(key: bytes, plain: bytes, context: bytes) -> bytes:
    """Return bytes encrypted under a key, bound to a context, with a nonce of their own."""
    nonce = os.urandom(NONCE_SIZE)
    return nonce + aes_gcm(key).encrypt(nonce, plain, context)


def unwrapped(key: bytes, data: bytes, context: bytes) -> bytes:
    """Return the bytes; CorruptRecord where they were changed, or are under another key or context."""
    return _opened(aes_gcm(key), data, context, "the wrapped key of a subject")


def _opened(aes: AESGCM, stored: bytes, associated: bytes, what: str) -> bytes:
    from cryptography.exceptions import InvalidTag

    nonce, ciphertext = parted(stored)
    try:
        return aes.decrypt(nonce, ciphertext, associated)
    except InvalidTag:
        # Nothing of what was to be decrypted, nor of the key, stands in the error.
        raise CorruptRecord(
            f"{what} was changed, or is under another key: restore it from a backup"
        ) from None


def aes_gcm(key: bytes) -> AESGCM:
    """Return AES-256-GCM under a key; NotInstalled without the library."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError as exc:
        raise NotInstalled("an encrypted store", "cryptography", "encryption") from exc
    return AESGCM(key)
