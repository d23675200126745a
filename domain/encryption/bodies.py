"""How an encrypted body is stored: 12 bytes of nonce, then what AES-256-GCM makes, its tag at the end.

The additional data is the client header, byte for byte. The digest of the event is that of the stored
bytes, so the leaf covers header and ciphertext, and a log verifies without any key.
"""

from __future__ import annotations

from binascii import hexlify
from contextlib import suppress
from functools import lru_cache
from typing import Final
from uuid import UUID

from onrecord.domain.encryption.keys import key_ids_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import CODEC, FORMAT
from onrecord.domain.operators import is_operators

ENCRYPTED: Final = "json+aes-256-gcm"
"""The codec of a body that is JSON, encrypted."""

NONCE_SIZE: Final = 12
TAG_SIZE: Final = 16

# Headers are canonical: their members are sorted, and no value has a quote that is not escaped. So each of
# these stands first where the member of the header itself does, before those of its metadata.
_CODEC: Final = b'"codec":"'
_CLEAR: Final = b'"codec":"%s",' % CODEC.encode()
_UNDER_KEYS: Final = b'"codec":"%s",' % ENCRYPTED.encode()
_BEFORE_KEY: Final = b'"format":%d,' % FORMAT
_KEY: Final = b'"key":"'
_CONVERSATION: Final = b'"conversation":"'
_EVENT: Final = b'"event":"'
_UUID_SIZE: Final = 36


def parted(stored: bytes) -> tuple[bytes, bytes]:
    """Return the nonce and the ciphertext, its tag at the end; CorruptRecord for what is too short."""
    if len(stored) < NONCE_SIZE + TAG_SIZE:
        raise CorruptRecord("an encrypted body was cut: run `onrecord verify`")
    return stored[:NONCE_SIZE], stored[NONCE_SIZE:]


def is_clear(header: bytes) -> bool:
    """Whether the bytes of a client header are of a body that is JSON in clear."""
    return header.startswith(_CLEAR, header.find(_CODEC))


def is_unencrypted(event_type: str, header: bytes) -> bool:
    """Whether an event is in clear that would be encrypted in an encrypted log: one of a conversation.

    Those of operators, and of other applications by their codec, are in clear in any log.
    """
    return is_clear(header) and not is_operators(event_type)


def encrypted_header(header: bytes, key_name: str) -> bytes:
    """Return the bytes of a client header in clear as those of the same event under keys."""
    under_keys = header.replace(_CLEAR, _UNDER_KEYS, 1)
    return under_keys.replace(_BEFORE_KEY, _with_key(key_name), 1)


@lru_cache(maxsize=1024)
def _with_key(key_name: str) -> bytes:
    """Return the members of a header up to its key."""
    return b'%s%s%s",' % (_BEFORE_KEY, _KEY, key_name.encode("ascii"))


def key_name_in(header: bytes) -> str | None:
    """Return the name of the keys that the body of a client header is under; None where it is clear.

    The header is not parsed: that costs more than decryption.
    """
    if not header.startswith(_UNDER_KEYS, header.find(_CODEC)):
        return None
    _, _, named = header.partition(_KEY)
    return named.partition(b'"')[0].decode("ascii", "replace")


def must_be_of(header: bytes, conversation_id: UUID, event_id: UUID) -> None:
    """Refuse a client header that is of another event: CorruptRecord.

    A body is bound to its header, and not to the row that it stands in. Whoever may write to the database
    could move both into another conversation, for its readers to read.
    """
    own = _in_header(conversation_id)
    at = header.find(_CONVERSATION)
    if header.startswith(own, at):
        at = header.find(_EVENT, at) + len(_EVENT)
        if header[at : at + _UUID_SIZE].replace(b"-", b"") == hexlify(event_id.bytes):
            return
    raise CorruptRecord("an event stands in the place of another one: run `onrecord verify`")


@lru_cache(1_000)
def _in_header(conversation_id: UUID) -> bytes:
    return b'%s%s"' % (_CONVERSATION, str(conversation_id).encode("ascii"))


def keys_looked_for(header: bytes) -> tuple[str, ...]:
    """Return the ids of the keys that a header names, in their order: a log parses no headers.

    None of them for an event in clear, whatever its metadata says, and for a name that is none of keys.
    """
    name = key_name_in(header)
    with suppress(CorruptRecord):
        return () if name is None else key_ids_of(name)
    return ()
