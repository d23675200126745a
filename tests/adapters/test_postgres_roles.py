"""Who may do what: events never change, applications only append, tenants do not meet."""

from collections.abc import Iterator
from typing import LiteralString
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.sql import SQL, Identifier

from onrecord.adapters.storage.postgres import Postgres, migrate, open_postgres
from onrecord.domain.errors import StorageReadOnly
from onrecord.domain.log import Recorded
from tests.adapters.test_postgres import as_role
from tests.factories import OTHER_TENANT, TENANT, appending, raw_event
from tests.ledger import verified_log
from tests.postgres_server import VERSIONS, Server, server

ROLE = "onrecord_app"


@pytest.fixture
def running() -> Server:
    return server(VERSIONS[-1])


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    """A database with an empty log, and a role that nobody has let in yet."""
    created = running.create("log", migrate)
    running.execute("CREATE ROLE {} LOGIN", ROLE)
    yield created
    running.drop(created)
    running.execute("DROP ROLE {}", ROLE)


@pytest.fixture
def owner(url: str) -> Iterator[Postgres]:
    log = open_postgres(url)
    yield log
    log.close()


def admit(url: str, tenant: object = None) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT onrecord.admit(%s, %s::uuid)", (ROLE, tenant))
    return as_role(url, ROLE)


CHANGES: tuple[LiteralString, ...] = (
    "UPDATE onrecord.event SET body = 'rewritten'",
    "UPDATE onrecord.event SET body = NULL, salt = NULL",
    "DELETE FROM onrecord.event",
    "TRUNCATE onrecord.event",
)


@pytest.mark.parametrize("change", CHANGES)
def test_events_never_change_not_even_for_their_owner(
    url: str, owner: Postgres, change: LiteralString
) -> None:
    owner.append([appending(uuid4(), raw_event(), raw_event())])
    before = verified_log(owner)
    with (
        psycopg.connect(url, autocommit=True) as connection,
        pytest.raises(errors.ObjectNotInPrerequisiteState, match="immutable"),
    ):
        connection.execute(change)
    assert verified_log(owner) == before


def test_erasing_takes_nothing_but_what_was_said(url: str, owner: Postgres) -> None:
    owner.append([appending(uuid4(), raw_event())])
    with psycopg.connect(url, autocommit=True) as connection, connection.transaction():
        connection.execute("SELECT set_config('onrecord.erasing', 'on', true)")
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="immutable"):
            connection.execute("UPDATE onrecord.event SET body = NULL, salt = NULL, version = 7")


@pytest.mark.parametrize(
    "change",
    [
        *CHANGES,
        "INSERT INTO onrecord.event SELECT * FROM onrecord.event",
        "UPDATE onrecord.conversation_head SET version = 0",
        "DELETE FROM onrecord.blob",
        "UPDATE onrecord.meta SET incarnation = gen_random_uuid()",
        "INSERT INTO onrecord.caller VALUES ('onrecord_app', gen_random_uuid())",
        "SELECT onrecord.admit('onrecord_app')",
        "SELECT onrecord.forget_in_log(e.conversation_id) FROM onrecord.event AS e",
        "ALTER TABLE onrecord.event DISABLE TRIGGER ALL",
    ],
)
def test_an_application_may_append_and_nothing_else(url: str, change: LiteralString) -> None:
    log = open_postgres(admit(url))
    assert log.append([appending(uuid4(), raw_event())]) == [Recorded(1, 1, 1)]
    with (
        psycopg.connect(as_role(url, ROLE), autocommit=True) as connection,
        pytest.raises(errors.InsufficientPrivilege),
    ):
        connection.execute(change)
    log.close()


def test_an_application_has_all_the_verbs(url: str) -> None:
    log = open_postgres(admit(url))
    conversation = log.open(TENANT, "support/4711")
    blob = log.put_blob(TENANT, conversation, [b"large"])
    log.append([appending(conversation, raw_event(blobs=(blob,)))])
    assert b"".join(log.get_blob(conversation, blob)) == b"large"
    assert [found.conversation_id for found in log.conversations(TENANT)] == [conversation]
    assert log.sweep_blobs(2**62) == 0
    assert log.forget(conversation) == 1
    assert log.find(TENANT, "support/4711") is None
    assert len(verified_log(log)) == 1
    log.close()


def test_a_role_that_was_not_let_in_is_told_how(url: str, owner: Postgres) -> None:
    with pytest.raises(StorageReadOnly, match=r"onrecord\.admit"):
        open_postgres(as_role(url, ROLE))


def test_a_bound_role_writes_for_its_tenant_only(url: str, owner: Postgres) -> None:
    theirs, taken = uuid4(), uuid4()
    owner.append([appending(theirs, raw_event(), tenant=OTHER_TENANT)])
    bound = open_postgres(admit(url, TENANT))
    assert isinstance(bound.append([appending(uuid4(), raw_event())])[0], Recorded)
    before = verified_log(owner)
    with pytest.raises(StorageReadOnly, match="no right"):
        bound.append([appending(uuid4(), raw_event(), tenant=OTHER_TENANT)])
    with pytest.raises(StorageReadOnly, match="no right"):
        bound.append(
            [
                appending(uuid4(), raw_event()),
                appending(uuid4(), raw_event(), tenant=OTHER_TENANT),
            ]
        )
    with pytest.raises(StorageReadOnly, match="another tenant's"):
        bound.append([appending(taken, raw_event()), appending(theirs, raw_event())])
    with pytest.raises(StorageReadOnly, match="no right"):
        bound.open(OTHER_TENANT, "key")
    with pytest.raises(StorageReadOnly, match="no right"):
        bound.put_blob(OTHER_TENANT, theirs, [b"bytes"])
    assert bound.forget(theirs) == 0
    assert verified_log(owner) == before
    bound.close()


def test_a_bound_role_sees_its_tenant_only(url: str, owner: Postgres) -> None:
    ours, theirs = owner.open(TENANT, "ours"), owner.open(OTHER_TENANT, "theirs")
    blob = owner.put_blob(OTHER_TENANT, theirs, [b"their bytes"])
    owner.append(
        [
            appending(ours, raw_event()),
            appending(theirs, raw_event(blobs=(blob,)), tenant=OTHER_TENANT),
        ]
    )
    bound = open_postgres(admit(url, TENANT))
    assert [event.version for event in bound.read(ours)] == [1]
    assert list(bound.read(theirs)) == []
    assert bound.head(theirs).version == 0
    assert bound.find(OTHER_TENANT, "theirs") is None
    assert list(bound.conversations(OTHER_TENANT)) == []
    bound.close()
    with psycopg.connect(as_role(url, ROLE), autocommit=True) as connection:
        for table in ("tenant", "event", "conversation_head", "conversation_key", "blob_chunk"):
            query = SQL("SELECT tenant FROM onrecord.{}").format(Identifier(table))
            assert {tenant for (tenant,) in connection.execute(query)} <= {TENANT}


def test_the_binding_goes_by_who_logged_in(url: str, owner: Postgres) -> None:
    admit(url, TENANT)
    with psycopg.connect(as_role(url, ROLE), autocommit=True) as connection:
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("SET ROLE postgres")
        connection.execute("SELECT set_config('onrecord.erasing', 'on', false)")
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("UPDATE onrecord.event SET body = NULL")
