"""Files of the spool of an encrypted log: encrypted as a blob of their conversation is.

Behind the stored bytes stand the 32 of the address, which the last piece is bound to.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from onrecord.adapters.encryption.encrypted_blobs import EncryptedBlob, StoredBlob
from onrecord.adapters.wire.blob_bytes import Scratch, UnnamedFile
from onrecord.domain.blobs import digest_of
from onrecord.domain.content import KeyedBlob
from onrecord.domain.encryption.blobs import DIGEST_SIZE, PIECE_SIZE
from onrecord.domain.errors import ConversationForgotten, CorruptRecord, OnrecordError, StorageError
from onrecord.domain.log import Append

if TYPE_CHECKING:
    from onrecord.adapters.encryption.aes import BodyCipher
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog


class EncryptedFiles:
    """How the spool of an encrypted log writes its files, and reads them."""

    is_encrypted = True

    def __init__(self, log: EncryptedLog) -> None:
        """Use the keys of a log."""
        self._log = log

    def written(self, append: Append, content: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the bytes of a file that holds what an append waits with; OSError without its keys."""
        try:
            cipher = self._cipher(append)
        except OnrecordError as exc:
            raise OSError(0, "its keys are not at hand") from exc
        blob = EncryptedBlob(cipher.data_key, content)
        yield from blob
        yield digest_of(blob.address())

    @contextmanager
    def opened(self, path: Path) -> Generator[UnnamedFile]:
        """Have what a file holds; ConversationForgotten where its key was destroyed.

        CorruptRecord for what is no such file, and for one that was changed.
        """
        content = UnnamedFile(Scratch(path.parent, self.is_encrypted))
        with path.open("rb") as file:
            for piece in self._decrypted(file):
                content.write(piece)
        content.seek(0)
        yield content

    def _cipher(self, append: Append) -> BodyCipher:
        ciphers = self._log.ciphers()
        try:
            return ciphers.to_append(append, {})
        except StorageError:  # What waits does so because the log cannot be asked.
            return ciphers.of_names(append)

    def _decrypted(self, file: BinaryIO) -> Iterator[bytes]:
        size = file.seek(0, os.SEEK_END) - DIGEST_SIZE
        if size < 0:
            raise CorruptRecord("a file of the spool was cut")
        file.seek(size)
        address = KeyedBlob(hmac=file.read(DIGEST_SIZE).hex(), size=size)
        file.seek(0)
        stored = StoredBlob(_read(file, size))
        cipher = self._log.cipher(stored.head.name)
        if cipher is None:
            raise ConversationForgotten
        yield from stored.decrypted(cipher.data_key, address)


def _read(file: BinaryIO, left: int) -> Iterator[bytes]:
    while left and (piece := file.read(min(PIECE_SIZE, left))):
        yield piece
        left -= len(piece)
