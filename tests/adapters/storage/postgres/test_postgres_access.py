"""What roles may tell of their reads: what they read, in the stream of their tenant and of today."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.storage.postgres import batch as postgres_batch
from onrecord.adapters.storage.postgres.postgres import Postgres, open_postgres
from onrecord.adapters.upkeep.access_log import now
from onrecord.domain.errors import StorageError, StorageReadOnly
from onrecord.domain.header import SALT_SIZE
from onrecord.domain.log import Append, NewEvent, Recorded
from onrecord.domain.marks.marked_ids import access_id, day_of, operators_of
from onrecord.domain.new_events import Stamp, draft_fact
from onrecord.domain.operators import AccessCounted, AccessFact, AccessRead, KeyUsed
from tests.adapters.storage.postgres.roles import ROLE
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.factories import OTHER_TENANT, TENANT, appending, raw_event
from tests.postgres_server import owner_s

KINDS = ("admit", "admit_auditor", "admit_eraser", "admit_gateway", "admit_issuer")


def let_in(url: str, verb: str, *bound: object) -> str:
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        arguments = ", ".join(["%s", *("%s::uuid" for _ in bound)])
        connection.execute(f"SELECT onrecord.{verb}({arguments})", (ROLE, *bound))  # pyright: ignore
    return as_role(url, ROLE)


@pytest.mark.parametrize(
    ("verb", "bound"),
    [*((verb, (TENANT,)) for verb in KINDS), *((verb, ()) for verb in (*KINDS, "admit_operator"))],
)
def test_who_reads_tells_so(url: str, owner: Postgres, verb: str, bound: tuple[UUID, ...]) -> None:
    owner.append([appending(uuid4(), raw_event()), appending(uuid4(), raw_event())])
    place = let_in(url, verb, *bound)
    with onrecord.connect(place, tenant=TENANT, actor="eve", access_log="required") as store:
        assert store.access.record("onrecord show", entries=2, actor="ana")
        store.access.counts.add("history")
    with onrecord.connect(
        url, tenant=TENANT
    ) as store:  # A bound runtime sees no operators' streams.
        shown, counted = sorted(store.access.entries(), key=lambda entry: not entry.via)
        assert (shown.actor_name, shown.via, shown.entries) == ("ana", "onrecord show", 2)
        assert (counted.actor_name, counted.reads) == ("eve", {"history": 1})


@pytest.fixture(params=[*KINDS])
def role(request: pytest.FixtureRequest, url: str, owner: Postgres) -> Iterator[Postgres]:
    owner.append([appending(uuid4(), raw_event())])
    owner.append([appending(uuid4(), raw_event(), tenant=OTHER_TENANT)])
    log = open_postgres(let_in(url, request.param, TENANT))
    yield log
    log.close()


def told(
    fact: AccessFact | KeyUsed, *, tenant: UUID = TENANT, day: int | None = None
) -> tuple[UUID, UUID, NewEvent]:
    operators, at = operators_of(tenant), fact.at
    stream = access_id(tenant, day_of(at) if day is None else day)
    stamp = Stamp(uuid7(), at, secrets.token_bytes(SALT_SIZE), operators, stream, None)
    return operators, stream, draft_fact(fact, stamp)


def test_nothing_else_is_told_there(
    role: Postgres, owner: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_batch, "must_be_apart", list[Append])
    at, week = now(), 7 * 86_400_000_000
    read = AccessRead(tenant=TENANT, via="onrecord show", at=at)
    operators, stream, event = told(read)
    for wrong in (
        told(AccessRead(tenant=OTHER_TENANT, via="x", at=at), tenant=OTHER_TENANT),
        told(AccessRead(tenant=OTHER_TENANT, via="x", at=at)),
        told(AccessRead(tenant=TENANT, via="x", at=at - week)),
        told(AccessCounted(tenant=TENANT, reads={"x": 1}, at=at + week)),
        told(read, day=day_of(at) + 1),
        told(KeyUsed(tenant=TENANT, at=at)),
        (operators, stream, event._replace(once="once")),
        (operators, stream, event._replace(needs="open")),
        (operators, stream, event._replace(body=b"no JSON")),
        (operators, stream, event._replace(body=b'{"tenant":7,"at":"soon"}')),
    ):
        of_tenant, of_stream, added = wrong
        with pytest.raises(StorageError):
            role.append([Append(of_tenant, of_stream, (added,))])
    assert list(owner.read(stream)) == []
    (verdict,) = role.append([Append(operators, stream, (event,))])
    assert isinstance(verdict, Recorded)


def test_the_name_of_a_reader_is_kept_for_its_own_tenant_only(role: Postgres) -> None:
    role.actors().keep(TENANT, role.digest("ana"), "ana")
    with pytest.raises(StorageReadOnly):
        role.actors().keep(OTHER_TENANT, role.digest("ana"), "ana")
