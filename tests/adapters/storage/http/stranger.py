"""Whoever answers in the place of a service."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tests.patience import join

BODY = b'{"number": 1}'
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n" + BODY


class Stranger:
    """Gives one answer after the other, each on a connection of its own; `heads` is what was asked."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._tls = tls
        self.answers: Sequence[bytes | Iterator[bytes]] = ()
        self.heads = list[bytes]()
        self.port = int(self._listener.getsockname()[1])
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        join(self._thread)

    def _answer(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client, suppress(OSError):
                self._serve(client)

    def _serve(self, client: socket.socket) -> None:
        if self._tls is not None:
            with self._tls.wrap_socket(client, server_side=True) as wrapped:
                self._serve_plain(wrapped)
        else:
            self._serve_plain(client)

    def _serve_plain(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1 << 16) or b"\r\n\r\n"
        self.heads.append(head)
        answer, *self.answers = self.answers or (WHOLE,)
        for piece in (answer,) if isinstance(answer, bytes) else answer:
            client.sendall(piece)
