"""Blobs, encrypted and decrypted piece by piece: two pieces of 1 MiB at a time are in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from onrecord.adapters.encryption.aes import aes_gcm
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import (
    DIGEST_SIZE,
    PIECE_SIZE,
    SALT_SIZE,
    SEALED_SIZE,
    SHORTEST_HEAD,
    BlobHead,
    address_of,
    associated_data,
    damaged,
    nonce_of,
    parse_head,
    rest_of_head,
)

if TYPE_CHECKING:
    from onrecord.domain.encryption.keys import DataKey


class EncryptedBlob:
    """The bytes of a blob as they are stored, to be read once; then it says what it was.

    The document is read as they are: never more than two pieces of it are in memory.
    """

    def __init__(self, data_key: DataKey, chunks: Iterable[bytes]) -> None:
        """Encrypt bytes, however they are cut, under the data key of whom they are about."""
        self._data_key = data_key
        self._chunks = chunks
        self._blob: Blob | None = None

    @property
    def blob(self) -> Blob:
        """The reference for a body; to be asked for when all bytes were read."""
        if self._blob is None:
            raise RuntimeError("the bytes of a blob were not read to their end")
        return self._blob

    def address(self) -> KeyedBlob:
        """Return where the blob stands; to be asked for when all bytes were read."""
        return address_of(self._data_key, self.blob)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes to store."""
        stored = sha256()
        for part in self._sealed():
            stored.update(part)
            yield part
        yield stored.digest()

    def _sealed(self) -> Iterator[bytes]:
        head = BlobHead(self._data_key.name, os.urandom(SALT_SIZE))
        aes, document = aes_gcm(head.key(self._data_key)), _Document(self._chunks)
        yield head.stored()
        number = 0
        for piece in document.pieces_before_last():
            yield aes.encrypt(nonce_of(number, is_last=False), piece, associated_data(head))
            number += 1
        self._blob = document.blob()
        last = associated_data(head, self.address())
        yield aes.encrypt(nonce_of(number, is_last=True), document.last, last)


class StoredBlob:
    """The stored bytes of an encrypted blob, of which the head was read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        """Read the head; CorruptRecord where there is none."""
        self._bytes = _Buffer(chunks)
        beginning = self._bytes.take(SHORTEST_HEAD)
        self.head: Final = parse_head(beginning + self._bytes.take(rest_of_head(beginning)))

    def decrypted(self, data_key: DataKey, address: KeyedBlob) -> Iterator[bytes]:
        """Yield the bytes of the blob, each piece once its tag was found right.

        CorruptRecord where a piece was changed or is another's, and at the end where one is missing, or
        where the bytes are not those of the address.
        """
        plain, size = sha256(), 0
        for piece in self._opened(data_key, address):
            plain.update(piece)
            size += len(piece)
            yield piece
        if address_of(data_key, Blob(sha256=plain.hexdigest(), size=size)) != address:
            raise damaged()

    def _opened(self, data_key: DataKey, address: KeyedBlob) -> Iterator[bytes]:
        from cryptography.exceptions import InvalidTag

        aes, number = aes_gcm(self.head.key(data_key)), 0
        try:
            while self._bytes.holds_more_than(SEALED_SIZE + DIGEST_SIZE):
                sealed = self._bytes.take(SEALED_SIZE)
                nonce = nonce_of(number, is_last=False)
                yield aes.decrypt(nonce, sealed, associated_data(self.head))
                number += 1
            sealed = self._bytes.take(SEALED_SIZE + DIGEST_SIZE)[:-DIGEST_SIZE]
            nonce, last = nonce_of(number, is_last=True), associated_data(self.head, address)
            if piece := aes.decrypt(nonce, sealed, last):
                yield piece
        except InvalidTag:
            raise damaged() from None


class _Document:
    """The bytes of a document, cut into pieces, of which the last one is known as such."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._bytes = _Buffer(chunks)
        self._digest = sha256()
        self._size = 0
        self.last = b""

    def pieces_before_last(self) -> Iterator[bytes]:
        while self._bytes.holds_more_than(PIECE_SIZE):
            yield self._next()
        self.last = self._next()

    def blob(self) -> Blob:
        return Blob(sha256=self._digest.hexdigest(), size=self._size)

    def _next(self) -> bytes:
        piece = self._bytes.take(PIECE_SIZE)
        self._digest.update(piece)
        self._size += len(piece)
        return piece


class _Buffer:
    """Bytes that come in chunks, taken in other ones."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = bytearray()

    def holds_more_than(self, size: int) -> bool:
        """Whether more bytes than so many are still to be taken."""
        while len(self._held) <= size:
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            self._held += chunk
        return True

    def take(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end."""
        self.holds_more_than(size - 1)
        taken = bytes(memoryview(self._held)[:size])
        del self._held[:size]
        return taken
