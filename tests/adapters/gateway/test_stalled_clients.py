"""Clients that take nothing of their answers: they are cut, and hold nothing of the server's for good."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.server import ServerState

from onrecord.adapters.gateway import bounded_http
from onrecord.adapters.gateway.bounded_http import WRITE_SECONDS, BoundedHttp
from tests.adapters.service.served import Served, served
from tests.patience import PATIENCE, until

LARGE = "x" * (1 << 20)


def reader(service: Served, path: str) -> socket.socket:
    """A client that asks, and has little room for what comes."""
    at = urlsplit(service.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(PATIENCE)
    connection.connect((at.hostname, at.port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    return connection


def test_a_tail_whose_client_reads_nothing_gives_its_place_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded_http, "WRITE_SECONDS", 0.1)
    with served() as service:
        for _ in range(20):
            said = service.ask("POST", "/v1/conversations/a/prompts", {"text": LARGE})
            assert said.status == 201
        tails = service.service.tails.open_tails
        with reader(service, "/v1/tail?after=start") as connection:
            assert connection.recv(12) == b"HTTP/1.1 200"
            until(lambda: not tails.total, "the end of the tail")
            # What was on its way comes, and then the connection ends, however little that was.
            size = 0
            while piece := connection.recv(1 << 16):
                size += len(piece)
            assert size < 20 * len(LARGE)


class Clock:
    """Holds what is to be called later, for a test to call it."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, Callable[..., object], tuple[Any, ...]]] = []

    def call_later(self, seconds: float, call: Callable[..., object], *given: Any) -> Any:
        self.calls.append((seconds, call, given))
        return asyncio.Handle(call, given, asyncio.get_running_loop())

    def pass_on(self) -> None:
        _, call, given = self.calls.pop()
        call(*given)


class Wire:
    """A transport whose client takes what a test says."""

    def __init__(self) -> None:
        self.size = 0
        self.is_cut = False

    def get_write_buffer_size(self) -> int:
        return self.size

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        self.is_cut = True


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers nothing."""
    del scope, receive, send


async def stalled(size: int) -> tuple[BoundedHttp, Clock, Wire]:
    """A connection whose client does not take so many bytes."""
    config = uvicorn.Config(nothing, http=BoundedHttp, log_config=None)
    clock, wire = Clock(), Wire()
    connection: Any = BoundedHttp(config=config, server_state=ServerState(), app_state={})
    transport: Any = wire
    connection.loop, connection.transport = clock, transport
    connection.flow = FlowControl(transport)
    wire.size = size
    connection.pause_writing()
    return connection, clock, wire


def test_who_takes_nothing_is_cut_and_who_takes_a_little_is_waited_for() -> None:
    async def wait() -> None:
        _, clock, wire = await stalled(100)
        for left in (99, 50, 1):
            assert clock.calls[-1][0] == WRITE_SECONDS
            wire.size = left
            clock.pass_on()
            assert not wire.is_cut
        clock.pass_on()
        assert wire.is_cut

    asyncio.run(wait())


def test_who_took_all_is_looked_at_no_more_until_he_stalls_again() -> None:
    async def wait() -> None:
        connection, clock, wire = await stalled(100)
        wire.size = 0
        connection.resume_writing()
        clock.pass_on()
        assert (clock.calls, wire.is_cut) == ([], False)
        wire.size = 100
        connection.pause_writing()
        # It took all, and as much waits again.
        connection.resume_writing()
        connection.pause_writing()
        clock.pass_on()
        assert not wire.is_cut
        clock.pass_on()
        assert wire.is_cut

    asyncio.run(wait())
