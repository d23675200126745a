"""A clock that steps back and forth by hours: times never go back in a shard, places stay dense."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from uuid import UUID

import psycopg
import pytest

from onrecord.domain.log import Backend, Recorded
from tests.contract.places import DURABLE, PLACES, WHERE_THE_LOG_IS, Place
from tests.factories import appending, prompt
from tests.faults.kills import verify_all

HOURS = 3_600_000_000
WRITERS = 4
APPENDS = 30
TENANTS = [UUID(int=number) for number in range(1, WRITERS + 1)]

# Each look at the clock is up to two hours off, before or behind.
STEPPING = """
CREATE SEQUENCE onrecord.looks;
CREATE OR REPLACE FUNCTION onrecord.clock() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    + hashint8extended(nextval('onrecord.looks'), {seed}) % {steps};
"""


@pytest.fixture(params=[name for name in DURABLE if name in WHERE_THE_LOG_IS])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    """A store whose clock steps."""
    prepared = PLACES[request.param](tmp_path)
    url: str | None = getattr(prepared, "url", None)
    if url is None:
        monkeypatch.setattr(time, "time_ns", stepping_clock(seed))
    else:
        with psycopg.connect(url, autocommit=True) as operator:
            operator.execute(STEPPING.format(seed=seed, steps=2 * HOURS).encode())
    yield prepared
    monkeypatch.undo()
    prepared.remove()


def stepping_clock(seed: int) -> Callable[[], int]:
    random, turn, clock = Random(seed), threading.Lock(), time.time_ns

    def stepping() -> int:
        with turn:
            return clock() + random.randrange(-2 * HOURS, 2 * HOURS) * 1000

    return stepping


def test_times_never_go_back_when_the_clock_does(place: Place) -> None:
    backends = place.open(), place.open()

    def write(number: int) -> None:
        for turn in range(APPENDS):
            append(backends[turn % 2], TENANTS[number], TENANTS[number])

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    events = verify_all(backends[0])
    assert len(events) == 2 * WRITERS * APPENDS
    # The clock was seen to go back: then the time of the event before was taken again.
    assert len({event.recorded_at for event in events}) < WRITERS * APPENDS
    for backend in backends:
        backend.close()


def append(backend: Backend, conversation: UUID, tenant: UUID) -> None:
    (verdict,) = backend.append([appending(conversation, prompt(), prompt(), tenant=tenant)])
    assert isinstance(verdict, Recorded)
