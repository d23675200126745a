"""Writers that roll back at random, or are killed, and readers that hunt for gaps meanwhile."""

import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.log import Backend, Cursor, RecordedEvent, Subscription
from tests.contract.places import Place, SqlitePlace
from tests.factories import appending
from tests.faults.kills import verify_all
from tests.faults.quiet import QuietPlace
from tests.faults.trail import Mark, Trail
from tests.faults.wavering import NEVER, Load, waver
from tests.ledger import verified_log
from tests.patience import PATIENCE, join_process
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS

PROCESSES = 4
SHORT = Load(threads=4, requests=50, most=4)
LONG = Load(threads=16, requests=2_100, most=200)
"""By 64 writers: ten million events, also where those that are killed write few."""
PAGE = 500
MOST_VERIFIED = 100_000


def test_a_trail_shows_a_position_that_is_skipped_and_a_request_that_is_torn() -> None:
    log = Memory()
    log.append([appending(uuid4(), *Mark(0, number, 2).events()) for number in range(2)])
    events = verified_log(log)
    for torn in (events[1:], events[:1] + events[2:]):
        with pytest.raises(AssertionError):
            follow(torn)
    with pytest.raises(AssertionError):
        follow(events[:3]).end()
    assert follow(events).end()[0] == 4


def follow(events: Iterable[RecordedEvent]) -> Trail:
    trail = Trail()
    for event in events:
        trail.follow(event)
    return trail


@pytest.fixture(params=VERSIONS)
def postgres(request: pytest.FixtureRequest) -> Iterator[QuietPlace]:
    place = QuietPlace(request.param, fresh_log(request.param))
    yield place
    place.remove()


def test_readers_skip_nothing_beside_writers_that_waver_on_sqlite(
    tmp_path: Path, seed: int
) -> None:
    hunt(SqlitePlace(tmp_path), SHORT, seed)


@pytest.mark.soak
def test_readers_skip_nothing_of_a_million_events_on_sqlite(tmp_path: Path, seed: int) -> None:
    hunt(SqlitePlace(tmp_path), Load(threads=16, requests=210, most=200), seed)


def test_readers_skip_nothing_beside_writers_that_waver_on_postgres(
    postgres: QuietPlace, seed: int
) -> None:
    hunt(postgres, SHORT, seed)


@pytest.mark.soak
@pytest.mark.parametrize("postgres", VERSIONS[-1:], indirect=True)
def test_readers_skip_nothing_of_ten_million_events_on_postgres(
    postgres: QuietPlace, seed: int
) -> None:
    hunt(postgres, LONG, seed)


def hunt(place: Place, load: Load, seed: int) -> None:
    """Write the load by processes, one of which is killed amid it, and follow each shard meanwhile."""
    backend, hunters = place.open(), Hunters()
    with ThreadPoolExecutor() as pool:
        following = hunters.start(backend, pool)
        try:
            told, killed = write(place, load, seed)
            place.open().close()  # Once nobody writes any more.
        finally:
            hunters.stop(backend)
        trails = [future.result(PATIENCE) for future in following]
    ends = [again(backend, last).end() for last in backend.cursors()]
    assert [trail.end() for trail in trails] == [*ends, *ends]
    found = {request for trail in trails for request in trail.requests}
    assert told <= found
    assert {writer for writer, _ in found - told} <= killed
    assert NEVER not in {request for _, request in found}
    if sum(position for position, _ in ends) < MOST_VERIFIED:
        verify_all(backend)
    backend.close()


class Hunters:
    """Two readers for each shard: one asks for pages, one has a subscription."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._subscriptions: list[tuple[Subscription, Trail]] = []

    def start(self, backend: Backend, pool: Executor) -> list[Future[Trail]]:
        begins = [replace(last, position=0) for last in backend.cursors()]
        self._subscriptions = [(backend.subscribe(begin), Trail()) for begin in begins]
        return [
            *(pool.submit(self._read, backend, begin) for begin in begins),
            *(pool.submit(subscribed, *given) for given in self._subscriptions),
        ]

    def stop(self, backend: Backend) -> None:
        """End them at the end of the log; fail where a subscription does not come to it."""
        self._ended.set()
        for (subscription, trail), last in zip(self._subscriptions, backend.cursors(), strict=True):
            while trail.position < last.position and self._moves(trail):
                pass
            subscription.stop()

    def _moves(self, trail: Trail) -> bool:
        """Whether a trail goes on within a minute: of millions of events it may be far behind."""
        seen, deadline = trail.position, time.monotonic() + PATIENCE
        while trail.position == seen and time.monotonic() < deadline:
            time.sleep(0.005)
        return trail.position != seen

    def _read(self, backend: Backend, after: Cursor) -> Trail:
        trail = Trail()
        while True:
            has_ended = self._ended.is_set()
            page = backend.read_log(after, PAGE)
            for event in page:
                trail.follow(event)
            if not page and has_ended:
                return trail
            after = replace(after, position=trail.position)
            if not page:
                self._ended.wait(0.01)


def subscribed(subscription: Subscription, trail: Trail) -> Trail:
    for event in subscription:
        trail.follow(event)
    return trail


def again(backend: Backend, last: Cursor) -> Trail:
    """The trail of a reader that comes when all is over."""
    trail = Trail()
    while trail.position < last.position:
        for event in backend.read_log(replace(last, position=trail.position), PAGE):
            trail.follow(event)
    return trail


def write(place: Place, load: Load, seed: int) -> tuple[set[tuple[int, int]], set[int]]:
    """What writers in processes were told; and which of them were killed."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.faults.wavering"])
    pipes = [processes.Pipe(duplex=False) for _ in range(PROCESSES)]
    living = [
        processes.Process(
            target=waver, args=(place, load, number, f"{seed}/{number}", told), daemon=True
        )
        for number, (_, told) in enumerate(pipes)
    ]
    for process in living:
        process.start()
    for _, told in pipes:
        told.close()
    lives = [sys.maxsize] * PROCESSES
    lives[0] = Random(seed).randrange(load.threads * load.requests)
    with ThreadPoolExecutor(PROCESSES) as pool:
        heard = pool.map(listen, living, [end for end, _ in pipes], lives)
        return {request for told in heard for request in told}, set(range(load.threads))


def listen(process: BaseProcess, heard: Connection, life: int) -> set[tuple[int, int]]:
    """All that a process tells until its end, which is when it told so much."""
    told: set[tuple[int, int]] = set()
    assert heard.poll(PATIENCE), "the writers did not come up"
    heard.recv()
    with suppress(EOFError, OSError):
        while (request := heard.recv()) is not None:
            told.add(request)
            if len(told) == life:
                process.kill()
    join_process(process)
    assert process.exitcode == (0 if life == sys.maxsize else -signal.SIGKILL)
    heard.close()
    return told
