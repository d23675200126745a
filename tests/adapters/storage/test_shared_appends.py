"""Appends of many threads on PostgreSQL: they share commits, and each is answered as if alone."""

import struct
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, open_postgres
from onrecord.domain.errors import InvalidInput, StorageBusy, StorageReadOnly, StorageUnavailable
from onrecord.domain.log import Append, Conflict, Duplicate, Mismatch, Recorded, Verdict
from tests.factories import OTHER_TENANT, appending, raw_event
from tests.ledger import verified_log
from tests.mixed_appends import SEED, Script, answer_of, mixed, verify
from tests.patience import PATIENCE, until
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.postgres_sessions import (
    END_WAITING_SESSIONS,
    WAITING_SESSIONS,
    counted,
    shard_of,
    stuck,
)

WRITERS = 16
BRING_TENANT = "SELECT onrecord.shard_of(%s)"
WAITING_FOR_ANOTHER = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event = 'transactionid'
"""


@pytest.fixture(params=VERSIONS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    made = fresh_log(request.param)
    yield made
    server(request.param).drop(made)


@pytest.fixture
def log(url: str) -> Iterator[Postgres]:
    opened = open_postgres(url)
    yield opened
    opened.close()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(WRITERS) as made:
        yield made


class Spy:
    """Counts the statements that a log sends for its appends, and who sends them."""

    def __init__(self, log: Postgres) -> None:
        self.senders: list[threading.Thread] = []
        self._ask = log.connections.ask
        vars(log.connections)["ask"] = self.ask

    def ask(self, name: str, parameters: Sequence[object] = ()) -> list[TupleRow]:
        if name == "append":
            self.senders.append(threading.current_thread())
        return self._ask(name, parameters)


def queued(
    log: Postgres, spy: Spy, pool: ThreadPoolExecutor, appends: Sequence[Append]
) -> list[Future[list[Verdict]]]:
    """The callers' futures: the first one's statement is stuck, the others wait for it."""
    sent = len(spy.senders)
    futures = [pool.submit(log.append, [appends[0]])]
    until(lambda: len(spy.senders) == sent + 1)
    futures += [pool.submit(log.append, [append]) for append in appends[1:]]
    until(lambda: log.waiting == len(appends) - 1)
    return futures


def test_of_many_threads_each_gets_its_own_verdict_and_nothing_is_lost(log: Postgres) -> None:
    asked = mixed(SEED, writers=WRITERS, turns=20, tenants=3)
    kinds = {type(answer) for script in asked.scripts for answer in script.answers}
    assert kinds == {tuple, Duplicate, Conflict, Mismatch}
    log.append([asked.before])
    spy = Spy(log)

    def write(script: Script) -> list[Verdict]:
        shared: list[Verdict] = []
        for append, expected in zip(script.appends, script.answers, strict=True):
            (verdict,) = log.append([append])
            assert answer_of(verdict) == expected, f"seed {SEED}"
            shared += log.append([appending(asked.shared, raw_event())])
        return shared

    with ThreadPoolExecutor(WRITERS) as pool:
        told = list(pool.map(write, asked.scripts))
    verify(log, asked, [verdict for each in told for verdict in each])
    assert len(spy.senders) < 2 * 20 * WRITERS


def test_who_waits_shares_one_statement(url: str, log: Postgres, pool: ThreadPoolExecutor) -> None:
    shard, spy = shard_of(log), Spy(log)
    with stuck(url, shard):
        appends = [appending(uuid4(), raw_event()) for _ in range(WRITERS)]
        futures = queued(log, spy, pool, appends)
    verdicts = [future.result(PATIENCE) for future in futures]
    assert verdicts == [[Recorded(1, 1, position)] for position in range(2, WRITERS + 2)]
    assert len(spy.senders) == 2


def test_a_lone_caller_sends_one_statement_from_its_own_thread(log: Postgres) -> None:
    spy = Spy(log)
    log.append([appending(uuid4(), raw_event())])
    assert spy.senders == [threading.current_thread()]


def test_what_is_not_for_the_tenant_is_refused_and_the_rest_of_the_batch_is_recorded(
    url: str, log: Postgres, pool: ThreadPoolExecutor
) -> None:
    shard, spy, other = shard_of(log), Spy(log), uuid4()
    log.append([appending(other, raw_event(), tenant=OTHER_TENANT)])
    with stuck(url, shard):
        good = [appending(uuid4(), raw_event()) for _ in range(4)]
        bad = appending(other, raw_event())
        first, second, refused, *rest = queued(log, spy, pool, [*good[:2], bad, *good[2:]])
    for future in (first, second, *rest):
        (verdict,) = future.result(PATIENCE)
        assert answer_of(verdict) == (1, 1)
    with pytest.raises(StorageReadOnly, match="another tenant"):
        refused.result(PATIENCE)
    assert len(verified_log(log)) == 6


def test_batches_that_bring_the_same_new_tenants_do_not_wait_for_each_other(
    url: str, log: Postgres, pool: ThreadPoolExecutor
) -> None:
    first, *later = (UUID(int=number) for number in range(1, 40))
    batch = [appending(uuid4(), raw_event(), tenant=each) for each in (*later, first)]
    with psycopg.connect(url) as other:
        other.execute(BRING_TENANT, (first,))
        appended = pool.submit(log.append, batch)
        until(lambda: counted(url, WAITING_FOR_ANOTHER) == 1)
        for tenant in later:
            other.execute(BRING_TENANT, (tenant,))
    assert {answer_of(verdict) for verdict in appended.result(PATIENCE)} == {(1, 1)}


def test_what_the_server_cannot_hold_is_an_error_of_its_caller_alone(
    url: str, log: Postgres, pool: ThreadPoolExecutor
) -> None:
    shard, spy = shard_of(log), Spy(log)
    with stuck(url, shard):
        good = [appending(uuid4(), raw_event()) for _ in range(3)]
        bad = appending(uuid4(), raw_event()._replace(type="zero\0"))
        first, second, refused, last = queued(log, spy, pool, [*good[:2], bad, good[2]])
    for future in (first, second, last):
        (verdict,) = future.result(PATIENCE)
        assert answer_of(verdict) == (1, 1)
    with pytest.raises(InvalidInput, match="zero byte"):
        refused.result(PATIENCE)


def test_what_cannot_be_packed_is_an_error_of_its_caller_alone(log: Postgres) -> None:
    spy = Spy(log)
    with pytest.raises(struct.error):
        log.append([appending(uuid4(), raw_event(), expected_version=2**64)])
    assert spy.senders == []
    log.append([appending(uuid4(), raw_event())])


def test_closing_answers_everybody_who_waits(url: str, pool: ThreadPoolExecutor) -> None:
    log = open_postgres(url)
    shard, spy = shard_of(log), Spy(log)
    with stuck(url, shard):
        futures = queued(log, spy, pool, [appending(uuid4(), raw_event()) for _ in range(4)])
        log.close()
    first, *others = futures
    assert [answer_of(verdict) for verdict in first.result(PATIENCE)] == [(1, 1)]
    for other in others:
        with pytest.raises(StorageUnavailable, match="closed"):
            other.result(PATIENCE)
    again = open_postgres(url)
    assert len(verified_log(again)) == 2
    again.close()


def test_a_server_that_ends_a_shared_commit_gets_it_once_more(
    url: str, log: Postgres, pool: ThreadPoolExecutor
) -> None:
    shard, spy = shard_of(log), Spy(log)
    with stuck(url, shard):
        futures = queued(log, spy, pool, [appending(uuid4(), raw_event()) for _ in range(4)])
        until(lambda: counted(url, WAITING_SESSIONS) == 1)
        assert counted(url, END_WAITING_SESSIONS) == 1
    for future in futures:
        (verdict,) = future.result(PATIENCE)
        assert answer_of(verdict) == (1, 1)
    assert len(verified_log(log)) == 5


def test_a_lock_timeout_befalls_the_batch_and_each_of_its_callers_is_told(
    url: str, pool: ThreadPoolExecutor
) -> None:
    log = open_postgres(f"{url}{'&' if '?' in url else '?'}options=-c%20lock_timeout%3D1500")
    shard, spy = shard_of(log), Spy(log)
    with stuck(url, shard):
        futures = queued(log, spy, pool, [appending(uuid4(), raw_event()) for _ in range(3)])
        errors = [future.exception(PATIENCE) for future in futures]
    assert [type(error) for error in errors] == [StorageBusy] * 3
    assert len({id(error) for error in errors}) == 3
    log.close()


def test_a_process_that_begins_anew_waits_for_nobody_of_before(url: str) -> None:
    log = open_postgres(url, Limits(connections=2))
    shard = shard_of(log)
    other = next(tenant for tenant in tenants() if shard_of_tenant(log, tenant) != shard)
    spy = Spy(log)
    with ThreadPoolExecutor(1) as pool, stuck(url, shard):
        waiting = pool.submit(log.append, [appending(uuid4(), raw_event())])
        until(lambda: len(spy.senders) == 1)
        inherited = log.connections
        log.begin_anew()
        (verdict,) = log.append([appending(uuid4(), raw_event(), tenant=other)])
        assert answer_of(verdict) == (1, 1)
    waiting.result(PATIENCE)
    inherited.close()
    log.close()


def tenants() -> Iterator[UUID]:
    yield from (UUID(int=number) for number in range(1, 1000))


def shard_of_tenant(log: Postgres, tenant: UUID) -> int:
    before = {cursor.shard: cursor.position for cursor in log.cursors()}
    log.append([appending(uuid4(), raw_event(), tenant=tenant)])
    (shard,) = [c.shard for c in log.cursors() if c.position > before[c.shard]]
    return shard
