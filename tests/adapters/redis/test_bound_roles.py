"""A role of PostgreSQL that is bound to a tenant has that tenant's seal, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from onrecord.adapters.redis.accelerator import Accelerator
from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.redis.tails import TailSubscription, opened, seal
from onrecord.adapters.storage.append import tenant_seal
from onrecord.adapters.storage.postgres.postgres import Postgres, migrate, open_postgres
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.factories import OTHER_TENANT, TENANT, appending, raw_event
from tests.postgres_server import VERSIONS, server

ROLE = "onrecord_bound"
PLACE = "onrecord:0:tail:0 field"


@pytest.fixture
def database() -> Iterator[str]:
    """A database with an empty log, and a role that is bound to a tenant."""
    running = server(VERSIONS[-1])
    created = running.create("log", migrate)
    running.execute("CREATE ROLE {} LOGIN", ROLE)
    with psycopg.connect(created, autocommit=True) as connection:
        connection.execute("SELECT onrecord.admit(%s, %s)", (ROLE, TENANT))
    yield created
    running.drop(created)
    running.execute("DROP ROLE {}", ROLE)


@pytest.fixture
def owner(database: str) -> Iterator[Postgres]:
    log = open_postgres(database)
    yield log
    log.close()


@pytest.fixture
def bound(database: str) -> Iterator[Postgres]:
    log = open_postgres(as_role(database, ROLE))
    yield log
    log.close()


def test_what_was_sealed_for_another_tenant_does_not_open(owner: Postgres, bound: Postgres) -> None:
    ours, theirs = owner.prover(TENANT), owner.prover(OTHER_TENANT)
    own = bound.prover(TENANT)
    assert ours is not None
    assert theirs is not None
    assert own is not None
    assert opened(own, PLACE, seal(ours, PLACE, b"ours")) == b"ours"
    assert opened(ours, PLACE, seal(own, PLACE, b"ours")) == b"ours"
    assert opened(own, PLACE, seal(theirs, PLACE, b"theirs")) is None
    assert opened(theirs, PLACE, seal(own, PLACE, b"forged")) is None
    assert bound.prover(OTHER_TENANT) is None
    assert bound.prover(None) is None


def test_a_bound_role_is_told_the_seal_of_its_tenant_and_reads_no_key(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        (kept,) = connection.execute("SELECT seal FROM onrecord.meta").fetchone() or (b"",)
        assert len(kept) == 32
    with psycopg.connect(as_role(database, ROLE), autocommit=True) as connection:
        told = connection.execute("SELECT seal, tenant FROM onrecord.identity()").fetchall()
        assert told == [(sha256(kept + TENANT.bytes).digest(), TENANT)]
        assert told[0][0] == tenant_seal(kept, TENANT)
        for column in ("*", "key", "seal", "shards"):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(f"SELECT {column} FROM onrecord.meta".encode())


def test_a_bound_role_follows_the_log_and_relays_nothing(
    owner: Postgres, bound: Postgres, asked: Connection
) -> None:
    owner.append([appending(uuid4(), raw_event())])
    end = next(cursor for cursor in owner.cursors() if cursor.position)
    unbound = Accelerator(asked, owner).subscribe(end, TENANT)
    assert isinstance(unbound, TailSubscription)
    unbound.stop()
    with Accelerator(asked, bound).subscribe(end, TENANT) as events:
        assert not isinstance(events, TailSubscription)
        added = appending(uuid4(), raw_event())
        owner.append([added])
        assert next(events).conversation_id == added.conversation_id
