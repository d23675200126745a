"""The body of an answer as it comes, and what it unpacks to: held while short, then in a file."""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final, NamedTuple

from onrecord.adapters.wire.blob_bytes import (
    BlobBytes,
    Scratch,
    UnnamedFile,
    beginning,
    filed,
    read_file,
)
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.bodies.unpacking import Unpacking

_WRITTEN_AT_ONCE: Final = 1024 * 1024


class Limits(NamedTuple):
    """How much of one answer is held, read and kept, in bytes.

    `in_memory` is how many of those that came stay in memory; more go to a file, `in_file` at most.
    `read` is how long an answer may be, unpacked, to be put together; a longer one is recorded as
    interrupted.
    """

    in_memory: int = 8 * 1024**2
    read: int = 48 * 1024**2
    in_file: int = 1024**3


LIMITS: Final = Limits()


class RawBytes:
    """The bytes of one answer as they come.

    `take` is quick and waits for no disk; `write_out` writes what is more than may be held, on a
    thread that may wait. Neither raises: `fault` says why no more is kept, and then what came
    before that is.
    """

    def __init__(self, scratch: Scratch, limits: Limits) -> None:
        """Keep nothing yet; files are made in `scratch`."""
        self._scratch = scratch
        self._limits = limits
        self._lock = threading.Lock()
        self._chunks: deque[bytes] = deque()
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
                self._chunks.append(chunk)
                self._holding += len(chunk)
                if self.size > self._limits.in_file:
                    self.fault = f"no more than {self._limits.in_file} bytes are kept"

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
        most = self._limits.in_memory if self._file is None else _WRITTEN_AT_ONCE
        return self._holding > most and self.fault is None

    def write_out(self) -> None:
        """Write what is held, if that is more than may be."""
        with self._lock:
            if not self.must_write:
                return
            try:
                self._file = self._file or UnnamedFile(self._scratch)
                while self._chunks:
                    self._file.write(self._chunks[0])
                    size = len(self._chunks.popleft())
                    self._filed, self._holding = self._filed + size, self._holding - size
            except OSError as exc:
                self.fault = f"the folder of the spool takes no more ({exc.strerror})"

    def pieces(self) -> Iterator[bytes]:
        """Yield what is kept, as it came."""
        with self._lock:
            file, size, chunks = self._file, self._filed, tuple(self._chunks)
        if file is not None:
            yield from read_file(file, self._lock, 0, size)
        yield from chunks


class AnswerBody:
    """The body of one answer; nothing that arrives makes it raise.

    It is unpacked as it comes, up to the limit of what is read. It is unpacked once more, from the
    bytes that are kept, where more was read than may be held.
    """

    def __init__(
        self, scratch: Scratch, limits: Limits, content_encoding: str | None = None
    ) -> None:
        """Begin a body that was packed as its header says; files are made in `scratch`."""
        self.raw = RawBytes(scratch, limits)
        self.size = 0
        self.is_oversized = False
        self._scratch = scratch
        self._limits = limits
        self._encoding = content_encoding
        self._unpacking = Unpacking(content_encoding)
        self._read: list[bytes] | None = []
        self._is_repacked = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what the next bytes unpack to; none of it beyond the limit of what is read."""
        self.raw.take(chunk)
        if self.is_oversized:
            return
        for piece in self._unpacking.feed(chunk):
            room = self._limits.read - self.size
            self.size += len(piece)
            self._hold(piece)
            if len(piece) > room:
                self.is_oversized = True
                yield piece[:room]
                return
            yield piece

    @property
    def failure(self) -> str | None:
        """Why bytes could not be unpacked; None as long as all could."""
        return self._unpacking.failure

    @property
    def is_held(self) -> bool:
        """Whether all of it is in memory, as it came and unpacked."""
        return self._read is not None and self.raw.is_held

    @property
    def is_lost(self) -> bool:
        """Whether a part of it is neither held nor kept."""
        return self._read is None and self.raw.fault is not None

    def head(self) -> bytes:
        """Return what was read so far, if it is held."""
        return b"".join(self._read or ())

    def unpacked(self) -> Iterable[bytes]:
        """Return what is kept of the body, unpacked."""
        if self._read is not None:
            return self._read
        self._unpacking = Unpacking(self._encoding)
        return (piece for chunk in self.raw.pieces() for piece in self._unpacking.feed(chunk))

    def clean(self, secret: Credentials, *, streamed: bool) -> BlobBytes:
        """Return the body without secrets; as it came packed if that is all that can be kept.

        One that is too long to be read, and came packed, is packed again once it is clean: few
        bytes may unpack to more than any store should take. OSError where no file can be written.
        """
        if self.is_held or not (streamed or self.is_oversized or self._is_page()):
            return self._short_clean(secret, streamed=streamed)
        pieces = secret.out_of_pieces(self.unpacked(), streamed=streamed)
        self._is_repacked = self.is_oversized and self._is_packed()
        clean = filed(_packed(pieces) if self._is_repacked else pieces, self._scratch)
        if self.failure is None or self._holds_secrets(secret, streamed=streamed):
            return clean
        self._is_repacked = False
        # Said to be packed, but not as it says: it may be plain, and hold secrets as they are.
        return filed(secret.out_of_pieces(self.raw.pieces(), streamed=streamed), self._scratch)

    def why_unread(self) -> str:
        """Return why it was not read as a whole, and how its bytes are kept."""
        why = (
            f"longer than {self._limits.read / 1024**2:g} MiB" if self.is_oversized else "not kept"
        )
        how = "; its bytes are packed with gzip" if self._is_repacked else ""
        return f"{why}{how}" if self.raw.fault is None else f"{why}{how}; {self.raw.fault}"

    def _is_page(self) -> bool:
        """Whether it is no JSON, as the pages of proxies are: those are not read as a whole."""
        return not beginning(self.unpacked(), 64).lstrip().startswith((b"{", b"["))

    def _is_packed(self) -> bool:
        return (self._encoding or "identity").strip().lower() != "identity"

    def _hold(self, piece: bytes) -> None:
        if self._read is not None:
            self._read.append(piece)
        if self.size > self._limits.in_memory:
            self._read = None

    def _short_clean(self, secret: Credentials, *, streamed: bool) -> bytes:
        read = b"".join(self.unpacked())
        clean = secret.out_of_answer(read, streamed=streamed)
        if self.failure is None or clean != read:
            return clean
        return secret.out_of_answer(b"".join(self.raw.pieces()), streamed=streamed)

    def _holds_secrets(self, secret: Credentials, *, streamed: bool) -> bool:
        clean = secret.out_of_pieces(self.unpacked(), streamed=streamed)
        return _digest(clean) != _digest(self.unpacked())


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packing = zlib.compressobj(zlib.Z_BEST_SPEED, wbits=zlib.MAX_WBITS | 16)
    for piece in pieces:
        yield packing.compress(piece)
    yield packing.flush()


def _digest(pieces: Iterable[bytes]) -> bytes:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()
