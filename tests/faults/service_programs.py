"""Programs of a service in one process: they append, read and follow, whatever becomes of the server.

Each repeats what was not answered, under the same id, until it is acknowledged. So in the end each
conversation has each message once. What is wrong on the way is told as a sentence.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote, urlsplit

import aiohttp

from tests.patience import PATIENCE

Kind = Literal["append", "batch", "read"]

_PAUSE: Final = 0.25
"""Seconds until a program asks again: sooner than it is told to, so that the server has it harder."""

_BATCHES_EACH: Final = 5
"""One program in so many appends by the route of batches."""

_READS_EACH: Final = 2
"""Each program reads once in so many rounds."""

_UPLOADS_EACH: Final = 20
"""One program in so many gives up an upload in each round."""

_UPLOAD: Final = 1 << 20
_TEXT: Final = "Where is my parcel? It was to come on Tuesday. " * 4
_SAID_BY_SERVER: Final = (429, 503)
_UNHEARD: Final = (aiohttp.ClientError, ConnectionError, asyncio.TimeoutError)


@dataclass(frozen=True)
class Numbers:
    """How many of each kind there are; `tenant_tails` follow all conversations."""

    programs: int
    tails: int
    tenant_tails: int
    slow_readers: int


@dataclass
class Report:
    """What the programs saw: wrong things, answers by status, and how long those took that came at once."""

    wrong: list[str] = field(default_factory=list[str])
    statuses: Counter[str] = field(default_factory=Counter[str])
    reconnected: int = 0
    given_up: int = 0
    seconds: dict[Kind, list[float]] = field(default_factory=lambda: defaultdict(list))


Word: TypeAlias = tuple[str, Any]
"""What to do, and with what."""


class Programs:
    """All programs of the process. For one event loop."""

    def __init__(self, numbers: Numbers, key: str) -> None:
        self.numbers = numbers
        self.key = key
        self.report = Report()
        self.acknowledged = 0
        self._place: str | None = None
        self._placed = asyncio.Event()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=PATIENCE, sock_read=PATIENCE),
            headers={"authorization": f"Bearer {key}"},
        )
        self.writers = [Writer(self, number) for number in range(numbers.programs)]
        self._rounds: asyncio.Future[Any] | None = None
        self._following: list[asyncio.Task[None]] = []
        self._tails: list[Tail] = []
        self._slow: list[socket.socket] = []

    async def do(self, word: Word) -> Any:
        """Do what the test says."""
        name, given = word
        match name:
            case "at":
                self._place = given
                (self._placed.clear if given is None else self._placed.set)()
            case "begin":
                self._rounds = asyncio.gather(*(writer.work(given) for writer in self.writers))
            case "acknowledged":
                return self.acknowledged
            case "told to come again":
                return self.report.statuses["append 503"]
            case "finish":
                assert self._rounds is not None
                await self._rounds
            case "follow":
                self._follow()
            case "read slowly":
                await self._read_slowly()
            case "caught up":
                await self._caught_up()
            case _:
                return self.report
        return None

    async def close(self) -> None:
        """Let go of all connections."""
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)
        for each in self._slow:
            each.close()
        await self._session.close()

    async def place(self) -> str:
        """Return where the service is, as soon as it is anywhere."""
        while self._place is None:
            await self._placed.wait()
        return self._place

    async def asked(self, kind: Kind, method: str, path: str, body: Any = None) -> Any:
        """Return what is answered, however often it has to be asked for."""
        for attempt in itertools.count():
            place = await self.place()
            began = time.perf_counter()
            try:
                async with self._session.request(method, place + path, json=body) as response:
                    text = await response.text()
            except _UNHEARD:
                self.report.statuses[f"{kind} unheard"] += 1
            else:
                self.report.statuses[f"{kind} {response.status}"] += 1
                if response.ok:
                    if attempt == 0:
                        self.report.seconds[kind].append(time.perf_counter() - began)
                    return json.loads(text)
                self.must_be_soon(response, text)
            await asyncio.sleep(_PAUSE)

    def must_be_soon(self, response: aiohttp.ClientResponse, text: str) -> None:
        """Note an answer that does not say to come again, or not when."""
        after = response.headers.get("retry-after", "")
        if response.status not in _SAID_BY_SERVER or not after.isdecimal():
            self.wrong(f"{response.method} {response.url.path}: {response.status} {text[:300]}")

    def wrong(self, what: str) -> None:
        """Note what must not be."""
        if len(self.report.wrong) < 20:
            self.report.wrong.append(what)

    # Tails.

    def _follow(self) -> None:
        numbers = self.numbers
        own = itertools.islice(itertools.cycle(self.writers), numbers.tails - numbers.tenant_tails)
        followed: list[Writer | None] = [*own, *([None] * numbers.tenant_tails)]
        self._tails = [Tail(self, writer) for writer in followed]
        self._following = [asyncio.create_task(tail.follow()) for tail in self._tails]

    async def stream(self, path: str, last: str | None) -> aiohttp.ClientResponse:
        """Open a stream of events behind the last one."""
        headers = {} if last is None else {"last-event-id": last}
        return await self._session.get(await self.place() + path, headers=headers)

    async def _read_slowly(self) -> None:
        where = urlsplit(await self.place())
        head = (
            f"GET /v1/tail?after=start HTTP/1.1\r\nhost: {where.netloc}\r\n"
            f"authorization: Bearer {self.key}\r\n\r\n"
        )
        for _ in range(self.numbers.slow_readers):
            reader = socket.socket()
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect((where.hostname, where.port))
            reader.sendall(head.encode())
            self._slow.append(reader)

    async def _caught_up(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while behind := [tail for tail in self._tails if tail.count < tail.wanted()]:
            if time.monotonic() > deadline:
                tail = behind[0]
                self.wrong(f"{len(behind)} tails do not catch up: {tail.count} of {tail.wanted()}")
                return
            await asyncio.sleep(0.02)

    # Uploads.

    async def give_up_upload(self, number: int) -> None:
        """Send the half of a body, and break off."""
        where = urlsplit(await self.place())
        kind, path = ("json", "prompts") if number % 2 else ("octet-stream", "documents")
        head = (
            f"POST /v1/conversations/given-up-{number}/{path} HTTP/1.1\r\nhost: {where.netloc}\r\n"
            f"authorization: Bearer {self.key}\r\ncontent-type: application/{kind}\r\n"
            f"content-length: {_UPLOAD}\r\n\r\n"
        )
        with suppress(OSError):
            _, writer = await asyncio.open_connection(where.hostname, where.port)
            writer.write(head.encode() + b'{"text": "' + b"x" * (_UPLOAD // 2))
            await asyncio.wait_for(writer.drain(), PATIENCE)
            writer.transport.abort()
            self.report.given_up += 1


class Writer:
    """One program, which says numbers in a conversation of its own, and reads what is there."""

    def __init__(self, programs: Programs, number: int) -> None:
        self._programs = programs
        self._number = number
        self.key = f"load/{number}"
        self.path = f"/v1/conversations/{quote(self.key, safe='')}"
        self.said = 0
        self.version = 0

    async def work(self, rounds: int) -> None:
        """Append and read so many times."""
        for _ in range(rounds):
            await self._say()
            if (self._number + self.said) % _READS_EACH == 0:
                await self._read()
            if self._number % _UPLOADS_EACH == 0:
                await self._programs.give_up_upload(self._number // _UPLOADS_EACH)

    async def _say(self) -> None:
        once, text = f"{self._number}-{self.said}", f"{self.said} {_TEXT}"
        if self._number % _BATCHES_EACH:
            body = {"text": text, "message_id": once}
            done = await self._programs.asked("append", "POST", f"{self.path}/prompts", body)
        else:
            fact = {"kind": "prompt", "text": text}
            entry = {"key": self.key, "id": once, "facts": [fact]}
            (done,) = (
                await self._programs.asked("batch", "POST", "/v1/append", {"entries": [entry]})
            )["entries"]
        # The conversation begins with an event of its own; a repetition may not tell of that one.
        if done["last"] != (self.version or 1) + 1:
            self._programs.wrong(f"{once} of {self.key} is at {done['last']}: {done}")
        self.version = done["last"]
        self.said += 1
        self._programs.acknowledged += 1

    async def _read(self) -> None:
        ask = self._programs.asked
        match self.said // _READS_EACH % 3:
            case 0:
                standing = await ask("read", "GET", self.path)
                versions = [standing["version"]]
            case 1:
                path = f"{self.path}/events?after={self.version - 1}"
                versions = [each["version"] for each in (await ask("read", "GET", path))["events"]]
            case _:
                path = f"{self.path}/history?since={self.version - 1}"
                versions = [(await ask("read", "GET", path))["version"]]
        if versions != [self.version]:
            self._programs.wrong(f"{self.key} is at {self.version}, and told at {versions}")


class Tail:
    """One reader that follows a conversation, or all, and goes on behind the last event that it had."""

    def __init__(self, programs: Programs, writer: Writer | None) -> None:
        self._programs = programs
        self._writer = writer
        self._last: str | None = None
        self._position = 0
        self._versions: Counter[str] = Counter()
        self.count = 0

    def wanted(self) -> int:
        """Return how many events there are for it."""
        writers = self._programs.writers if self._writer is None else [self._writer]
        return sum(writer.version for writer in writers)

    async def follow(self) -> None:
        """Take events until cancelled."""
        path = "/v1/tail" if self._writer is None else f"{self._writer.path}/tail"
        while True:
            with suppress(*_UNHEARD):
                start = "?after=start" if self._last is None else ""
                async with await self._programs.stream(path + start, self._last) as response:
                    self._programs.report.statuses[f"tail {response.status}"] += 1
                    if response.ok:
                        async for line in response.content:
                            self._take(line)
                    else:
                        self._programs.must_be_soon(response, await response.text())
            self._programs.report.reconnected += 1
            await asyncio.sleep(_PAUSE)

    def _take(self, line: bytes) -> None:
        if line.startswith(b"id: "):
            self._last = line[4:].decode().strip()
            position = int(self._last.rpartition(":")[2])
            if position <= self._position:
                self._programs.wrong(f"a tail is told of {position} after {self._position}")
            self._position = position
        elif line.startswith(b"data: "):
            event = json.loads(line[6:])
            conversation, version = event["conversation"], event["version"]
            if version != self._versions[conversation] + 1:
                before = self._versions[conversation]
                self._programs.wrong(f"a tail is told of version {version} after {before}")
            self._versions[conversation] = version
            self.count += 1


def run(numbers: Numbers, key: str, pipe: Connection) -> None:
    """Do what the pipe says until it says None."""
    asyncio.run(_run(numbers, key, pipe))


async def _run(numbers: Numbers, key: str, pipe: Connection) -> None:
    programs = Programs(numbers, key)
    try:
        while (word := await asyncio.to_thread(pipe.recv)) is not None:
            pipe.send(await programs.do(word))
    finally:
        await programs.close()


def percentile(seconds: list[float], part: float) -> float:
    """Return what so great a part of the figures is not above, in milliseconds."""
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * part))] * 1000


def lines(report: Report) -> Iterator[str]:
    """Yield what the programs saw, for people."""
    for kind, seconds in sorted(report.seconds.items()):
        p50, p99 = (percentile(seconds, part) for part in (0.5, 0.99))
        yield f"{kind}: {len(seconds):,} at once, p50 {p50:.1f} ms, p99 {p99:.1f} ms"
    yield ", ".join(f"{what}: {count:,}" for what, count in sorted(report.statuses.items()))
    yield f"uploads given up: {report.given_up:,}; tails reconnected: {report.reconnected:,}"
