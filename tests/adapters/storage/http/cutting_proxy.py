"""A proxy of TCP that cuts the connection of one request, where a test says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Literal
from urllib.parse import urlsplit

from tests.patience import join

Cut = Literal["before", "amid request", "before answer", "amid answer"]
CUTS: tuple[Cut, ...] = ("before", "amid request", "before answer", "amid answer")


class CuttingProxy:
    """Passes on all bytes; `arm` lets the next request lose its connection."""

    def __init__(self, upstream: str) -> None:
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
                    return
                case "amid request":
                    server.sendall(data[: len(data) // 2])
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


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def cutting(upstream: str) -> Generator[CuttingProxy]:
    """A proxy before a service."""
    proxy = CuttingProxy(upstream)
    try:
        yield proxy
    finally:
        proxy.stop()
