"""Answers that are read within bounds of bytes and of time, whatever a service sends.

The bounds are held at the socket. So head, framing and body count alike, and no line of it is read
before it was counted.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from typing import TYPE_CHECKING, Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ANSWER_SECONDS: Final = 75.0
"""How long an answer may take. Longer than a service works on it: it says itself when it gives up."""

LEAST_RATE: Final = 1 << 16
"""Bytes a second: those that came may have taken so long beside."""


class Allowance:
    """What one answer may take yet: bytes, and seconds that are waited for them."""

    def __init__(self, most: int) -> None:
        """Allow so many bytes."""
        self._most = most
        self._came = 0
        self._waited = 0.0
        self.is_exceeded = False

    def seconds(self) -> float:
        """Return how long may be waited for more; TimeoutError where that is over."""
        left = ANSWER_SECONDS + self._came / LEAST_RATE - self._waited
        if left <= 0:
            raise TimeoutError("the answer comes too slowly")
        return min(left, ANSWER_SECONDS)

    def take(self, size: int, seconds: float) -> None:
        """Count bytes that came; OSError where they are more than may come."""
        self._came += size
        self._waited += seconds
        if self._came > self._most:
            self.is_exceeded = True
            raise OSError("the answer is too large")


_ALLOWANCE: Final[ContextVar[Allowance]] = ContextVar("allowance")
"""Of the request that is sent: urllib3 hands nothing on to the answer that it makes."""


@contextmanager
def allowing(most: int) -> Generator[Allowance]:
    """Let the answers to the requests that are sent amid this take so many bytes."""
    allowance = Allowance(most)
    token = _ALLOWANCE.set(allowance)
    try:
        yield allowance
    finally:
        _ALLOWANCE.reset(token)


def bounded_pool(connections: int) -> urllib3.PoolManager:
    """Return a pool of connections to one service; each request needs an allowance."""
    pool = urllib3.PoolManager(num_pools=1, maxsize=connections, retries=False)
    classes: Any = {"http": _Pool, "https": _SecurePool}
    pool.pool_classes_by_scheme = classes
    return pool


class _Counted(RawIOBase):
    """The bytes that come from a socket, as far as an allowance goes."""

    def __init__(self, file: Any, connection: socket, allowance: Allowance) -> None:
        super().__init__()
        self._file = file
        self._connection = connection
        self._allowance = allowance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._connection.settimeout(self._allowance.seconds())
        began = time.monotonic()
        size: int = self._file.readinto(buffer)
        self._allowance.take(size, time.monotonic() - began)
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        file: Any = self.fp
        self.fp = BufferedReader(_Counted(file.detach(), sock, _ALLOWANCE.get()))


class _Connection(HTTPConnection):
    response_class = _Response


class _SecureConnection(HTTPSConnection):
    response_class = _Response


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls: Any = _Connection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls: Any = _SecureConnection
