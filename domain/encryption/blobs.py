"""How an encrypted blob is stored, and where.

A body refers to a blob by the SHA-256 of its bytes, and is encrypted itself. The blob stands under an
address that only who has the key can compute. So equal documents under two keys have two addresses.

What is stored is a head, the pieces, each with its tag, and the SHA-256 of all that. The head says
which keys the blob is under. Each blob has its own key, from the random salt in its head, so a piece of
another blob is noticed. The nonce of a piece is its number and whether it is the last one, so pieces
that were cut or swapped are. The last one is bound to the address.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from onrecord.domain.blobs import digest_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.bodies import NONCE_SIZE, TAG_SIZE
from onrecord.domain.encryption.keys import DataKey, expand, key_ids_of
from onrecord.domain.encryption.subjects import MOST_SUBJECTS
from onrecord.domain.errors import CorruptRecord

PIECE_SIZE: Final = 1024 * 1024
"""The bytes of a document in each piece but the last."""

SALT_SIZE: Final = 32
DIGEST_SIZE: Final = 32
SEALED_SIZE: Final = PIECE_SIZE + TAG_SIZE
"""The bytes of each piece but the last as it is stored."""

_MAGIC: Final = b"onrecord blob 1\n"
_LENGTH_SIZE: Final = 2
_KEY_ID_SIZE: Final = 33  # With what is between two.
_LONGEST_NAME: Final = MOST_SUBJECTS * _KEY_ID_SIZE - 1
_KEY_INFO: Final = b"onrecord blob key "

SHORTEST_HEAD: Final = len(_MAGIC) + _LENGTH_SIZE


class KeyedBytes(Protocol):
    """The stored bytes of an encrypted blob, to be read once; afterwards they say where they stand."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes to store."""
        ...

    def address(self) -> KeyedBlob:
        """Return where they stand."""
        ...


class KeyedBlobs(Protocol):
    """Where encrypted blobs are stored, each once in its conversation."""

    def put_keyed_blob(self, tenant: UUID, conversation_id: UUID, stored: KeyedBytes) -> KeyedBlob:
        """Store the bytes of a blob and return where they stand; storing it again changes nothing.

        ConversationForgotten if that was forgotten, StorageReadOnly if it is another tenant's.
        """
        ...

    def get_blob(self, conversation_id: UUID, blob: Blob | KeyedBlob) -> Iterator[bytes]:
        """Yield the bytes of a blob as they are stored, in pieces of at most 1 MiB.

        CorruptRecord if it is missing, or if they are damaged as far as that shows without a key.
        """
        ...


class BlobHead(NamedTuple):
    """What stands before the pieces of an encrypted blob: the ids of its keys, and 32 random bytes."""

    name: str
    salt: bytes

    def stored(self) -> bytes:
        """Return it as it is stored."""
        name = self.name.encode("ascii")
        return _MAGIC + len(name).to_bytes(_LENGTH_SIZE) + name + self.salt

    def key(self, data_key: DataKey) -> bytes:
        """Return the key of the pieces."""
        return expand(data_key.blob_pieces, _KEY_INFO + self.salt)


def rest_of_head(beginning: bytes) -> int:
    """Return how many bytes of a head follow its first ones, SHORTEST_HEAD; CorruptRecord for no head."""
    length = int.from_bytes(beginning[len(_MAGIC) :])
    if beginning[: len(_MAGIC)] != _MAGIC or not 0 < length <= _LONGEST_NAME:
        raise damaged()
    return length + SALT_SIZE


def parse_head(stored: bytes) -> BlobHead:
    """Return what the bytes of a whole head say; CorruptRecord where they are none."""
    name, salt = stored[SHORTEST_HEAD:-SALT_SIZE], stored[-SALT_SIZE:]
    try:
        text = name.decode("ascii")
    except UnicodeDecodeError:
        raise damaged() from None
    key_ids_of(text)
    return BlobHead(text, salt)


def is_encrypted(beginning: bytes) -> bool:
    """Whether the first bytes of a blob are those of an encrypted one."""
    return beginning.startswith(_MAGIC)


def nonce_of(number: int, *, is_last: bool) -> bytes:
    """Return the nonce of a piece. The key is the blob's own, so no nonce comes twice under it."""
    return number.to_bytes(NONCE_SIZE - 1) + bytes([is_last])


def associated_data(head: BlobHead, address: KeyedBlob | None = None) -> bytes:
    """Return what a piece is bound to: the head, and the last piece to the address too."""
    return head.stored() + (b"" if address is None else digest_of(address))


def address_of(data_key: DataKey, blob: Blob) -> KeyedBlob:
    """Return where a blob stands that is encrypted under a data key, and how many bytes are stored.

    CorruptRecord where the reference holds no digest.
    """
    address = hmac.digest(data_key.blob_address, digest_of(blob), "sha256")
    return KeyedBlob(hmac=address.hex(), size=stored_size(data_key.name, blob.size))


def addresses_of(data_key: DataKey, blobs: Iterable[Blob | KeyedBlob]) -> tuple[KeyedBlob, ...]:
    """Return where the blobs stand that a body under a data key refers to; known addresses stay."""
    return tuple(
        blob if isinstance(blob, KeyedBlob) else address_of(data_key, blob) for blob in blobs
    )


def stored_size(name: str, size: int) -> int:
    """Return how many bytes are stored of a document of so many, under the keys of a name."""
    pieces = max(1, -(-size // PIECE_SIZE))
    head = SHORTEST_HEAD + len(name) + SALT_SIZE
    return head + size + pieces * TAG_SIZE + DIGEST_SIZE


class StoredDigest:
    """Whether stored bytes end with the SHA-256 of those before: what shows without a key."""

    def __init__(self) -> None:
        """Begin with no bytes."""
        self._before = sha256()
        self._end = b""

    def update(self, stored: bytes) -> None:
        """Take the next bytes."""
        held = memoryview(self._end + stored)
        split = max(0, len(held) - DIGEST_SIZE)
        self._before.update(held[:split])
        self._end = bytes(held[split:])

    def is_right(self) -> bool:
        """Whether it is, when all bytes were taken."""
        return self._end == self._before.digest()


def damaged() -> CorruptRecord:
    """Return the error for stored bytes that are not those of an encrypted blob."""
    return CorruptRecord(
        "the encrypted bytes of a document were changed or cut, or are under another key: restore "
        "them from a backup"
    )
