"""A provider that answers with bytes of the test's own, and tells what became of the connection."""

from __future__ import annotations

import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread

from tests.patience import PATIENCE, join

END = b"\r\n\r\n"


class RawProvider:
    """Answers each connection with the next bytes, and keeps it open until the peer goes.

    After the first part of an answer it waits for `go_on`; where it is to `reset`, it then breaks
    the connection in place of a second part.
    """

    def __init__(self, answers: Sequence[tuple[bytes, ...]], *, resets: bool = False) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.requests: list[bytes] = []
        self.left = Event()
        self.go_on = Event()
        self._answers = list(answers)
        self._resets = resets
        self._lock = Lock()
        self._threads: list[Thread] = []
        self._open: list[socket.socket] = []

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                thread = Thread(target=self._answer, args=(connection,), name="provider")
                with self._lock:
                    self._threads.append(thread)
                    self._open.append(connection)
                thread.start()

    def close(self) -> None:
        self.go_on.set()
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.close_open()
        with self._lock:
            threads = list(self._threads)
        join(*threads)

    def close_open(self) -> None:
        """End all connections amid whatever they say."""
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while request := _received(connection):
                with self._lock:
                    self.requests.append(request)
                    first, *more = self._answers.pop(0)
                connection.sendall(first)
                for part in more:
                    assert self.go_on.wait(PATIENCE)
                    connection.sendall(part)
                if self._resets:
                    assert self.go_on.wait(PATIENCE)
                    reset(connection)
                    return
        self.left.set()


def reset(connection: socket.socket) -> None:
    """End a connection by a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    connection.close()


@contextmanager
def raw_provider(*answers: tuple[bytes, ...], resets: bool = False) -> Generator[RawProvider]:
    provider = RawProvider(answers, resets=resets)
    thread = Thread(target=provider.serve, name="accepting")
    thread.start()
    try:
        yield provider
    finally:
        provider.close()
        join(thread)


def replied(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """An answer that is there as a whole."""
    length = b"content-length: %d" % len(body)
    return b"\r\n".join([b"HTTP/1.1 " + status, length, *headers, b"", body])


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked" + END


def exchanged(origin: str, request: bytes) -> bytes:
    """Send bytes to a server, and return all that it answers until it closes."""
    host, _, port = origin.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), PATIENCE) as connection:
        connection.sendall(request)
        answer = b""
        with suppress(ConnectionError):
            while piece := connection.recv(65536):
                answer += piece
    return answer


def _received(connection: socket.socket) -> bytes:
    """Return the next request on a connection; nothing where the peer has gone."""
    data = b""
    while END not in data:
        if not (piece := connection.recv(65536)):
            return b""
        data += piece
    head, _, body = data.partition(END)
    lines = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
    fields = {name.strip(): value.strip() for name, _, value in lines}
    if b"chunked" in fields.get(b"transfer-encoding", b""):
        while not body.endswith(b"0" + END):
            body += connection.recv(65536)
    while len(body) < int(fields.get(b"content-length", b"0")):
        body += connection.recv(65536)
    return head + END + body
