"""The bytes of an answer as they came: few are held in memory, many go to a file.

The file is in the folder of the spool and has no name (`O_TMPFILE`, or unlinked as it is made): it
holds secrets that are not cut yet, so nothing of it may outlive the process, however that ends.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Blob

PIECE: Final = 256 * 1024
"""How many bytes are read from a file, or unpacked, at once."""

_WRITTEN_AT_ONCE: Final = 1024 * 1024


class Limits(NamedTuple):
    """How much of one answer is held, read and kept, in bytes.

    `held` of those that came stay in memory; more go to a file. `read` is how long an answer may
    be, unpacked, to be put together; a longer one is recorded as interrupted. `kept` is how much of
    what came goes to the file at most.
    """

    held: int = 8 * 1024**2
    read: int = 48 * 1024**2
    kept: int = 1024**3


LIMITS: Final = Limits()


class UnnamedFile:
    """A new file that goes when nobody holds it any more."""

    def __init__(self, folder: Path) -> None:
        """Make it in a folder; OSError where it cannot be."""
        # Loading it takes longer than most answers need: they stay in memory.
        import tempfile

        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file: Any = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed with this

    def seek(self, at: int) -> object:
        """Go to a place."""
        return self._file.seek(at)

    def read(self, size: int) -> bytes:
        """Return what stands here, so many bytes at most."""
        return bytes(self._file.read(size))

    def write(self, data: bytes) -> None:
        """Write all of some bytes; OSError where only a part could be, or none."""
        left = memoryview(data)
        while left:  # A file without a buffer may take a part.
            left = left[self._file.write(left) :]

    def __del__(self) -> None:
        """Close it, if it could be made."""
        if hasattr(self, "_file"):
            self._file.close()


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
        yield from _read(self._file, self._lock, self._start, self.blob.size)


Content: TypeAlias = bytes | FileBytes
"""The bytes of a blob: held, or in a file where they are many."""


def pieces_of(content: Content) -> Iterable[bytes]:
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


def reference_to(content: Content) -> Blob:
    """Return the reference to the bytes of a blob."""
    return blob_of(content) if isinstance(content, bytes) else content.blob


def filed(pieces: Iterable[bytes], folder: Path) -> FileBytes:
    """Return bytes in a file of their own; OSError where that cannot be written."""
    file, digest, size = UnnamedFile(folder), sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
        file.write(piece)
    return FileBytes(file, Blob(sha256=digest.hexdigest(), size=size))


class RawBytes:
    """The bytes of one answer as they come.

    `take` is quick and waits for no disk; `write_out` writes what is more than may be held, on a
    thread that may wait. Neither raises: `fault` says why no more is kept, and then what came
    before that is.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        """Keep nothing yet; files are made in a folder."""
        self._folder = folder
        self._limits = limits
        self._lock = threading.Lock()
        self._held: deque[bytes] = deque()
        self._holding = 0
        self._file: UnnamedFile | None = None
        self._filed = 0
        self.chunks = 0
        self.fault: str | None = None

    def take(self, chunk: bytes) -> None:
        """Take the next bytes in."""
        with self._lock:
            self.chunks += 1
            if self.fault is None:
                self._held.append(chunk)
                self._holding += len(chunk)
                if self.size > self._limits.kept:
                    self.fault = f"no more than {self._limits.kept} bytes are kept"

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return self._filed + self._holding

    @property
    def is_held(self) -> bool:
        """Whether all that is kept is in memory."""
        return self._file is None

    @property
    def must_write(self) -> bool:
        """Whether more is held than may be."""
        most = self._limits.held if self._file is None else _WRITTEN_AT_ONCE
        return self._holding > most and self.fault is None

    def write_out(self) -> None:
        """Write what is held, if that is more than may be."""
        with self._lock:
            if not self.must_write:
                return
            try:
                self._file = self._file or UnnamedFile(self._folder)
                while self._held:
                    self._file.write(self._held[0])
                    size = len(self._held.popleft())
                    self._filed, self._holding = self._filed + size, self._holding - size
            except OSError as exc:
                self.fault = f"the folder of the spool takes no more ({exc.strerror})"

    def pieces(self) -> Iterator[bytes]:
        """Yield what is kept, as it came."""
        with self._lock:
            file, size, pieces_held = self._file, self._filed, tuple(self._held)
        if file is not None:
            yield from _read(file, self._lock, 0, size)
        yield from pieces_held


def _read(file: Readable, lock: threading.Lock, start: int, size: int) -> Iterator[bytes]:
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


# Memory that was freed, given back to the system.
#
# glibc keeps what many small allocations left behind, and takes large ones elsewhere: of a long
# answer its pieces stayed, beside its text and the bytes of that (measured: 43 MB of 128).

_NOTHING: Final = 0


def give_back() -> None:
    """Give freed memory back, where the C library can be told to (glibc)."""
    trim = _trim()
    if trim is not None:
        trim(_NOTHING)


@cache
def _trim() -> Callable[[int], object] | None:
    if sys.platform != "linux":
        return None
    import ctypes

    trim: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
