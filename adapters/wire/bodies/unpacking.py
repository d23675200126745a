"""Compressed bodies of responses, unpacked as they come: RFC 9110, section 8.4.1.

The recorder reads a copy of the bytes that the client will unpack itself. gzip and deflate are
in the standard library; br and zstd need the library that lets the HTTP client ask for them.
"""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol

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
