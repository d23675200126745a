"""What an `eventsourcing` application may still say of an aggregate that was forgotten: nothing."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import AggregateRecorder, IntegrityError, StoredEvent

from onrecord.adapters.storage.eventsourcing.postgres import PostgresFactory
from onrecord.adapters.storage.eventsourcing.sqlite import SqliteFactory
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

Factory = SqliteFactory | PostgresFactory


@pytest.fixture(params=["sqlite", *VERSIONS])
def factory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Factory]:
    if request.param == "sqlite":
        made: Factory = SqliteFactory({"ONRECORD_URL": f"sqlite:///{tmp_path / 'log.db'}"})
        yield made
        made.close()
        return
    url = fresh_log(request.param)
    made = PostgresFactory({"ONRECORD_URL": url})
    yield made
    made.close()
    server(request.param).drop(url)


def event(aggregate: UUID, version: int) -> StoredEvent:
    return StoredEvent(aggregate, version, "app:Happened", b"{}")


@pytest.mark.parametrize("purpose", ["events", "snapshots"])
def test_a_forgotten_aggregate_takes_nothing_any_more(factory: Factory, purpose: str) -> None:
    aggregate = uuid4()
    recorder: AggregateRecorder = factory.aggregate_recorder()
    recorder.insert_events([event(aggregate, 0)])
    factory.log.forget(aggregate)
    late = factory.aggregate_recorder(purpose=purpose)
    with pytest.raises(IntegrityError, match="forgotten"):
        late.insert_events([event(aggregate, 1)])
    assert late.select_events(aggregate) == []
