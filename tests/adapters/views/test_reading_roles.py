"""Pages on PostgreSQL: for roles that may only append and read, and where a connection is lost."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.domain.errors import StorageReadOnly
from onrecord.projections.views.registry import VIEWS
from tests.adapters.storage.postgres.test_migration_traffic import make_older
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.workers import caught_up
from tests.factories import (
    BECAUSE,
    OTHER_TENANT,
    TENANT,
    answer,
    appending,
    prompt,
    started,
    tool_call,
)
from tests.postgres_server import VERSIONS, server

ROLE = "onrecord_reader"


@pytest.fixture
def url() -> Iterator[str]:
    """A database in which two tenants said something, with views that have caught up."""
    running = server(VERSIONS[-1])
    created = running.create("log", migrate)
    running.execute("CREATE ROLE {} LOGIN", ROLE)
    log = open_postgres(created)
    for tenant in (TENANT, OTHER_TENANT):
        events = (started(f"of {tenant}"), prompt("Hello"), tool_call("c1"), answer("Hi"))
        log.append([appending(uuid4(), *events, tenant=tenant)])
    log.close()
    caught_up(created, VIEWS)
    yield created
    running.drop(created)
    running.execute("DROP ROLE {}", ROLE)


@pytest.fixture(params=VERSIONS)
def older(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of before there were views."""
    running = server(request.param)
    created = running.create("older", make_older)
    running.execute("CREATE ROLE {} LOGIN", ROLE)
    yield created
    running.drop(created)
    running.execute("DROP ROLE {}", ROLE)


def admitted(url: str, tenant: object) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT onrecord.admit(%s, %s::uuid)", (ROLE, tenant))
    return as_role(url, ROLE)


@pytest.mark.parametrize("bound", [TENANT, None])
def test_a_role_that_only_reads_and_appends_reads_every_view(url: str, bound: object) -> None:
    with onrecord.connect(admitted(url, bound), tenant=TENANT) as store:
        views = store.views
        assert [found.title for found in views.conversations()] == ["Hello"]
        assert [hit.key for hit in views.search("hello")] == [f"of {TENANT}"]
        assert len(views.tool_calls()) == 1
        assert [entry.key for entry in views.audit()] == [f"of {TENANT}"] * 4
        assert len(views.window(views.conversations().entries[0].conversation_id)) == 1
        page = views.usage()
        assert (len(page), page.behind, page.stopped) == (0, 0, None)


def test_a_role_that_was_admitted_before_there_were_views_reads_them_all(older: str) -> None:
    reader = admitted(older, TENANT)
    assert migrate(older) > 0
    with onrecord.connect(reader, tenant=TENANT) as store:
        store.conversation("support/4711").user("Hello")
        caught_up(older, VIEWS)
        assert len(store.views.search("hello")) == len(store.views.conversations()) == 1
        with pytest.raises(StorageReadOnly):
            store.forget("support/4711", **BECAUSE)
        assert len(store.views.search("hello")) == 1
    with onrecord.connect(older, tenant=TENANT) as store:
        assert store.forget("support/4711", **BECAUSE).events == 2
        assert len(store.views.search("hello")) == 0


def test_a_role_that_is_bound_to_another_tenant_reads_nothing_of_this_one(url: str) -> None:
    with onrecord.connect(admitted(url, OTHER_TENANT), tenant=TENANT) as store:
        views = store.views
        pages = (views.conversations(), views.search("hello"), views.tool_calls(), views.audit())
        assert [len(page) for page in pages] == [0, 0, 0, 0]


def test_a_role_that_only_reads_and_appends_keeps_no_views(url: str) -> None:
    with onrecord.connect(admitted(url, None), tenant=TENANT) as store:
        with pytest.raises(StorageReadOnly):
            store.views.keeper.pause("audit")
        assert {standing.paused for standing in store.views.keeper.status()} == {False}


def test_a_page_is_read_on_another_connection_where_one_was_lost(url: str) -> None:
    with onrecord.connect(url, tenant=TENANT) as store:
        before = store.views.audit()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert store.views.audit() == before
