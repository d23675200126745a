"""A service under load: 200 programs and 500 tails, a database that goes away, servers that end or die.

Nothing that was acknowledged is lost or doubled, each tail has each event once and in order, whoever
cannot be answered is told to come again, and the memory of the server stays.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.upkeep.keys import issue_key
from tests.adapters.cli.command import PROGRAM
from tests.bench.children import start
from tests.faults.service_programs import Numbers, Report, lines, run
from tests.patience import PATIENCE, until
from tests.postgres_server import GIVEN, Server, carried_server

TIMES = int(os.environ.get("ONRECORD_LOAD_TIMES", "1"))
"""How much longer than usual the drill is."""

AWAY = float(os.environ.get("ONRECORD_LOAD_AWAY", "0"))
"""Seconds for which the database is away, at least."""

NUMBERS = Numbers(programs=200, tails=500, tenant_tails=4, slow_readers=20)
MOST_GROWTH = 32 << 20
"""Bytes. From the tenth round to the fiftieth 5 to 13 MiB were seen."""


class Service:
    """`onrecord serve` as a process, begun anew as often as it ends."""

    def __init__(self, url: str, folder: Path) -> None:
        self._command = (*PROGRAM, "--url", url, "serve", "--port", "0")
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._logs = list[Path]()

    def start(self) -> str:
        """Start a server, and return where it answers."""
        log = self._folder / f"serve-{len(self._logs)}.log"
        self._logs.append(log)
        with log.open("wb") as errors:
            process = self._process = subprocess.Popen(self._command, stderr=errors)
        places = list[str]()

        def has_started() -> bool:
            assert process.poll() is None, log.read_text()
            places.extend(re.findall(r"answers at (http://\S+)", log.read_text()))
            return bool(places)

        until(has_started, "the server")
        return places[0]

    def end(self, by: signal.Signals) -> int:
        """End the server, and return its exit code."""
        process = self._process
        assert process is not None
        process.send_signal(by)
        return process.wait(PATIENCE)

    def stop(self) -> None:
        """Leave no process behind."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE)

    def memory(self) -> int:
        """Return how many bytes of memory the server has."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024

    def logged(self) -> str:
        """Return all that its processes logged."""
        return "".join(log.read_text() for log in self._logs)


@pytest.fixture
def database() -> Iterator[tuple[Server, str]]:
    server = carried_server("18")
    yield server, server.create("log", migrate)
    server.crash()


@dataclass
class Load:
    """The programs, as the test tells them what to do."""

    pipe: Connection

    def tell(self, word: str, given: Any = None) -> Any:
        """Have something done, and return what comes of it."""
        self.pipe.send((word, given))
        assert self.pipe.poll(PATIENCE), f"no end of: {word}"
        return self.pipe.recv()

    def work(self, rounds: int) -> None:
        """Return when each program has appended so many times."""
        self.tell("begin", rounds)
        self.tell("finish")

    @contextmanager
    def amid(self, rounds: int) -> Generator[None]:
        """Lend the middle of some rounds; at the end all is done, and the tails know of it."""
        half = self.tell("acknowledged") + NUMBERS.programs * rounds // 2
        self.tell("begin", rounds)
        until(lambda: self.tell("acknowledged") >= half, "half of the rounds")
        yield
        self.tell("finish")
        self.tell("caught up")


@pytest.mark.skipif(GIVEN is not None, reason="stops and starts the server of the database")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_a_service_under_load_loses_nothing_whatever_is_taken_from_it(
    database: tuple[Server, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, url = database
    with ExitStack() as stack:
        service = Service(url, tmp_path)
        stack.callback(service.stop)
        load = Load(start(stack, run, NUMBERS, key_of(url)))
        calm, early, late = under_load(service, server, load)
        for told_by in (signal.SIGTERM, signal.SIGKILL):
            with load.amid(4 * TIMES):
                code = service.end(told_by)
                load.tell("at", service.start())
            assert code == (0 if told_by == signal.SIGTERM else -told_by)
        report: Report = load.tell("report")
    with capsys.disabled():
        print("\nbefore any harm:", *lines(calm), "in all:", *lines(report), sep="\n  ")
        print(f"  memory: {early >> 20} MiB, then {late >> 20} MiB")
    assert report.wrong == []
    assert not re.search("a request failed|Traceback", service.logged())
    assert late - early < MOST_GROWTH
    with closing(onrecord.connect(url)) as store:
        holds_each_once(store, 10 + 48 * TIMES)


def under_load(service: Service, server: Server, load: Load) -> tuple[Report, int, int]:
    """Have the programs work, the database away amid that; return the memory before and after."""
    load.tell("at", service.start())
    load.work(1)
    load.tell("follow")
    load.tell("caught up")
    load.tell("read slowly")
    load.work(9)
    calm, early = load.tell("report"), service.memory()
    load.work(20 * TIMES)
    with load.amid(20 * TIMES):
        server.stop()
        try:
            time.sleep(AWAY)
            until(lambda: load.tell("told to come again") >= 10, "an answer")
        finally:
            server.restart()
    return calm, early, service.memory()


def key_of(url: str) -> str:
    """Return a key that writes."""
    with closing(onrecord.connect(url)) as store:
        return issue_key(backend_of(store), store.tenant, "load", actor="ana").token


def holds_each_once(store: Store, said: int) -> None:
    """Fail unless each conversation has each message once, in order, and nothing was half recorded."""
    listed = list(store.conversations())
    assert {each.key for each in listed} == {f"load/{number}" for number in range(NUMBERS.programs)}
    for each in listed:
        _, *events = store.get(each.conversation_id).events()
        texts = [json.loads(event.body or b"")["content"][0]["text"] for event in events]
        assert [int(text.split()[0]) for text in texts] == list(range(said))
    assert store.verify().faults == ()
