"""How an encrypted body is stored: 12 bytes of nonce, then what AES-256-GCM makes, its tag at the end.

The additional data is the client header, byte for byte. The digest of the event is that of the stored
bytes, so the leaf covers header and ciphertext, and a log verifies without any key.
"""

from __future__ import annotations

from typing import Final

from onrecord.domain.encryption.keys import key_ids_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import ClientHeader

ENCRYPTED: Final = "json+aes-256-gcm"
"""The codec of a body that is JSON, encrypted."""

NONCE_SIZE: Final = 12
TAG_SIZE: Final = 16


def parted(stored: bytes) -> tuple[bytes, bytes]:
    """Return the nonce and the ciphertext, its tag at the end; CorruptRecord for what is too short."""
    if len(stored) < NONCE_SIZE + TAG_SIZE:
        raise CorruptRecord("an encrypted body was cut: run `onrecord verify`")
    return stored[:NONCE_SIZE], stored[NONCE_SIZE:]


def is_encrypted(header: ClientHeader) -> bool:
    """Whether a header says that its body is encrypted; CorruptRecord where it says both yes and no."""
    if (header.codec == ENCRYPTED) != (header.key_id is not None):
        raise CorruptRecord("the header of an event names keys and a codec that do not go together")
    return header.codec == ENCRYPTED


def key_ids_in(header: ClientHeader) -> tuple[str, ...]:
    """Return the ids of the keys that the body is under: none where it is not encrypted."""
    return key_ids_of(header.key_id or "") if is_encrypted(header) else ()
