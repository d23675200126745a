"""A line to a server that can be cut after a request went out and before its answer comes back."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit


class LossyLine:
    """Forwards a port of this machine to a server; `lose_the_next_answer` cuts one connection."""

    def __init__(self, url: str) -> None:
        self._target = url
        self._losing = threading.Event()
        self.lost = 0
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

    def lose_the_next_answer(self) -> None:
        """Swallow the server's next answer and hang up."""
        self._losing.set()

    def close(self) -> None:
        self._open = False
        self._thread.join()

    def _accept(self) -> None:
        threads: list[threading.Thread] = []
        while self._open:
            with suppress(TimeoutError):
                client, _ = self._listener.accept()
                server = self._connected()
                for args in ((client, server, False), (server, client, True)):
                    threads.append(threading.Thread(target=self._forward, args=args, daemon=True))
                    threads[-1].start()
        self._listener.close()
        for thread in threads:
            thread.join()

    def _connected(self) -> socket.socket:
        parts = urlsplit(self._target)
        folder = parse_qs(parts.query).get("host")
        if folder is None:
            return socket.create_connection((parts.hostname or "localhost", parts.port or 5432))
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(Path(folder[0]) / ".s.PGSQL.5432"))
        return server

    def _forward(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if answers and self._losing.is_set():
                    self._losing.clear()
                    self.lost += 1
                    break
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        if answers:
            source.close()
            sink.close()
