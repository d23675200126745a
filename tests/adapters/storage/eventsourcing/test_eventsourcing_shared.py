"""Recorders of `eventsourcing` share the log's commits, unless they track; a lost answer costs none."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import uuid4

import pytest
from eventsourcing.persistence import StoredEvent, Tracking
from psycopg.rows import TupleRow

from onrecord.adapters.storage.eventsourcing import postgres as eventsourcing_postgres
from onrecord.adapters.storage.eventsourcing.postgres import PostgresFactory
from onrecord.adapters.storage.postgres.postgres import open_postgres
from onrecord.adapters.storage.subscription import NoHints
from tests.faults.lossy_line import Cut, LossyLine, Way
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.postgres_sessions import COMMITS, counted

WRITERS = 8


@pytest.fixture(params=VERSIONS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    made = fresh_log(request.param)
    yield made
    server(request.param).drop(made)


def stored(version: int = 1) -> StoredEvent:
    return StoredEvent(uuid4(), version, "test.happened", b"{}")


def test_recorders_of_many_threads_get_the_positions_of_their_own_events(url: str) -> None:
    factory = PostgresFactory({"ONRECORD_URL": url})
    recorder = factory.application_recorder()

    def write(_: int) -> list[tuple[int, StoredEvent]]:
        found: list[tuple[int, StoredEvent]] = []
        for _ in range(10):
            event = stored()
            positions = recorder.insert_events([event])
            assert positions is not None
            found.append((positions[0], event))
        return found

    with ThreadPoolExecutor(WRITERS) as pool:
        told = dict(pair for each in pool.map(write, range(WRITERS)) for pair in each)
    assert sorted(told) == list(range(1, 10 * WRITERS + 1))
    for notification in recorder.select_notifications(1, len(told)):
        assert notification.originator_id == told[notification.id].originator_id
    assert counted(url, COMMITS) < 10 * WRITERS
    factory.close()


def test_what_is_tracked_has_a_commit_of_its_own(url: str) -> None:
    factory = PostgresFactory({"ONRECORD_URL": url})
    recorder = factory.process_recorder()
    asked: list[str] = []
    ask = factory.log.connections.ask

    def spy(name: str, parameters: Sequence[object] = ()) -> list[TupleRow]:
        asked.append(name)
        return ask(name, parameters)

    vars(factory.log.connections)["ask"] = spy
    assert recorder.insert_events([stored()], tracking=Tracking("upstream", 1)) == [1]
    assert "append" not in asked
    assert recorder.insert_events([stored()]) == [2]
    assert "append" in asked
    assert recorder.max_tracking_id("upstream") == 1
    factory.close()


def test_an_insert_whose_answer_was_lost_gives_the_positions_that_it_has(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A hint would be cut in its place.
    opening = partial(open_postgres, new_hints=NoHints)
    monkeypatch.setattr(eventsourcing_postgres, "open_postgres", opening)
    line = LossyLine(url)
    factory = PostgresFactory({"ONRECORD_URL": line.url})
    recorder = factory.application_recorder()
    assert recorder.insert_events([stored()]) == [1]
    line.cut(Cut(Way.BACK, 0))
    originator = uuid4()
    pair = [StoredEvent(originator, version, "test.happened", b"{}") for version in (1, 2)]
    assert recorder.insert_events(pair) == [2, 3]
    assert line.lost == 1
    factory.close()
    line.close()
