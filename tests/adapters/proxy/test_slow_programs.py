"""A program that does not read holds its provider back: nothing of an answer piles up in the proxy."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest

from onrecord import Store
from tests.adapters.proxy.proxied import KEY, PROVIDER_KEY, Proxied, at, proxied
from tests.adapters.proxy.raw_provider import END, STREAM, chunk
from tests.patience import PATIENCE, join

SMALL = 64 * 1024
"""What the two ends ask the system to hold; the proxy's own sockets are as it makes them."""

PIECES = 768
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ""}}
MOST = PIECES * 128 * 1024 // 2
"""What may be on the way: mostly what the system holds of two connections."""


def event(text: str) -> bytes:
    told = DELTA | {"delta": {"type": "text_delta", "text": text}}
    return f"event: content_block_delta\ndata: {json.dumps(told)}\n\n".encode()


class Flood:
    """A provider that says as much as the peer takes; `is_held` once that took nothing for a second."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.piece = chunk(event("x" * 128 * 1024))
        self.sent = 0
        self.is_held = Event()
        self.is_over = Event()

    def serve(self) -> None:
        connection, _ = self.listening.accept()
        with connection, suppress(OSError):
            data = b""
            while END not in data:
                data += connection.recv(65536)
            connection.settimeout(1.0)
            self._send(connection, STREAM)
            for _ in range(PIECES):
                self._send(connection, self.piece)
            self._send(connection, chunk(b""))
        self.is_held.set()
        self.is_over.set()

    def _send(self, connection: socket.socket, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                count = connection.send(rest)
            except TimeoutError:
                self.is_held.set()
                continue
            self.sent += count
            rest = rest[count:]


@contextmanager
def flooding() -> Generator[Flood]:
    provider = Flood()
    thread = Thread(target=provider.serve, name="flood")
    thread.start()
    try:
        yield provider
    finally:
        provider.listening.close()
        join(thread)


@contextmanager
def asking(proxy: Proxied, path: str) -> Generator[socket.socket]:
    """A program that asked, and reads nothing by itself."""
    host, _, port = proxy.origin.removeprefix("http://").partition(":")
    said = [{"role": "user", "content": "Hello"}]
    body = json.dumps({"model": "m", "max_tokens": 9, "stream": True, "messages": said}).encode()
    head = (
        f"POST /proxy/{KEY}/anthropic{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"x-api-key: {PROVIDER_KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        connection.settimeout(PATIENCE)
        connection.connect((host, int(port)))
        connection.sendall(head.encode() + body)
        yield connection


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/dreams"])
def test_a_program_that_does_not_read_holds_its_provider_back(store: Store, path: str) -> None:
    with (
        flooding() as provider,
        proxied(store, at(provider.url)) as proxy,
        asking(proxy, path) as program,
    ):
        assert provider.is_held.wait(PATIENCE)
        assert not provider.is_over.is_set()
        assert 0 < provider.sent < MOST
        read = 0
        while piece := program.recv(1 << 20):
            read += len(piece)
        assert provider.is_over.wait(PATIENCE)
    assert read > PIECES * 128 * 1024
