"""A proxy of TCP that cuts the connection of one request, where a test says.

"amid work" cuts when the whole request has passed: whether it is carried out, and when, nobody knows.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Literal, get_args
from urllib.parse import urlsplit

from tests.patience import join

Cut = Literal["before", "amid request", "amid body", "amid work", "before answer", "amid answer"]
CUTS: tuple[Cut, ...] = get_args(Cut)

_LENGTH = re.compile(rb"content-length: *([0-9]+)", re.IGNORECASE)


class CuttingProxy:
    """Passes on all bytes; `arm` lets the next request lose its connection.

    `at_cut` is called at that moment, before either end sees anything of it.
    """

    def __init__(self, upstream: str, at_cut: Callable[[], None] = lambda: None) -> None:
        self._at_cut = at_cut
        parts = urlsplit(upstream)
        self._upstream = parts.hostname or "", parts.port or 0
        self._path = parts.path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._armed: list[Cut] = []
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}{self._path}"

    def arm(self, *cuts: Cut) -> None:
        """Cut the next requests so, one after the other."""
        with self._lock:
            self._armed = list(cuts)

    def stop(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(self._upstream) as server:
            cuts = list[Cut]()
            answers = threading.Thread(target=self._answers, args=(server, client, cuts))
            answers.start()
            with suppress(OSError):
                self._requests(client, server, cuts)
            _end(client, server)
            join(answers)

    def _requests(self, client: socket.socket, server: socket.socket, cuts: list[Cut]) -> None:
        while data := client.recv(1 << 16):
            match cut := self._taken():
                case "before":
                    self._at_cut()
                    return
                case "amid request":
                    server.sendall(data[: len(data) // 2])
                    self._at_cut()
                    return
                case "amid body" | "amid work":
                    whole = _whole(client, data)
                    head = whole.index(b"\r\n\r\n") + 4
                    half = (head + len(whole)) // 2 if cut == "amid body" else len(whole)
                    server.sendall(whole[:half])
                    self._at_cut()
                    return
                case "before answer" | "amid answer":
                    cuts.append(cut)
                case None:
                    pass
            server.sendall(data)

    def _answers(self, server: socket.socket, client: socket.socket, cuts: list[Cut]) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if cuts:
                    self._at_cut()
                    client.sendall(data[: len(data) // 2 if cuts[0] == "amid answer" else 0])
                    break
                client.sendall(data)
        _end(client, server)

    def _taken(self) -> Cut | None:
        with self._lock:
            if not self._armed:
                return None
            self.cuts += 1
            return self._armed.pop(0)


def _whole(client: socket.socket, data: bytes) -> bytes:
    """A request with its body."""
    while b"\r\n\r\n" not in data:
        data += _more(client)
    length = _LENGTH.search(data)
    end = data.index(b"\r\n\r\n") + 4 + (int(length[1]) if length else 0)
    while len(data) < end:
        data += _more(client)
    return data


def _more(client: socket.socket) -> bytes:
    if data := client.recv(1 << 16):
        return data
    raise ConnectionResetError


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def cutting(upstream: str, at_cut: Callable[[], None] = lambda: None) -> Generator[CuttingProxy]:
    """A proxy before a service."""
    proxy = CuttingProxy(upstream, at_cut)
    try:
        yield proxy
    finally:
        proxy.stop()
