"""The HTTP under the demo server: pacing, compression, and connections that break on purpose."""

import contextlib
import gzip
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from threading import Event, Lock
from typing import TypeAlias
from urllib.parse import urlsplit

from pydantic import JsonValue

from onrecord.adapters.demo.services.scenes import Cut, Fault, Gzip, JsonObject, Stall, encoded

# A prime, so that the pieces of a body drift across the borders of its events.
_CHUNK = 61
_POLL = 0.02


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it reached the server; header names are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer; `chunked` sends it as a stream of unknown length."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    chunked: bool = False
    faults: tuple[Fault, ...] = ()


Answering: TypeAlias = Callable[[Received], Reply | None]


class Listener(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1; asks `answering` for each request, None hangs up.

    `closing` ends every stall. Closing the listener breaks open connections and waits for their
    threads.
    """

    daemon_threads = False

    def __init__(self, answering: Answering, closing: Event) -> None:
        """Bind the port; `serve_forever` starts to answer."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answering = answering
        self.closing = closing
        self._open: set[socket.socket] = set()
        self._lock = Lock()

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection and remember it for the close."""
        connection, address = super().get_request()
        with self._lock:
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """End a connection and forget it."""
        with self._lock:
            self._open = {connection for connection in self._open if connection is not request}
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Wake the threads that wait for another request, then join them."""
        with self._lock:
            for connection in self._open:
                break_off(connection)
        super().server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Report what went wrong in a handler, but for clients that went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # stub is narrower


def break_off(connection: socket.socket) -> None:
    """Close both directions at once; a peer that is gone already is fine."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def _listener(self) -> Listener:
        assert isinstance(self.server, Listener)
        return self.server

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        reply = self._listener.answering(Received(self.command, url.path, url.query, headers, body))
        if reply is None:
            self._hang_up()
        else:
            self._send(reply)

    do_GET = do_POST

    def _send(self, reply: Reply) -> None:
        body = reply.body
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if any(isinstance(fault, Gzip) for fault in reply.faults):
            body = gzip.compress(body, mtime=0)
            self.send_header("content-encoding", "gzip")
        if reply.chunked:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self._send_body(body, reply)

    def _send_body(self, body: bytes, reply: Reply) -> None:
        cuts = [fault.after for fault in reply.faults if isinstance(fault, Cut)]
        stalls = [fault for fault in reply.faults if isinstance(fault, Stall)]
        for start, end in _pieces(min([len(body), *cuts]), stalls):
            if not all(self._waited(stall.release) for stall in stalls if stall.after == start):
                self._hang_up()
                return
            self._write(body[start:end], chunked=reply.chunked)
        if cuts:
            self._hang_up()
        elif reply.chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _write(self, piece: bytes, *, chunked: bool) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)

    def _waited(self, release: Event) -> bool:
        while not release.wait(_POLL):
            if self._listener.closing.is_set():
                return False
        return True

    def _hang_up(self) -> None:
        self.close_connection = True
        break_off(self.connection)

    def version_string(self) -> str:
        return "onrecord-demo"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the client shows what matters."""


def _pieces(size: int, stalls: list[Stall]) -> Iterator[tuple[int, int]]:
    """Return where each piece of a body starts and ends; a stall is always a border."""
    borders = {*range(0, size, _CHUNK), *(s.after for s in stalls if s.after < size), size}
    return pairwise(sorted(borders))


# Answers over HTTP as every service gives them: JSON at once, or a stream of unknown length.

SSE = "text/event-stream"


def at_once(
    status: int, body: JsonObject, headers: Mapping[str, str], faults: tuple[Fault, ...] = ()
) -> Reply:
    """Return an answer that comes at once."""
    as_json = {**headers, "content-type": "application/json"}
    return Reply(status, as_json, encoded(body), faults=faults)


def streamed(pieces: Iterable[bytes], content_type: str, headers: Mapping[str, str]) -> Reply:
    """Return an answer that comes piece by piece."""
    return Reply(200, {**headers, "content-type": content_type}, b"".join(pieces), chunked=True)


def tokens(value: JsonValue) -> int:
    """Return a count of tokens made from a size, four bytes a token."""
    return len(encoded(value)) // 4 + 1


def pieces(text: str, size: int = 17) -> Iterator[str]:
    """Yield a text piece by piece, as streams bring it."""
    return (text[start : start + size] for start in range(0, len(text), size))
