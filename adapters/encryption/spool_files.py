"""Files of the spool of an encrypted log: their bytes are under the keys of the conversation.

The first line says which keys. Behind it come pieces, each encrypted with the line, its number and whether it is
the last as additional data, behind its length in 4 bytes. So none is cut off, left out or put elsewhere.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from onrecord.adapters.storage.append import pieces
from onrecord.domain import jsontext
from onrecord.domain.encryption.wrapped import DestroyedKey
from onrecord.domain.errors import ConversationForgotten, CorruptRecord, OnrecordError
from onrecord.domain.log import Append

if TYPE_CHECKING:
    from onrecord.adapters.encryption.aes import BodyCipher
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog

_FORMAT: Final = 2
_SIZE: Final = 4


class EncryptedFiles:
    """How the spool of an encrypted log writes its files, and reads them."""

    def __init__(self, log: EncryptedLog) -> None:
        """Use the keys of a log."""
        self._log = log

    def written(self, append: Append, content: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the bytes of a file that holds what an append waits with; OSError without its keys."""
        try:
            cipher = self._log.ciphers().to_append(append)
        except OnrecordError as exc:
            raise OSError(0, "its keys are not at hand") from exc
        first = jsontext.write(
            {
                "format": _FORMAT,
                "conversation": str(append.conversation_id),
                "event": str(append.events[0].event_id),
                "key": cipher.name,
            }
        )
        yield first + b"\n"
        yield from _encrypted(cipher, first, content)

    @contextmanager
    def opened(self, path: Path) -> Generator[BinaryIO]:
        """Have what a file holds, in memory; ConversationForgotten where its key was destroyed.

        A ValueError, KeyError or CorruptRecord for what is no such file.
        """
        with path.open("rb") as file:
            first = file.readline().rstrip(b"\n")
            cipher = self._log.ciphers().of(str(jsontext.read_object(first)["key"]))
            if isinstance(cipher, DestroyedKey):
                raise ConversationForgotten
            yield io.BytesIO(b"".join(_decrypted(cipher, first, file)))


def _encrypted(cipher: BodyCipher, first: bytes, content: Iterable[bytes]) -> Iterator[bytes]:
    waiting, number = b"", 0
    for number, piece in enumerate(pieces(content)):
        if number:
            yield _framed(cipher.encrypted(_associated(first, number - 1), waiting))
        waiting = piece
    yield _framed(cipher.encrypted(_associated(first, number, is_last=True), waiting))


def _decrypted(cipher: BodyCipher, first: bytes, file: BinaryIO) -> Iterator[bytes]:
    number, piece = 0, _piece(file)
    while following := file.read(_SIZE):
        yield cipher.decrypted(_associated(first, number), piece)
        number, piece = number + 1, file.read(int.from_bytes(following))
    yield cipher.decrypted(_associated(first, number, is_last=True), piece)


def _piece(file: BinaryIO) -> bytes:
    size = file.read(_SIZE)
    if len(size) < _SIZE:
        raise CorruptRecord("a file of the spool was cut")
    return file.read(int.from_bytes(size))


def _framed(sealed: bytes) -> bytes:
    return len(sealed).to_bytes(_SIZE) + sealed


def _associated(first: bytes, number: int, *, is_last: bool = False) -> bytes:
    return b"%s %d %d" % (first, number, is_last)
