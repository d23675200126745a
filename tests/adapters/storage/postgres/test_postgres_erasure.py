"""Forgetting on PostgreSQL while others write: it waits for them, then nothing of theirs is left."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import uuid4

import pytest
from uuid_utils.compat import uuid7

from onrecord.adapters.storage.postgres.batch import packed, parameters_of, verdict_of
from onrecord.adapters.storage.postgres.connections import fetched
from onrecord.adapters.storage.postgres.postgres import Postgres, open_postgres
from onrecord.domain.log import Forgotten, Recorded
from tests.factories import TENANT, appending, prompt, started
from tests.ledger import verified_log
from tests.patience import PATIENCE
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

_WAITING = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1"


@pytest.fixture(params=VERSIONS)
def log(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    url = fresh_log(request.param)
    opened = open_postgres(url)
    yield opened
    opened.close()
    server(request.param).drop(url)


def until_it_waits(log: Postgres, forgetting: Future[int]) -> None:
    """Return when a forgetting waits for a lock, or is done."""
    with log.connections.transaction() as connection:
        while (
            not forgetting.done()
            and not connection.execute(_WAITING, ("%onrecord.forget(%",)).fetchall()
        ):
            connection.execute("SELECT pg_stat_clear_snapshot()")


def test_an_append_that_is_being_written_is_forgotten_too(log: Postgres) -> None:
    conversation = uuid4()
    log.append([appending(conversation, started())])
    late = parameters_of(packed([appending(conversation, prompt("swordfish"))], log.digest))
    with ThreadPoolExecutor(1) as pool:
        with log.connections.transaction() as connection:
            assert verdict_of(fetched(connection, "append", late)[0]) == Recorded(2, 2, 2)
            erased = pool.submit(log.forget, conversation)
            until_it_waits(log, erased)
        assert erased.result(timeout=PATIENCE) == 2
    assert [event.body for event in log.read(conversation)] == [None, None]
    assert log.append([appending(conversation, prompt())]) == [Forgotten()]
    assert len(verified_log(log)) == 2


def test_a_piece_of_a_document_that_is_being_stored_goes_too(log: Postgres) -> None:
    conversation, blob = uuid4(), uuid7()
    log.append([appending(conversation, started())])
    with ThreadPoolExecutor(1) as pool:
        with log.connections.transaction() as connection:
            fetched(connection, "put_chunk", (TENANT, conversation, blob, 0, b"swordfish"))
            erased = pool.submit(log.forget, conversation)
            until_it_waits(log, erased)
        assert erased.result(timeout=PATIENCE) == 1
    with log.connections.transaction() as connection:
        assert connection.execute("SELECT data FROM onrecord.blob_chunk").fetchall() == []


def test_storing_a_document_holds_up_no_append(log: Postgres) -> None:
    conversation = uuid4()
    log.append([appending(conversation, started())])
    with log.connections.transaction() as connection:
        fetched(connection, "put_chunk", (TENANT, conversation, uuid7(), 0, b"report"))
        assert log.append([appending(conversation, prompt())]) == [Recorded(2, 2, 2)]
