"""A line to a server that can be cut at any byte of what goes out or comes back."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

from tests.patience import join


class Way(Enum):
    """Which way bytes go."""

    OUT = "to the server"
    BACK = "from the server"


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a connection ends: when `after` bytes more have gone that way."""

    way: Way
    after: int


class LossyLine:
    """Forwards a port of this machine to a server; `cut` ends one connection."""

    def __init__(self, url: str) -> None:
        self._target = url
        self._lock = threading.Lock()
        self._cut: Cut | None = None
        self._is_down = False
        self.lost = 0
        self.carried = dict.fromkeys(Way, 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self._open = True
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The same database, by way of this line."""
        port = self._listener.getsockname()[1]
        parts = urlsplit(self._target)
        login = parts.netloc.rpartition("@")[0]
        return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{port}", query=""))

    def cut(self, cut: Cut) -> None:
        """Let the next bytes through up to there, then hang up on both ends; once.

        With `after` 0 the next byte that way is swallowed.
        """
        with self._lock:
            self._cut = cut

    def spare(self) -> None:
        """Let everything through from now on."""
        with self._lock:
            self._cut = None

    def go_down(self) -> None:
        """Hang up on everyone who comes from now on."""
        self._is_down = True

    def come_up(self) -> None:
        """Connect again."""
        self._is_down = False

    def close(self) -> None:
        """Hang up on everyone."""
        self._open = False
        join(self._thread)

    def _accept(self) -> None:
        threads: list[threading.Thread] = []
        ends: list[socket.socket] = []
        while self._open:
            with suppress(TimeoutError):
                client, _ = self._listener.accept()
                if self._is_down:
                    client.close()
                    continue
                server = self._connected()
                ends += (client, server)
                for args in ((client, server, Way.OUT), (server, client, Way.BACK)):
                    threads.append(threading.Thread(target=self._forward, args=args, daemon=True))
                    threads[-1].start()
        self._listener.close()
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            join(thread)

    def _connected(self) -> socket.socket:
        parts = urlsplit(self._target)
        folder = parse_qs(parts.query).get("host")
        if folder is None:
            return socket.create_connection((parts.hostname or "localhost", parts.port or 5432))
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(Path(folder[0]) / ".s.PGSQL.5432"))
        return server

    def _forward(self, source: socket.socket, sink: socket.socket, way: Way) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                passing, is_last = self._passing(data, way)
                if is_last and way is Way.OUT:
                    # Before the server has it, or its answer might still come through.
                    source.shutdown(socket.SHUT_RDWR)
                sink.sendall(passing)
                if is_last:
                    break
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        if way is Way.BACK:
            source.close()
            sink.close()

    def _passing(self, data: bytes, way: Way) -> tuple[bytes, bool]:
        """Return what of the data still goes through, and whether the connection ends then."""
        with self._lock:
            cut = self._cut
            if cut is None or cut.way is not way:
                self.carried[way] += len(data)
                return data, False
            passing = data[: cut.after]
            self.carried[way] += len(passing)
            left = cut.after - len(data)
            self._cut = Cut(way, left) if left > 0 else None
            self.lost += left <= 0
            return passing, left <= 0
