"""An exception of a signal at each step of a verb: nobody waits for what it left, nothing is lost.

Each traceback is kept, as a notebook keeps the last one: what it keeps alive must hold up nobody.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

import pytest

import onrecord
from onrecord.adapters.storage.interrupts import holds
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.storage.postgres.postgres import open_postgres
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.domain.log import Append, Backend
from tests.factories import TENANT, appending, raw_event
from tests.interrupts import Interrupt, Steps, steps_of
from tests.ledger import verified_log
from tests.patience import join
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS

SEED: Final = 20_261_122
SHORT: Final = 24
# What is raised amid a fork's own steps the interpreter tells, and forks.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

OTHER = """
import sys
from uuid import uuid4
sys.path.insert(0, sys.argv[2])
import onrecord
from onrecord.adapters.store import backend_of
from tests.factories import appending, raw_event
store = onrecord.connect(sys.argv[1])
for _ in sys.stdin:
    backend_of(store).append([appending(uuid4(), raw_event())])
    print("appended", flush=True)
store.close()
"""


@dataclass
class Other:
    """Another process, which appends when it is told to."""

    process: subprocess.Popen[str]

    def append(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("append\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "appended\n"


@contextmanager
def other_process(url: str | None) -> Generator[Other | None]:
    if url is None:
        yield None
        return
    command = [sys.executable, "-c", OTHER, url, str(Path(__file__).parents[3])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Other(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


@dataclass
class Log:
    """A log that is used, and what it acknowledged."""

    backend: Backend
    other: Other | None
    conversation: UUID = field(default_factory=uuid4)
    acknowledged: list[UUID] = field(default_factory=list[UUID])
    tried: list[UUID] = field(default_factory=list[UUID])

    def request(self) -> Append:
        request = appending(self.conversation, raw_event())
        self.tried.append(request.events[0].event_id)
        return request

    def append(self) -> None:
        request = self.request()
        self.backend.append([request])
        self.acknowledged.append(request.events[0].event_id)

    def open(self) -> None:
        key = str(uuid4())
        assert self.backend.open(TENANT, key) == self.backend.find(TENANT, key)

    def read(self) -> None:
        for event, told in zip(
            self.backend.read(self.conversation), self.backend.tell(self.conversation), strict=True
        ):
            assert event.version == told.version

    def blob(self) -> None:
        data = uuid4().bytes
        blob = self.backend.put_blob(TENANT, self.conversation, [data])
        assert b"".join(self.backend.get_blob(self.conversation, blob)) == data

    def fork(self) -> None:
        child = os.fork()
        if not child:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    def must_go_on(self) -> None:
        """Nobody is held up, neither in another process nor in another thread nor in this one."""
        if self.other is not None:
            self.other.append()
        thread = threading.Thread(target=self.append, daemon=True)
        thread.start()
        join(thread)
        self.append()
        assert [hold for hold in holds() if hold.is_left()] == []
        self.fork()

    def must_be_whole(self) -> None:
        """What was acknowledged is there, and nothing is there twice."""
        ids = [UUID(bytes=event.event_id.bytes) for event in self.own_events()]
        assert len(ids) == len(set(ids))
        assert set(self.acknowledged) <= set(ids) <= set(self.tried)

    def own_events(self) -> list[onrecord.domain.log.RecordedEvent]:
        return [e for e in verified_log(self.backend) if e.conversation_id == self.conversation]


VERBS: Final[dict[str, Callable[[Log], None]]] = {
    "append": Log.append,
    "open": Log.open,
    "read": Log.read,
    "blob": Log.blob,
    "fork": Log.fork,
}


@dataclass(frozen=True)
class Store:
    open: Callable[[], Backend]
    url: str | None


@pytest.fixture(params=["sqlite", "memory", *(f"postgresql {version}" for version in VERSIONS)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind, _, version = request.param.partition(" ")
    if kind == "memory":
        return Store(Memory, None)
    if kind == "sqlite":
        path = tmp_path / "log.db"
        return Store(lambda: open_sqlite(path), f"sqlite:///{path}")
    url = fresh_log(version)
    return Store(lambda: open_postgres(url), url)


def interrupt(store: Store, verb: str, most: int | None, times: int) -> None:
    """Interrupt a verb at its steps, `times` in each run: at all of them, or at some by lot."""
    lots = random.Random(f"{SEED} {verb} {times}")
    kept: list[Interrupt | None] = []
    raised = 0
    with other_process(store.url) as other:
        log = Log(store.open(), other)
        log.append()
        VERBS[verb](log)
        steps = steps_of(lambda: VERBS[verb](log))
        chosen = range(1, steps + 1)
        for step in chosen if most is None else lots.sample(chosen, min(most, steps)):
            # A second one comes while what the first has left is given back.
            at = frozenset({step, *(step + lots.randint(1, 12) for _ in range(times - 1))})
            interrupts = Steps(at)
            kept.append(interrupts.run(lambda: VERBS[verb](log)))
            raised += interrupts.raised
            log.must_go_on()
        log.must_be_whole()
        log.backend.close()
    assert raised


@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt_at_any_step_holds_up_nobody(store: Store, verb: str) -> None:
    interrupt(store, verb, SHORT, 1)


@pytest.mark.soak
@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt_at_each_step_holds_up_nobody(store: Store, verb: str) -> None:
    interrupt(store, verb, None, 1)
