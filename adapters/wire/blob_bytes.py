"""The bytes of a blob: held in memory where they are few, in a file where they are many.

The file is in the folder of the spool and has no name (`O_TMPFILE`, or unlinked as it is made): it
may hold secrets that are not cut yet, so nothing of it may outlive the process, however that ends. In
an encrypted store it is encrypted under a key that only the process has.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Blob

PIECE: Final = 256 * 1024
"""How many bytes are read from a file, or unpacked, at once."""


class Scratch(NamedTuple):
    """Where files without a name are made, and whether their bytes are encrypted."""

    folder: Path
    is_encrypted: bool


class UnnamedFile:
    """A new file that goes when nobody holds it any more."""

    def __init__(self, scratch: Scratch) -> None:
        """Make it in a folder; OSError where it cannot be."""
        # Loading them takes longer than most answers need: they stay in memory.
        import tempfile

        from onrecord.adapters.encryption.scratch import scratch_cipher

        folder = scratch.folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file: Any = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed with this
        self._cipher = scratch_cipher() if scratch.is_encrypted else None
        self._at = 0

    def seek(self, at: int) -> object:
        """Go to a place."""
        self._at = at
        return self._file.seek(at)

    def read(self, size: int) -> bytes:
        """Return what stands here, so many bytes at most."""
        return self._turned(bytes(self._file.read(size)))

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def readline(self) -> bytes:
        """Return the bytes from here on up to the end of a line, that included."""
        start, line, end = self._at, b"", b""
        while not end and (piece := self.read(PIECE)):
            before, end, _ = piece.partition(b"\n")
            line += before + end
        self.seek(start + len(line))
        return line

    def write(self, data: bytes) -> None:
        """Write all of some bytes; OSError where only a part could be, or none."""
        left = memoryview(self._turned(data))
        while left:  # A file without a buffer may take a part.
            left = left[self._file.write(left) :]

    def _turned(self, data: bytes) -> bytes:
        """Return the bytes of this place encrypted, or decrypted, and go on behind them."""
        at, self._at = self._at, self._at + len(data)
        return data if self._cipher is None else self._cipher.turned(data, at)

    def __del__(self) -> None:
        """Close it, if it could be made."""
        if hasattr(self, "_file"):
            self._file.close()


class HeldBytes:
    """Bytes that are held in memory up to a number, and stand in a file of their own beyond it."""

    def __init__(self, most: int, *, is_encrypted: bool) -> None:
        """Hold none; a file is made where the system has its temporary ones, and encrypted or not."""
        self._most = most
        self._is_encrypted = is_encrypted
        self._bytes: BytesIO | UnnamedFile = BytesIO()

    def write(self, data: bytes) -> None:
        """Write bytes behind those before; OSError where they cannot be."""
        if isinstance(self._bytes, BytesIO) and self._bytes.tell() + len(data) > self._most:
            import tempfile

            scratch = Scratch(Path(tempfile.gettempdir()), self._is_encrypted)
            held, self._bytes = self._bytes.getvalue(), UnnamedFile(scratch)
            self._bytes.write(held)
        self._bytes.write(data)

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield what was written, so many bytes at once."""
        self._bytes.seek(0)
        while piece := self._bytes.read(size):
            yield piece


class Readable(Protocol):
    """An open file."""

    def seek(self, at: int, /) -> object:
        """Go to a place."""
        ...

    def read(self, size: int, /) -> bytes:
        """Return what stands here, so many bytes at most."""
        ...


class FileBytes:
    """Bytes that stand in an open file, from a place on; safe to read from several threads."""

    def __init__(self, file: Readable, blob: Blob, start: int = 0) -> None:
        """Read from a file as long as it is open."""
        self._file = file
        self._start = start
        self._lock = threading.Lock()
        self.blob = blob

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes; fewer where the file was cut meanwhile."""
        yield from read_file(self._file, self._lock, self._start, self.blob.size)


BlobBytes: TypeAlias = bytes | FileBytes
"""The bytes of a blob: held, or in a file where they are many."""


def pieces_of(content: BlobBytes) -> Iterable[bytes]:
    """Return the bytes of a blob piece by piece."""
    return (content,) if isinstance(content, bytes) else content.pieces()


def beginning(pieces: Iterable[bytes], most: int) -> bytes:
    """Return the first bytes of some pieces."""
    first: list[bytes] = []
    for piece in pieces:
        first.append(piece[:most])
        most -= len(first[-1])
        if not most:
            break
    return b"".join(first)


def reference_to(content: BlobBytes) -> Blob:
    """Return the reference to the bytes of a blob."""
    return blob_of(content) if isinstance(content, bytes) else content.blob


def filed(pieces: Iterable[bytes], scratch: Scratch) -> FileBytes:
    """Return bytes in a file of their own; OSError where that cannot be written."""
    file, digest, size = UnnamedFile(scratch), sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
        file.write(piece)
    return FileBytes(file, Blob(sha256=digest.hexdigest(), size=size))


def read_file(file: Readable, lock: threading.Lock, start: int, size: int) -> Iterator[bytes]:
    """Yield bytes of a file; fewer where it was cut meanwhile."""
    at, end = start, start + size
    while at < end:
        with lock:
            file.seek(at)
            piece = file.read(min(PIECE, end - at))
        if not piece:
            return
        yield piece
        at += len(piece)
