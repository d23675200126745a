"""What a runtime pays that asks over HTTP: one server process, beside the same verbs in process.

The clients of the appends are a process of its own on the same machine: raw sockets of one event
loop, requests made beforehand, of answers only the status and the length are read. It takes its
share of the same processors, as does the database.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from statistics import median
from time import perf_counter
from typing import Any, Final, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

import onrecord
from onrecord.adapters.app import connect_tenants
from onrecord.adapters.gateway.gateway import serve_store
from onrecord.adapters.gateway.server import Address
from tests.awaited import awaited
from tests.bench.children import start
from tests.bench.measure import Aim, Contender, Figures, Measure, take_turns
from tests.bench.pairings import GUARANTEES, Pairing
from tests.bench.payload import API, WINDOW, text
from tests.bench.request import LAST, READS
from tests.bench.workspace import Workspace

_ROUNDS: Final = 3
_CLIENTS: Final = 64
_FACTS: Final = 500
"""How many facts a batch has: each conversation has ten."""

_EACH: Final = 10
_REQUEST: Final = f"requests/{API}?exchanges={WINDOW - 1}&step=1"


def measures(workspace: Workspace, sqlite: Pairing, postgres: Pairing) -> Iterator[Measure]:
    """Yield requests of both databases, then appends and batches on PostgreSQL."""
    yield from _requests(sqlite)
    yield from _requests(postgres)
    yield from _appends(workspace)
    yield from _batches(workspace)


# Requests.


def _requests(pairing: Pairing) -> Iterator[Measure]:
    size = pairing.workspace.scale.sizes[-1]
    chat = pairing.chats(size, "recorded")[0]
    pairing.workspace.say(f"requests over HTTP, {pairing.database}")
    with ExitStack() as stack:
        place = urlsplit(_served(stack, pairing.url_of(size, "recorded")))
        connection = HTTPConnection(place.hostname or "", place.port)
        stack.callback(connection.close)
        path = f"/v1/conversations/{chat.key.replace('/', '%2F')}/{_REQUEST}"
        sides = [
            Contender(
                f"GET {_REQUEST} of {size:,} messages, one connection",
                READS,
                lambda _: lambda: _got(connection, path),
            ),
            Contender(
                "Conversation.request of the same window",
                READS,
                lambda _: lambda: chat.request(API, window=LAST),
            ),
        ]
        ours, embedded = take_turns(sides, pairing.workspace.scale.pace)
    name = f"serving.{pairing.database}.request"
    yield Measure(name, "ms", ours, embedded)
    yield Measure(f"{name}.over", "ms", _over(ours, embedded), aim=Aim(1.5))


def _got(connection: HTTPConnection, path: str) -> Any:
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.status == 200
    return json.loads(answer.read())


def _over(ours: Figures, other: Figures) -> Figures:
    rounds = zip(ours.rounds, other.rounds, strict=True)
    return Figures("over HTTP less in process", READS, [[median(a) - median(b)] for a, b in rounds])


# Appends and batches.


class Load(Protocol):
    """What one process does."""

    async def rate(self, seconds: float) -> float:
        """Return how many facts a second are recorded, over so many seconds."""
        ...


def _appends(workspace: Workspace) -> Iterator[Measure]:
    http, embedded = _in_turn(workspace, _prompts_over_http, _prompts_embedded)
    ours = Figures(
        f"one server process, {_CLIENTS} connections, POST prompts of 1 KB",
        GUARANTEES["postgres"],
        http,
    )
    peer = Figures(
        f"one process, {_CLIENTS} coroutines, AsyncConversation.user of 1 KB",
        GUARANTEES["postgres"],
        embedded,
    )
    yield Measure("serving.postgres.append.beside", "appends/s", ours, peer)
    yield Measure("serving.postgres.append", "appends/s", ours, aim=Aim(3_000, "at least"))


def _batches(workspace: Workspace) -> Iterator[Measure]:
    (http,) = _in_turn(workspace, _batches_over_http)
    what = f"one server process, 2 connections, POST append of {_FACTS} prompts of 1 KB"
    ours = Figures(what, GUARANTEES["postgres"], http)
    yield Measure("serving.postgres.batch", "facts/s", ours, aim=Aim(10_000, "at least"))


Loading = Callable[[ExitStack, str], Connection]


def _in_turn(workspace: Workspace, *sides: Loading) -> list[list[list[float]]]:
    workspace.say(f"serving, postgres: {len(sides)} sides in turn")
    with ExitStack() as stack:
        pipes = [side(stack, _new_store(workspace)) for side in sides]
        rates: list[list[list[float]]] = [[] for _ in pipes]
        for number in range(-1, _ROUNDS):
            for pipe, shown in list(zip(pipes, rates, strict=True))[:: 1 if number % 2 else -1]:
                pipe.send(workspace.scale.seconds)
                if (rate := pipe.recv()) and number >= 0:
                    shown.append([rate])
        return rates


def _new_store(workspace: Workspace) -> str:
    url = workspace.database()
    onrecord.connect(url).close()
    return url


def _prompts_over_http(stack: ExitStack, url: str) -> Connection:
    place = _served(stack, url)
    return start(stack, _work, Clients, place, _CLIENTS, 1)


def _batches_over_http(stack: ExitStack, url: str) -> Connection:
    place = _served(stack, url)
    return start(stack, _work, Clients, place, 2, _FACTS)


def _prompts_embedded(stack: ExitStack, url: str) -> Connection:
    return start(stack, _work, Coroutines, url, _CLIENTS)


def _work(load: Callable[..., Load], *arguments: Any) -> None:
    *given, pipe = arguments
    own = load(*given)
    with asyncio.Runner() as loop:
        while (seconds := pipe.recv()) is not None:
            pipe.send(loop.run(own.rate(seconds)))


def _served(stack: ExitStack, url: str) -> str:
    place: str = start(stack, serve, url).recv()
    return place


def serve(url: str, pipe: Connection) -> None:
    """Serve a store as `onrecord serve` does, until the pipe says that it is over; tell it where."""

    def end() -> None:
        with suppress(EOFError):
            pipe.recv()
        os.kill(os.getpid(), signal.SIGTERM)

    def started(address: Address) -> None:
        threading.Thread(target=end, daemon=True).start()
        pipe.send(f"http://{address.host}:{address.port}")

    store, open_store = connect_tenants(url)
    serve_store(store, open_store, Address("127.0.0.1", 0), started=started)


class Coroutines:
    """Coroutines of one event loop that say something in a conversation each."""

    def __init__(self, url: str, count: int) -> None:
        store = onrecord.connect(url)
        self._chats = [awaited(store.conversation(str(uuid4()))) for _ in range(count)]

    async def rate(self, seconds: float) -> float:
        began = perf_counter()
        ends = began + seconds
        counts = await asyncio.gather(*(self._say(chat, ends) for chat in self._chats))
        return sum(counts) / (perf_counter() - began)

    async def _say(self, chat: onrecord.AsyncConversation, ends: float) -> int:
        said, count = text(), 0
        while perf_counter() < ends:
            await chat.user(f"{count} {said}", message_id=str(count) + said[:9])
            count += 1
        return count


class Clients:
    """Connections that each say something, or send a batch, as soon as the last is answered."""

    def __init__(self, place: str, count: int, facts: int) -> None:
        self._place = urlsplit(place)
        bodies = _said if facts == 1 else _in_batch
        self._clients = [Client(bodies(str(uuid4()), text()), facts) for _ in range(count)]

    async def rate(self, seconds: float) -> float:
        loop = asyncio.get_running_loop()
        host, port = self._place.hostname or "", self._place.port or 0
        for client in self._clients:
            await loop.create_connection(partial(_same, client), host, port)
        before = sum(client.recorded for client in self._clients)
        began = perf_counter()
        for client in self._clients:
            client.begin(began + seconds)
        await asyncio.gather(*(client.over for client in self._clients if client.over))
        taken = perf_counter() - began
        return (sum(client.recorded for client in self._clients) - before) / taken


class Client(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, requests: Iterator[bytes], facts: int) -> None:
        self._requests = requests
        self._facts = facts
        self._ends = 0.0
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self.recorded = 0
        self.over: asyncio.Future[None] | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def begin(self, ends: float) -> None:
        """Send requests until the time is over."""
        self._ends = ends
        self.over = asyncio.get_running_loop().create_future()
        self._send()

    def _send(self) -> None:
        assert self._transport is not None
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or self.over is None:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self._received = b""
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            self.over.set_exception(AssertionError(body))
        elif perf_counter() < self._ends:
            self.recorded += self._facts
            self._send()
        else:
            self.recorded += self._facts
            self.over.set_result(None)
            if self._transport is not None:
                self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.over is not None and not self.over.done():
            self.over.set_exception(exc or ConnectionError("the server closed"))


def _same(client: Client) -> Client:
    return client


def _said(key: str, said: str) -> Iterator[bytes]:
    path, number = f"/v1/conversations/{key}/prompts", 0
    while True:
        yield _post(path, f'{{"text": "{said}", "message_id": "{number}"}}')
        number += 1


def _in_batch(key: str, said: str) -> Iterator[bytes]:
    facts = [{"kind": "prompt", "text": said}] * _EACH
    number = 0
    while True:
        entries = [
            {"key": f"{key}/{each}", "id": str(number), "facts": facts}
            for each in range(_FACTS // _EACH)
        ]
        yield _post("/v1/append", json.dumps({"entries": entries}))
        number += 1


def _post(path: str, body: str) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}"
    ).encode()
