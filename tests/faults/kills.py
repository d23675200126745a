"""Writers killed at random moments, and what must be true of the log after each kill."""

import json
import multiprocessing
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from random import Random
from typing import Any
from uuid import UUID, uuid4

from onrecord.adapters.upkeep.verifying import verify_log
from onrecord.domain.content import Text
from onrecord.domain.events import MessageRecorded
from onrecord.domain.log import Backend, Cursor, RecordedEvent
from tests.contract.places import Place
from tests.faults.writer import NEVER, write_until_killed
from tests.ledger import verified_log, verify_leaf
from tests.patience import PATIENCE, join_process

LONGEST_LIFE = 0.03
_PAGE = 1_000


@dataclass
class Survey:
    """What was acknowledged and what was found, over all kills so far."""

    acknowledged: set[UUID] = field(default_factory=set[UUID])
    found: set[UUID] = field(default_factory=set[UUID])
    read: dict[int, Cursor] = field(default_factory=dict[int, Cursor])

    def check(self, backend: Backend) -> None:
        """Read what is new; fails where something acknowledged is missing or a half is there."""
        for last in backend.cursors():
            after = self.read.get(last.shard, Cursor(last.incarnation, last.shard, 0))
            new = read_up_to(backend, after, last)
            positions = [event.position for event in new]
            assert positions == list(range(after.position + 1, last.position + 1))
            whole_requests_only(new)
            for event in new:
                verify_leaf(event)
            self.found.update(event.event_id for event in new)
            self.read[last.shard] = last
        assert self.acknowledged <= self.found


def read_up_to(backend: Backend, after: Cursor, last: Cursor) -> list[RecordedEvent]:
    found: list[RecordedEvent] = []
    while after.position < last.position:
        page = backend.read_log(after, min(_PAGE, last.position - after.position))
        found += page
        after = Cursor(after.incarnation, after.shard, page[-1].position)
    return found


def whole_requests_only(events: list[RecordedEvent]) -> None:
    """Fail where a request that writers made with `group` is there in part, or should not be."""
    said = [said_in(event) for event in events]
    assert NEVER not in {words["what"] for words in said}
    counted = Counter((words["request"], words["of"]) for words in said)
    assert [request for request, of in counted if counted[request, of] != of] == []


def said_in(event: RecordedEvent) -> dict[str, Any]:
    happened = event.event()
    assert isinstance(happened, MessageRecorded)
    words = happened.content[0]
    assert isinstance(words, Text)
    said: dict[str, Any] = json.loads(words.text)
    return said


def verify_all(backend: Backend) -> list[RecordedEvent]:
    """All events of a log of one tenant; fails unless places, heads, leaves and blobs hold."""
    assert verify_log(backend).faults == ()
    return verified_log(backend)


def kill_writers(place: Place, rounds: int, seed: int, writers: int = 3) -> int:
    """Kill `writers` processes in each round; return how many events were acknowledged.

    The processes are forks of one that has everything imported, so that most of their lives is
    appending. Fails, by assertion, where the log is not what it must be.
    """
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.faults.writer"])
    survey, shared, random = Survey(), uuid4(), Random(seed)
    for turn in range(rounds):
        pipes = [processes.Pipe(duplex=False) for _ in range(writers)]
        living = [
            processes.Process(
                target=write_until_killed,
                args=(place, shared, told, f"{seed}/{turn}/{number}"),
                daemon=True,
            )
            for number, (_, told) in enumerate(pipes)
        ]
        for process in living:
            process.start()
        for _, told in pipes:
            told.close()
        for (heard, _), process in zip(pipes, living, strict=True):
            life = random.uniform(0, LONGEST_LIFE)
            survey.acknowledged.update(kill(process, heard, life))
        backend = place.open()
        survey.check(backend)
        backend.close()
    backend = place.open()
    assert {event.event_id for event in verify_all(backend)} == survey.found
    backend.close()
    return len(survey.acknowledged)


def kill(process: BaseProcess, heard: Connection, life: float) -> list[UUID]:
    """Let a writer live for a moment, kill it, and return all that it was told."""
    assert heard.poll(PATIENCE), "the writer did not come up"
    time.sleep(life)
    process.kill()
    join_process(process)
    assert process.exitcode == -signal.SIGKILL, "the writer ended before it was killed"
    acknowledged: list[UUID] = []
    # The last message may have been cut short by the kill: then nobody was told.
    with suppress(EOFError, OSError):
        while True:
            acknowledged += heard.recv()
    heard.close()
    return acknowledged
