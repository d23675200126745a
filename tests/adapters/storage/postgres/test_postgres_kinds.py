"""Each kind of role on PostgreSQL does what it is for, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, LiteralString
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import StorageReadOnly
from onrecord.projections.views.registry import VIEWS
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.workers import caught_up
from tests.factories import BECAUSE, TENANT, answer, appending, prompt
from tests.postgres_server import VERSIONS, Server, server

ROLE: Final = "onrecord_kind"
MEMBER: Final = "onrecord_member"
KEY: Final = "support/4711"


@pytest.fixture
def running() -> Server:
    return server(VERSIONS[-1])


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    """A database in which a tenant said something, with views, and a role that nobody has let in."""
    created = running.create("log", migrate)
    running.execute("CREATE ROLE {} LOGIN", ROLE)
    with onrecord.connect(created, tenant=TENANT) as store:
        store.conversation(KEY).log.append(prompt("Hello"), answer("Hi"))
    caught_up(created, VIEWS)
    yield created
    running.drop(created)
    running.execute("DROP ROLE {}", ROLE)


def let_in(url: str, verb: LiteralString, *bound: object) -> str:
    arguments: LiteralString = "%s, %s" if bound else "%s"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SELECT onrecord.{verb}({arguments})", (ROLE, *bound))
    return as_role(url, ROLE)


def refused(url: str, statement: LiteralString) -> None:
    with (
        psycopg.connect(url, autocommit=True) as connection,
        pytest.raises(errors.InsufficientPrivilege),
    ):
        connection.execute(statement)


def test_an_operator_keeps_views_and_appends_nothing(url: str) -> None:
    with onrecord.connect(let_in(url, "admit_operator"), tenant=TENANT) as store:
        keeper = store.views.keeper
        keeper.pause("audit")
        keeper.resume("audit")
        assert keeper.retry("audit") == 0
        keeper.rebuild("usage")
        keeper.rebuild("search")
        assert len(store.views.search("hello")) == 1
        with pytest.raises(StorageReadOnly):
            backend_of(store).append([appending(uuid4(), prompt())])
        with pytest.raises(StorageReadOnly):
            store.forget(KEY, **BECAUSE)


def test_a_worker_folds_and_pauses_nothing(url: str) -> None:
    as_worker = let_in(url, "admit_worker")
    with onrecord.connect(url, tenant=TENANT) as store:
        store.conversation(KEY).user("And?")
    caught_up(as_worker, VIEWS)
    with onrecord.connect(as_worker, tenant=TENANT) as store:
        assert len(store.views.search("and")) == 1
        with pytest.raises(StorageReadOnly):
            store.views.keeper.pause("audit")
        with pytest.raises(StorageReadOnly):
            backend_of(store).append([appending(uuid4(), prompt())])


@pytest.mark.parametrize("bound", [(), (TENANT,)])
def test_an_auditor_reads_all_of_it_and_changes_nothing(
    url: str, bound: tuple[object, ...]
) -> None:
    with onrecord.connect(url, tenant=TENANT) as store:
        gone = store.conversation("support/4712")
        gone.user("Forget me")
        store.forget("support/4712", **BECAUSE)
    as_auditor = let_in(url, "admit_auditor", *bound)
    with onrecord.connect(as_auditor, tenant=TENANT) as store:
        assert [
            event.type for event in backend_of(store).read(backend_of(store).open(TENANT, KEY))
        ][1:]
        assert len(store.views.search("hello")) == 1
        assert len(list(store.erasures())) == 1
        if not bound:
            assert store.verify().faults == ()
        with pytest.raises(StorageReadOnly):
            store.conversation(KEY).user("And?")
        with pytest.raises(StorageReadOnly):
            store.views.keeper.pause("audit")
    if bound:
        refused(as_auditor, "SELECT FROM onrecord.caller")
    else:
        with psycopg.connect(as_auditor, autocommit=True) as connection:
            admitted = connection.execute("SELECT role, kind FROM onrecord.caller").fetchall()
        assert admitted == [(ROLE, "auditor")]


def test_a_sealer_reads_leaves_and_heads_and_no_content(url: str) -> None:
    as_sealer = let_in(url, "admit_sealer")
    with psycopg.connect(as_sealer, autocommit=True) as connection:
        leaves = "SELECT shard, position, leaf, digest FROM onrecord.event ORDER BY shard, position"
        assert len(connection.execute(leaves).fetchall()) == 3
        heads = "SELECT conversation_id, version FROM onrecord.conversation_head"
        assert len(connection.execute(heads).fetchall()) == 1
        keys = connection.execute("SELECT key, seal FROM onrecord.identity()").fetchall()
        assert keys == [(None, None)]
    for statement in (
        "SELECT body FROM onrecord.event",
        "SELECT header FROM onrecord.event",
        "SELECT salt FROM onrecord.event",
        "SELECT once FROM onrecord.event",
        "SELECT open_calls FROM onrecord.conversation_head",
        "SELECT FROM onrecord.view_search",
        "SELECT FROM onrecord.blob_chunk",
        "SELECT FROM onrecord.conversation_key",
    ):
        refused(as_sealer, statement)
    log = open_postgres(as_sealer)
    assert [cursor.position for cursor in log.cursors() if cursor.position] == [3]
    with pytest.raises(StorageReadOnly, match="sealer"):
        log.find(TENANT, KEY)
    log.close()


def test_who_is_let_in_again_has_no_right_of_before(url: str) -> None:
    as_role_of_before = let_in(url, "admit_worker")
    let_in(url, "admit")
    refused(as_role_of_before, "DELETE FROM onrecord.view_audit")
    let_in(url, "admit_auditor")
    refused(as_role_of_before, "SELECT onrecord.must_take(gen_random_uuid(), gen_random_uuid())")


def test_a_member_of_a_bound_role_has_none_of_its_rights(url: str, running: Server) -> None:
    let_in(url, "admit", TENANT)
    running.execute("CREATE ROLE {} LOGIN IN ROLE {}", MEMBER, ROLE)
    try:
        refused(as_role(url, MEMBER), "SELECT FROM onrecord.event")
        refused(as_role(url, MEMBER), "SELECT onrecord.identity()")
        with pytest.raises(StorageReadOnly):
            open_postgres(as_role(url, MEMBER))
    finally:
        running.execute("DROP ROLE {}", MEMBER)


def test_a_migration_gives_nothing_to_a_role_that_was_dropped(url: str, running: Server) -> None:
    let_in(url, "admit")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP OWNED BY onrecord_kind")
        running.execute("DROP ROLE {}", ROLE)
        running.execute("CREATE ROLE {} LOGIN", ROLE)
        connection.execute("SELECT onrecord.renew_admissions()")
    refused(as_role(url, ROLE), "SELECT FROM onrecord.event")
