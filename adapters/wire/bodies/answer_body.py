"""The body of an answer as it comes, and what it unpacks to: held while short, then in a file."""

from __future__ import annotations

import importlib
import sys
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol

from onrecord.adapters.wire.blob_bytes import BlobBytes, UnnamedFile, beginning, filed, read_file
from onrecord.adapters.wire.bodies.credentials import Credentials

# Compressed bodies of responses, unpacked as they come: RFC 9110, section 8.4.1.
#
# The recorder reads a copy of the bytes that the client will unpack itself. gzip and deflate are
# in the standard library; br and zstd need the library that lets the HTTP client ask for them.

_AT_ONCE: Final = 256 * 1024
"""How many bytes are unpacked at once: a few that came may unpack to a thousand times as many."""

_GIVEN_AT_ONCE: Final = 64
"""How many bytes are given at once to what cannot be told how much to unpack."""


class _Member(Protocol):
    """What unpacks one member (gzip) or frame (zstd) of a stream."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class _Coding(NamedTuple):
    """How to unpack the next bytes, in pieces, and what that raises where the bytes lie."""

    unpack: Callable[[bytes], Iterator[bytes]]
    error: type[Exception]


class Unpacking:
    """Unpacks the body of one response, chunk by chunk; nothing that arrives makes it raise.

    `failure` says why bytes could not be unpacked, None as long as all could; from then on there
    is nothing more to read, and the body as it came is what is known.
    """

    __slots__ = ("_codings", "failure")

    def __init__(self, content_encoding: str | None) -> None:
        """Begin a body that was packed as the header says; None or empty: not at all."""
        self.failure: str | None = None
        self._codings: Sequence[_Coding] = ()
        names = [name.strip().lower() for name in (content_encoding or "").split(",")]
        try:
            self._codings = [_CODINGS[name]() for name in reversed(names) if name not in _NONE]
        except KeyError as exc:
            self.failure = f"content encoding {exc.args[0]!r} is unknown"
        except ImportError as exc:
            self.failure = f"content encoding needs the library {exc.name}, which is missing"

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what the next bytes unpack to, in pieces that can be held; none once it failed."""
        if self.failure is not None:
            return
        pieces: Iterator[bytes] = iter((chunk,))
        for coding in self._codings:
            pieces = self._unpacked(coding, pieces)
        yield from pieces

    def _unpacked(self, coding: _Coding, packed: Iterator[bytes]) -> Iterator[bytes]:
        try:
            for piece in packed:
                yield from coding.unpack(piece)
        except coding.error as exc:
            self.failure = f"content encoding does not hold: {exc}"


class _Members:
    """Unpacks members that follow one another."""

    def __init__(self, begin: Callable[[], _Member]) -> None:
        self._begin = begin
        self._member = begin()

    def __call__(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._member.eof:
                self._member = self._begin()
            yield from _unpacked(self._member, data)
            data = self._member.unused_data if self._member.eof else b""


class _Deflate:
    """Unpacks deflate, with the zlib header that the standard asks for, or without as some do."""

    def __init__(self) -> None:
        self._head = b""
        self._decompressor: _Member | None = None

    def __call__(self, data: bytes) -> Iterator[bytes]:
        if self._decompressor is None:
            self._head = data = self._head + data
            if len(data) < len(b"\x78\x9c"):
                return
            self._decompressor = zlib.decompressobj(_window(data))
        yield from _unpacked(self._decompressor, data)


class _Pieces:
    """Unpacks with what cannot be told how much to unpack at once: it is given little at once."""

    def __init__(self, unpack: Callable[[bytes], bytes]) -> None:
        self._unpack = unpack

    def __call__(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), _GIVEN_AT_ONCE):
            yield self._unpack(data[at : at + _GIVEN_AT_ONCE])


def _unpacked(member: Any, data: bytes) -> Iterator[bytes]:
    """Yield what bytes unpack to; zlib gives back what it did not look at, others keep it."""
    while True:
        piece: bytes = member.decompress(data, _AT_ONCE)
        if piece:
            yield piece
        data = getattr(member, "unconsumed_tail", b"")
        is_all = not data if hasattr(member, "unconsumed_tail") else member.needs_input
        if member.eof or (is_all and len(piece) < _AT_ONCE):
            return


def _window(data: bytes) -> int:
    """Return how zlib is to read this: its own header (RFC 1950, section 2.2), or none."""
    has_header = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS


def _gzip() -> _Coding:
    begin = partial(zlib.decompressobj, zlib.MAX_WBITS | 16)
    return _Coding(_Members(begin), zlib.error)


def _zstd() -> _Coding:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    library: Any = importlib.import_module(name)
    return _Coding(_Members(library.ZstdDecompressor), library.ZstdError)


def _brotli() -> _Coding:
    library: Any = _first_of("brotli", "brotlicffi")
    decompressor = library.Decompressor()
    unpack = getattr(decompressor, "process", None) or decompressor.decompress
    return _Coding(_Pieces(unpack), library.error)


def _first_of(*names: str) -> ModuleType:
    *others, last = names
    for name in others:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return importlib.import_module(last)


_NONE: Final = frozenset({"", "identity"})
_CODINGS: Final[Mapping[str, Callable[[], _Coding]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": lambda: _Coding(_Deflate(), zlib.error),
    "zstd": _zstd,
    "br": _brotli,
}


# What came of an answer, and how much of it is held.

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

    def __init__(self, folder: Path, limits: Limits) -> None:
        """Keep nothing yet; files are made in a folder."""
        self._folder = folder
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
                self._file = self._file or UnnamedFile(self._folder)
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

    def __init__(self, folder: Path, limits: Limits, content_encoding: str | None = None) -> None:
        """Begin a body that was packed as its header says; files are made in a folder."""
        self.raw = RawBytes(folder, limits)
        self.size = 0
        self.is_oversized = False
        self._folder = folder
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
        clean = filed(_packed(pieces) if self._is_repacked else pieces, self._folder)
        if self.failure is None or self._holds_secrets(secret, streamed=streamed):
            return clean
        self._is_repacked = False
        # Said to be packed, but not as it says: it may be plain, and hold secrets as they are.
        return filed(secret.out_of_pieces(self.raw.pieces(), streamed=streamed), self._folder)

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
