"""What a stranger or another tenant can hold: advisory locks, rows of its own; who waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final
from uuid import UUID, uuid4

import psycopg
import pytest

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.domain.errors import StorageBusy, StorageError
from onrecord.domain.log import Recorded
from onrecord.projections.views.registry import VIEWS
from tests.adapters.storage.neighbours import OURS, neighbour_of
from tests.adapters.storage.postgres.strangers import Lookout, gripped, guessed
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.storage.postgres.test_postgres_hints import (
    LISTENERS,
    Follower,
    append_one,
    start,
)
from tests.adapters.views.workers import caught_up
from tests.factories import BECAUSE, OTHER_TENANT, TENANT, appending, raw_event
from tests.patience import PATIENCE, until
from tests.postgres_server import VERSIONS, Server, owner_s, server
from tests.postgres_sessions import counted, never_poll

STRANGER: Final = "onrecord_stranger"
NEIGHBOUR: Final = "onrecord_neighbour"
APPEND: Final = """
SELECT * FROM onrecord.append(ARRAY[ROW(%s::uuid, gen_random_uuid(), NULL, ARRAY[
    ROW(gen_random_uuid(), 'test', 1, '{}', '', '{}', NULL, 0, NULL, 0, 0)::onrecord.new_event
], '{}')::onrecord.request])
"""


@pytest.fixture
def running() -> Server:
    return server(VERSIONS[-1])


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    """A log, a role with no rights in it, and one that is bound to another tenant."""
    created = running.create("log", migrate)
    for role in (STRANGER, NEIGHBOUR):
        running.execute("CREATE ROLE {} LOGIN", role)
    with psycopg.connect(owner_s(created), autocommit=True) as owner:
        owner.execute("SELECT onrecord.admit(%s, %s::uuid)", (NEIGHBOUR, OTHER_TENANT))
    yield created
    running.drop(created)
    for role in (STRANGER, NEIGHBOUR):
        running.execute("DROP ROLE {}", role)


TAKE: Final = "SELECT onrecord.must_take(%s, %s)"
STORE: Final = "SELECT onrecord.put_chunk(%s, %s, gen_random_uuid(), 0, 'report')"
FORGETS: Final = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND query LIKE '%onrecord.forget(%' AND pid <> pg_backend_pid()
"""
QUEUES: Final = """
SELECT count(*) FROM pg_locks WHERE relation = 'onrecord.erasure'::regclass AND NOT granted
"""


def impatient(url: str, patience: str = "5s") -> str:
    """The same log, where a wait for a lock is an error."""
    return f"{url}{'&' if '?' in url else '?'}options=-c%20lock_timeout%3D{patience}"


def day(url: str) -> None:
    """What goes on in a log: what tenants do, and a migration."""
    hour(url)
    with psycopg.connect(owner_s(url), autocommit=True) as owner:
        owner.execute("DELETE FROM onrecord.migration WHERE part = 'functions'")
    assert migrate(owner_s(url)) == 1


def hour(url: str) -> None:
    """What tenants do: appends, documents, an erasure, views."""
    with onrecord.connect(url, tenant=TENANT) as store:
        store.conversation("kept").user("Hello")
        store.conversation("gone").user("Hello")
        assert store.forget("gone", **BECAUSE).events == 2
    caught_up(url, VIEWS)
    log = open_postgres(url)
    log.append([appending(uuid4(), raw_event()) for _ in range(3)])
    log.close()


@pytest.mark.parametrize("role", [STRANGER, NEIGHBOUR])
def test_who_holds_every_advisory_lock_holds_nobody_up(url: str, role: str) -> None:
    theirs = as_role(url, role)
    with Lookout(theirs) as lookout:
        day(url)
    with gripped(theirs, lookout.keys | guessed()) as grip:
        assert grip.held >= len(guessed())
        day(impatient(url))


@pytest.mark.parametrize("role", [STRANGER, NEIGHBOUR])
def test_hints_are_heard_whoever_holds_every_advisory_lock(
    url: str, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_poll(monkeypatch)
    here, there = open_postgres(url), open_postgres(url)
    after = start(there)
    with gripped(as_role(url, role), guessed()):
        follower = Follower(here, after)
        for _ in range(3):
            position = append_one(there)
            assert follower.seen.get(timeout=PATIENCE) == position
    # Once the lock is free it is the listener's, and hints go on.
    until(lambda: counted(url, LISTENERS) == 1, "the listener")
    with Lookout(as_role(url, role)) as lookout:
        until(lambda: lookout.keys, "the listener's key")
    with gripped(as_role(url, role), lookout.keys | guessed()):
        position = append_one(there)
        assert follower.seen.get(timeout=PATIENCE) == position
        second = Follower(there, after)
        position = append_one(here)
        while second.seen.get(timeout=PATIENCE) != position:
            pass
    follower.stop()
    second.stop()
    here.close()
    there.close()


def test_an_append_that_is_left_open_ends_by_the_timeout_of_its_role(
    url: str, running: Server
) -> None:
    """Who appends in a transaction of its own holds its shard up: these two settings bound that."""
    tenant = neighbour_of(url)
    with psycopg.connect(owner_s(url), autocommit=True) as owner:
        owner.execute("SELECT onrecord.admit(%s, %s::uuid)", (NEIGHBOUR, tenant))
    running.execute("ALTER ROLE {} SET idle_in_transaction_session_timeout = '2s'", NEIGHBOUR)
    log = open_postgres(impatient(url, "100ms"))
    holder = psycopg.connect(as_role(url, NEIGHBOUR))
    holder.execute(APPEND, (tenant,))
    with pytest.raises(StorageBusy):
        log.append([appending(uuid4(), raw_event(), tenant=OURS)])
    log.close()
    log = open_postgres(url)
    assert log.append([appending(uuid4(), raw_event(), tenant=OURS)]) == [Recorded(1, 1, 1)]
    log.close()
    with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
        holder.execute("SELECT 1")
    holder.close()


def test_an_append_without_the_row_of_its_shard_s_lock_is_refused(url: str) -> None:
    with psycopg.connect(owner_s(url), autocommit=True) as owner:
        owner.execute("DELETE FROM onrecord.shard_lock")
    log = open_postgres(url)
    with pytest.raises(StorageError, match="damaged"):
        log.append([appending(uuid4(), raw_event())])
    log.close()


@pytest.fixture
def elsewhere(url: str) -> tuple[UUID, UUID]:
    """A tenant of another shard than ours, to which a role is bound, and a conversation of it."""
    shard = "SELECT shard FROM onrecord.tenant WHERE tenant = %s"
    with psycopg.connect(owner_s(url), autocommit=True) as owner:
        for tenant in (TENANT, *(uuid4() for _ in range(50))):
            with onrecord.connect(url, tenant=tenant) as store:
                chat = store.conversation("held")
                chat.user("Hello")
            found = [owner.execute(shard, (one,)).fetchone() for one in (TENANT, tenant)]
            if found[0] != found[1]:
                owner.execute("SELECT onrecord.admit(%s, %s::uuid)", (NEIGHBOUR, tenant))
                return tenant, chat.conversation_id
    raise AssertionError("all of them are of one shard")


def forgetting(url: str, pool: ThreadPoolExecutor, conversation: UUID) -> Future[int]:
    def forget() -> int:
        log = open_postgres(url)
        try:
            return log.forget(conversation)
        finally:
            log.close()

    return pool.submit(forget)


@pytest.mark.parametrize("hold", [TAKE, STORE, APPEND])
def test_an_erasure_that_waits_for_its_own_tenant_holds_up_no_other(
    url: str, elsewhere: tuple[UUID, UUID], hold: str
) -> None:
    conversation = elsewhere[1]
    with ThreadPoolExecutor(1) as pool, psycopg.connect(as_role(url, NEIGHBOUR)) as holder:
        holder.execute(hold.encode(), elsewhere[: hold.count("%s")])
        erased = forgetting(url, pool, conversation)
        until(lambda: counted(url, FORGETS) == 1, "the erasure")
        hour(impatient(url))
        assert not erased.done()
        holder.rollback()
        assert erased.result(timeout=PATIENCE) == 2


def test_who_comes_in_while_an_erasure_waits_for_a_batch_holds_up_no_other(
    url: str, elsewhere: tuple[UUID, UUID]
) -> None:
    tenant, conversation = elsewhere
    with (
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(owner_s(url)) as batch,
        psycopg.connect(as_role(url, NEIGHBOUR)) as holder,
    ):
        batch.execute("SELECT onrecord.hold_off_erasures()")
        erased = forgetting(url, pool, conversation)
        until(lambda: counted(url, QUEUES) == 1, "the erasure")
        holder.execute(TAKE, (tenant, conversation))
        batch.rollback()
        hour(impatient(url))
        assert not erased.done()
        holder.rollback()
        assert erased.result(timeout=PATIENCE) == 2
