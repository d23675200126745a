"""Projections of one's own on PostgreSQL, by roles with no more rights than they need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import onrecord
from onrecord import ProjectionTransaction
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.domain.errors import InvalidInput, StorageReadOnly
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.own_projections import Heard, Lengths, Mailbox, asked, heard
from tests.adapters.views.workers import asked as queried
from tests.postgres_server import VERSIONS, server

ROLE = "onrecord_own_worker"


class Granted(Heard):
    """Its table was made for it."""

    def create_tables(self, transaction: ProjectionTransaction) -> None:
        del transaction


@pytest.fixture(params=VERSIONS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A log in which a prompt was asked, and a worker's role."""
    running = server(request.param)
    created = running.create("log", migrate)
    running.execute("CREATE ROLE {} LOGIN", ROLE)
    queried(created, "SELECT onrecord.admit_worker(%s)", ROLE)
    with onrecord.connect(created) as store:
        asked(store, "a")
    yield created
    running.drop(created)
    running.execute("DROP ROLE {}", ROLE)


def test_a_workers_role_writes_to_tables_that_it_was_given(url: str) -> None:
    queried(url, "CREATE TABLE heard (generation integer, conversation text, version integer)")
    queried(url, "GRANT SELECT, INSERT, DELETE ON heard TO onrecord_own_worker")
    with onrecord.connect(as_role(url, ROLE)) as store:
        projection = Granted()
        store.run(projection)
        assert heard(store, projection) == [("a", 2)]


def test_a_workers_role_keeps_rows_and_feeds_sinks(url: str) -> None:
    with onrecord.connect(as_role(url, ROLE)) as store:
        store.run(Lengths())
        assert [row.value for row in store.views.rows("lengths")] == [{"length": 10}]
        sink = Mailbox()
        store.run(sink)
        assert len(sink.mail) == 1


def test_a_role_that_may_make_no_tables_is_told_so_and_no_worker_starts(url: str) -> None:
    queried(url, "REVOKE CREATE ON SCHEMA public FROM public")
    with (
        onrecord.connect(as_role(url, ROLE)) as store,
        pytest.raises(InvalidInput, match=r"create_tables.*InsufficientPrivilege"),
    ):
        store.run(Heard())


def test_a_role_that_only_appends_keeps_no_projection(url: str) -> None:
    queried(url, "SELECT onrecord.admit(%s)", ROLE)
    with (
        onrecord.connect(as_role(url, ROLE)) as store,
        pytest.raises(StorageReadOnly, match="admit_worker"),
    ):
        store.run(Lengths())


def test_a_worker_that_could_not_begin_tells_so_to_whoever_asks_it_later(url: str) -> None:
    queried(url, "SELECT onrecord.admit(%s)", ROLE)
    worker = Worker(as_role(url, ROLE))
    with pytest.raises(StorageReadOnly, match="admit_worker"):
        worker.run()
    with pytest.raises(StorageReadOnly, match="admit_worker"):
        worker.ends()
