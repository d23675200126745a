"""A connection that ends at any byte of an append: the event is there once, whoever was told."""

from collections.abc import Iterator
from random import Random
from uuid import UUID, uuid4

import pytest

from hansard.adapters.storage.postgres import Limits, Postgres, open_postgres
from hansard.domain.errors import StorageUnavailable
from hansard.domain.log import Append, Duplicate, Recorded, Verdict
from tests.factories import appending, prompt
from tests.faults.kills import verify_all
from tests.faults.lossy_line import Cut, LossyLine, Way
from tests.postgres_places import PostgresPlace, fresh_log
from tests.postgres_server import VERSIONS

STEP = 16
ONE_CONNECTION = Limits(connections=1)
IMPATIENT = Limits(connections=1, wait=0.2)


@pytest.fixture(params=VERSIONS)
def line(request: pytest.FixtureRequest) -> Iterator[LossyLine]:
    place = PostgresPlace(request.param, fresh_log(request.param))
    opened = LossyLine(place.url)
    yield opened
    opened.close()
    place.remove()


@pytest.fixture
def log(line: LossyLine) -> Iterator[Postgres]:
    opened = open_postgres(line.url, ONE_CONNECTION)
    yield opened
    opened.close()


def pair(conversation: UUID) -> Append:
    return appending(conversation, prompt(), prompt())


def appended(log: Postgres, request: Append) -> Verdict:
    (verdict,) = log.append([request])
    return verdict


def sizes(line: LossyLine, log: Postgres) -> dict[Way, int]:
    """How many bytes an append is, out and back, once its connection is warm."""
    appended(log, pair(uuid4()))
    before = dict(line.carried)
    appended(log, pair(uuid4()))
    return {way: line.carried[way] - before[way] for way in Way}


def cuts(line: LossyLine, log: Postgres) -> list[Cut]:
    return [Cut(way, after) for way, size in sizes(line, log).items() for after in range(size + 1)]


def cut_appends(line: LossyLine, log: Postgres, chosen: list[Cut]) -> None:
    """Cut an append at each of these bytes; what was told and what is there are the same."""
    conversation = uuid4()
    for number, cut in enumerate(chosen):
        line.cut(cut)
        first = 2 * number + 1
        verdict = appended(log, pair(conversation))
        assert isinstance(verdict, Recorded | Duplicate)
        assert (verdict.first, verdict.last) == (first, first + 1)
        # A cut behind the last byte is met by the next append; all others by this one.
        assert line.lost == number + 1, cut
    assert log.head(conversation).version == 2 * len(chosen)


def test_an_append_is_recorded_once_wherever_its_connection_ends(
    line: LossyLine, log: Postgres, seed: int
) -> None:
    everywhere = cuts(line, log)
    ends = [cut for cut in everywhere if cut.after == 0 or cut == everywhere[-1]]
    chosen = ends + everywhere[Random(seed).randrange(STEP) :: STEP]
    cut_appends(line, log, chosen)
    verify_all(log)


@pytest.mark.soak
def test_an_append_is_recorded_once_whichever_byte_its_connection_ends_at(
    line: LossyLine, log: Postgres
) -> None:
    cut_appends(line, log, cuts(line, log))
    verify_all(log)


@pytest.mark.parametrize(
    ("way", "part"), [(Way.OUT, 0), (Way.OUT, 0.5), (Way.OUT, 1), (Way.BACK, 0), (Way.BACK, 0.5)]
)
def test_an_append_that_failed_is_recorded_once_when_it_is_repeated(
    line: LossyLine, way: Way, part: float
) -> None:
    log = open_postgres(line.url, IMPATIENT)
    request = pair(uuid4())
    line.cut(Cut(way, int(sizes(line, log)[way] * part)))
    line.go_down()
    with pytest.raises(StorageUnavailable, match="append the same events again"):
        appended(log, request)
    line.come_up()
    assert appended(log, request) in (Duplicate(1, 2), Recorded(1, 2, 6))
    assert len(verify_all(log)) == 6
    log.close()


def test_a_server_that_was_away_for_long_is_found_as_soon_as_it_is_back(line: LossyLine) -> None:
    log = open_postgres(line.url, IMPATIENT)
    request = pair(uuid4())
    line.cut(Cut(Way.OUT, 0))
    line.go_down()
    for _ in range(8):
        with pytest.raises(StorageUnavailable):
            appended(log, request)
    line.come_up()
    assert appended(log, request) == Recorded(1, 2, 2)
    log.close()
