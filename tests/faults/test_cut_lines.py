"""A connection that ends at any byte of an append: the event is there once, whoever was told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, open_postgres
from onrecord.adapters.storage.subscription import NoHints
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import Append, Duplicate, Recorded, Verdict
from tests.awaited import appended
from tests.factories import appending, prompt
from tests.faults.kills import verify_all
from tests.faults.lossy_line import Cut, LossyLine, Way
from tests.patience import PATIENCE
from tests.postgres_places import PostgresPlace, fresh_log
from tests.postgres_server import VERSIONS

STEP = 24
WRITERS, APPENDS = 8, 30
PARTS = [(Way.OUT, 0.0), (Way.OUT, 0.5), (Way.OUT, 1.0), (Way.BACK, 0.0), (Way.BACK, 0.5)]
KINDS = ["threads", "coroutines"]
# What a line carries here is the append alone: hints go their own way, in a thread of theirs.
ONE_CONNECTION = Limits(connections=1)
IMPATIENT = Limits(connections=1, wait=0.2)


@pytest.fixture(params=VERSIONS)
def line(request: pytest.FixtureRequest) -> Iterator[LossyLine]:
    place = PostgresPlace(request.param, fresh_log(request.param))
    opened = LossyLine(place.url)
    yield opened
    opened.close()
    place.remove()


@contextmanager
def asking(line: LossyLine, kind: str, limits: Limits) -> Generator[Asked]:
    """A log at the end of the line, and how threads, or coroutines, append one request to it."""
    log = open_postgres(line.url, limits, NoHints)
    try:
        if kind == "threads":
            yield Asked(log, lambda request: log.append([request])[0])
            return
        with asyncio.Runner() as runner:
            yield Asked(log, lambda request: runner.run(appended(log, [request]))[0])
    finally:
        log.close()


@dataclass(frozen=True, slots=True)
class Asked:
    """A log and a way to append to it."""

    log: Postgres
    append: Callable[[Append], Verdict]


def pair(conversation: UUID) -> Append:
    return appending(conversation, prompt(), prompt())


def sizes(line: LossyLine, asked: Asked) -> dict[Way, int]:
    """How many bytes an append is, out and back, once its connection is warm."""
    asked.append(pair(uuid4()))
    before = dict(line.carried)
    asked.append(pair(uuid4()))
    return {way: line.carried[way] - before[way] for way in Way}


def cuts(line: LossyLine, asked: Asked) -> list[Cut]:
    sized = sizes(line, asked).items()
    return [Cut(way, after) for way, size in sized for after in range(size + 1)]


def cut_appends(line: LossyLine, asked: Asked, chosen: list[Cut]) -> None:
    """Cut an append at each of these bytes; what was told and what is there are the same."""
    conversation = uuid4()
    for number, cut in enumerate(chosen):
        line.cut(cut)
        first = 2 * number + 1
        verdict = asked.append(pair(conversation))
        assert isinstance(verdict, Recorded | Duplicate)
        assert (verdict.first, verdict.last) == (first, first + 1)
        assert line.lost == number + 1, cut
    assert asked.log.head(conversation).version == 2 * len(chosen)
    verify_all(asked.log)


@pytest.mark.parametrize("kind", KINDS)
def test_an_append_is_recorded_once_wherever_its_connection_ends(
    line: LossyLine, kind: str, seed: int
) -> None:
    with asking(line, kind, ONE_CONNECTION) as asked:
        everywhere = cuts(line, asked)
        ends = [cut for cut in everywhere if cut.after == 0 or cut == everywhere[-1]]
        cut_appends(line, asked, ends + everywhere[Random(seed).randrange(STEP) :: STEP])


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_an_append_is_recorded_once_whichever_byte_its_connection_ends_at(
    line: LossyLine, kind: str
) -> None:
    with asking(line, kind, ONE_CONNECTION) as asked:
        cut_appends(line, asked, cuts(line, asked))


def test_each_of_those_who_share_a_commit_is_recorded_once_wherever_its_connection_ends(
    line: LossyLine, seed: int
) -> None:
    log, random, writing = open_postgres(line.url), Random(seed), threading.Event()

    def write(conversation: UUID) -> None:
        for number in range(APPENDS):
            verdict = told_at_last(log, pair(conversation))
            assert isinstance(verdict, Recorded | Duplicate)
            assert verdict.last == 2 * (number + 1)

    def cut() -> None:
        while not writing.wait(0.02):
            line.cut(Cut(random.choice(list(Way)), random.randrange(5_000)))

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        cutting = pool.submit(cut)
        try:
            list(pool.map(write, [uuid4() for _ in range(WRITERS)]))
        finally:
            writing.set()
        cutting.result(PATIENCE)
    assert line.lost > 0
    line.spare()  # The last cut may not have come, and whoever verifies has to begin anew.
    assert len(verify_all(log)) == 2 * WRITERS * APPENDS
    log.close()


def told_at_last(log: Postgres, request: Append) -> Verdict:
    """The verdict of a request that is repeated as the error says."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return log.append([request])[0]
        except StorageUnavailable as error:
            assert "append the same events again" in str(error)
            assert time.monotonic() < deadline, "it was never recorded"


@pytest.mark.parametrize("kind", KINDS)
def test_an_append_that_failed_is_recorded_once_when_it_is_repeated(
    line: LossyLine, kind: str
) -> None:
    with asking(line, kind, IMPATIENT) as asked:
        sized = sizes(line, asked)
        for number, (way, part) in enumerate(PARTS):
            request = pair(uuid4())
            line.cut(Cut(way, int(sized[way] * part)))
            line.go_down()
            with pytest.raises(StorageUnavailable, match="append the same events again"):
                asked.append(request)
            line.come_up()
            verdict = soon_appended(asked, request)
            assert verdict in (Duplicate(1, 2), Recorded(1, 2, 6 + 2 * number))
        assert len(verify_all(asked.log)) == 4 + 2 * len(PARTS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_was_away_for_long_is_found_as_soon_as_it_is_back(
    line: LossyLine, kind: str
) -> None:
    with asking(line, kind, IMPATIENT) as asked:
        request = pair(uuid4())
        asked.append(pair(uuid4()))
        line.cut(Cut(Way.OUT, 0))
        line.go_down()
        for _ in range(6):
            with pytest.raises(StorageUnavailable):
                asked.append(request)
        line.come_up()
        assert soon_appended(asked, request) == Recorded(1, 2, 4)


def soon_appended(asked: Asked, request: Append) -> Verdict:
    """Append within a few tries: on a busy machine one may end before its connection is made."""
    for _ in range(4):
        with suppress(StorageUnavailable):
            return asked.append(request)
    return asked.append(request)
