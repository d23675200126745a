"""A pooler of transactions between the program and PostgreSQL: nothing is kept in a session."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from uuid import uuid4

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, open_postgres
from onrecord.domain.log import Cursor, Verdict
from tests.awaited import appended
from tests.factories import TENANT, appending, raw_event
from tests.ledger import verified_log
from tests.mixed_appends import SEED, Script, answer_of, mixed, verify
from tests.patience import PATIENCE
from tests.pgbouncer import PROGRAM, pooler
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.postgres_sessions import never_poll

WRITERS = 8
POOLED = 2

needs_pgbouncer = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed here")


@pytest.fixture(params=VERSIONS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    made = fresh_log(request.param)
    yield made
    server(request.param).drop(made)


def use_every_verb(log: Postgres) -> None:
    """What a program asks of a log, in turn, so that each meets what the others left behind."""
    conversations = [log.open(TENANT, f"support/{turn}") for turn in range(8)]
    for turn, conversation in enumerate(conversations):
        log.append([appending(conversation, raw_event(), raw_event(once="result:a"))])
        blob = log.put_blob(TENANT, conversation, [b"report"])
        assert b"".join(log.get_blob(conversation, blob)) == b"report"
        assert len(list(log.read(conversation))) == log.head(conversation).version == 2
        assert log.exchange_start(conversation, 1) == 0
        assert log.owner(conversation) == TENANT
        assert len(list(log.conversations(TENANT))) == turn + 1
    assert len(verified_log(log)) == 16
    assert log.forget(conversations[0]) == 2


def test_no_statement_relies_on_what_another_left_in_its_session(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_back = ConnectionPool.putconn

    def cleaned(pool: ConnectionPool, connection: Connection[TupleRow]) -> None:
        connection.execute("DISCARD ALL", prepare=False)
        give_back(pool, connection)

    monkeypatch.setattr(ConnectionPool, "putconn", cleaned)
    log = open_postgres(url, Limits(prepared=False))
    use_every_verb(log)
    log.close()


@needs_pgbouncer
def test_every_verb_works_by_way_of_pgbouncer(url: str) -> None:
    with pooler(url, POOLED) as pooled:
        log = open_postgres(pooled, Limits(prepared=False))
        use_every_verb(log)
        log.close()


@needs_pgbouncer
def test_by_way_of_pgbouncer_each_of_many_gets_its_own_verdict(url: str) -> None:
    asked = mixed(SEED, writers=WRITERS, turns=8, tenants=3)

    async def write(log: Postgres, script: Script) -> list[Verdict]:
        shared: list[Verdict] = []
        for append, expected in zip(script.appends, script.answers, strict=True):
            (verdict,) = await appended(log, [append])
            assert answer_of(verdict) == expected, f"seed {SEED}"
            shared += log.append([appending(asked.shared, raw_event())])
        return shared

    with pooler(url, POOLED) as pooled, ThreadPoolExecutor(WRITERS) as pool:
        logs = [open_postgres(pooled, Limits(prepared=False)) for _ in range(2)]
        logs[0].append([asked.before])
        running = [
            pool.submit(asyncio.run, write(logs[number % 2], script))
            for number, script in enumerate(asked.scripts)
        ]
        told = [each.result(PATIENCE) for each in running]
        verify(logs[0], asked, [verdict for each in told for verdict in each])
        for log in logs:
            log.close()


@needs_pgbouncer
def test_a_subscription_hears_past_pgbouncer(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    never_poll(monkeypatch)
    with pooler(url, POOLED) as pooled:
        limits = Limits(prepared=False, listen=url)
        here, there = open_postgres(pooled, limits), open_postgres(pooled, limits)
        there.append([appending(uuid4(), raw_event())])
        after = next(cursor for cursor in here.cursors() if cursor.position)
        seen: SimpleQueue[int] = SimpleQueue()
        following = threading.Thread(target=follow, args=(here, after, seen))
        following.start()
        for position in range(2, 5):
            there.append([appending(uuid4(), raw_event())])
            assert seen.get(timeout=PATIENCE) == position
        here.close()
        following.join(PATIENCE)
        there.close()


def follow(log: Postgres, after: Cursor, seen: SimpleQueue[int]) -> None:
    for event in log.subscribe(after):
        seen.put(event.position)
