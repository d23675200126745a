"""Roles of a database and keys of the service: who makes keys, who tells that they were used, and who reads them."""

from __future__ import annotations

from contextlib import nullcontext
from uuid import UUID, uuid4

import psycopg
import pytest

import onrecord
from onrecord.adapters.service.keyring import LogKeyring
from onrecord.adapters.storage.postgres import batch as postgres_batch
from onrecord.adapters.storage.postgres.postgres import Postgres, open_postgres
from onrecord.adapters.upkeep.keys import (
    issue_key,
    moment,
    new_request,
    revoke_key,
    service_keys,
)
from onrecord.domain.errors import InvalidInput, StorageReadOnly
from onrecord.domain.head import Effect
from onrecord.domain.log import Append, Recorded
from onrecord.domain.marks.marked_ids import erasure_id, operators_of
from onrecord.domain.operators import (
    COMPLETED,
    INTENDED,
    ISSUED,
    REVOKED,
    USED,
    KeyIssued,
    KeyRevoked,
    KeyUsed,
    encode_fact,
)
from tests.adapters.storage.postgres.roles import ROLE
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.contract.keys import fitting, issued
from tests.factories import BECAUSE, OTHER_TENANT, TENANT, appending, raw_event
from tests.postgres_server import owner_s

EITHER = pytest.mark.parametrize("bound", [TENANT, None])


def admitted(url: str, kind: str, bound: UUID | None = None) -> Postgres:
    verb = "admit" if kind == "runtime" else f"admit_{kind}"
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        connection.execute(f"SELECT onrecord.{verb}(%s, %s::uuid)".encode(), (ROLE, bound))
    return open_postgres(as_role(url, ROLE))


def types_of(owner: Postgres, stream: UUID) -> list[str]:
    return [event.type for event in owner.read(stream)]


@EITHER
def test_a_gateway_reads_keys_tells_of_their_use_and_records_conversations(
    url: str, owner: Postgres, bound: UUID | None
) -> None:
    key = issued(owner)
    gateway = admitted(url, "gateway", bound)
    ring = LogKeyring(gateway)
    assert ring.is_used()
    assert ring.access(key.token) is not None
    assert ring.record_uses() == 1
    assert types_of(owner, key.key_id) == [ISSUED, USED]
    conversation = gateway.open(TENANT, "support/4711")
    blob = gateway.put_blob(TENANT, conversation, [b"large"])
    assert isinstance(
        gateway.append([appending(conversation, raw_event(blobs=(blob,)))])[0], Recorded
    )
    # Beside what others append, in one commit.
    later = new_request(key.key_id, KeyUsed(tenant=TENANT, at=moment()))
    for request in (later, appending(uuid4(), raw_event())):
        assert isinstance(gateway.append([request])[0], Recorded)
    gateway.close()


@EITHER
def test_a_gateway_makes_no_key_takes_none_back_and_erases_nothing(
    url: str, owner: Postgres, bound: UUID | None
) -> None:
    key = issued(owner)
    told = appending(uuid4(), raw_event())
    owner.append([told])
    gateway = admitted(url, "gateway", bound)
    with pytest.raises(StorageReadOnly, match=r"onrecord\.admit_issuer\('role'\)"):
        issue_key(gateway, TENANT, "x", actor="eve")
    with pytest.raises(StorageReadOnly, match=r"onrecord\.admit_issuer\('role'\)"):
        revoke_key(gateway, TENANT, key.key_id, reason="none", actor="eve")
    assert not gateway.may_forget()
    with pytest.raises(StorageReadOnly):
        gateway.forget(told.conversation_id)
    with pytest.raises(StorageReadOnly):
        gateway.sweep_blobs(0)
    gateway.close()
    assert types_of(owner, key.key_id) == [ISSUED]
    assert [entry.key_id for entry in service_keys(owner, TENANT)] == [key.key_id]


@EITHER
@pytest.mark.parametrize("kind", ["gateway", "runtime", "eraser"])
def test_no_role_but_an_issuer_forges_what_is_told_of_keys(
    url: str, owner: Postgres, bound: UUID | None, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a role asks of the functions, past what the library looks at."""
    monkeypatch.setattr(postgres_batch, "must_be_apart", list[Append])
    key, theirs = issued(owner), issued(owner, OTHER_TENANT)
    with onrecord.connect(url, tenant=TENANT) as store:
        store.conversation("gone").user("Hello")
        store.forget("gone", **BECAUSE)
        (erased,) = store.erasures()
    token, fresh, digest = fitting(owner)
    at = moment()
    forged_issue = KeyIssued(
        tenant=TENANT, digest=digest, name="x", role="operate", all_tenants=True, actor="e", at=at
    )
    issue = raw_event(body=encode_fact(forged_issue))._replace(type=ISSUED)
    use = raw_event(body=encode_fact(KeyUsed(tenant=TENANT, at=at)))._replace(type=USED)
    end = KeyRevoked(tenant=TENANT, actor="e", reason="none", at=at)
    revocation = raw_event(body=encode_fact(end))._replace(type=REVOKED)
    ours = operators_of(TENANT)
    requests = [
        appending(fresh, issue, tenant=ours),
        appending(fresh, issue, use, tenant=ours),
        appending(fresh, use, tenant=ours),
        appending(fresh, issue),
        appending(key.key_id, issue, tenant=ours),
        appending(key.key_id, revocation, tenant=ours),
        appending(key.key_id, use, revocation, tenant=ours),
        appending(key.key_id, use._replace(effect=Effect(closes=True)), tenant=ours),
        appending(key.key_id, use._replace(needs=None), tenant=ours),
        appending(key.key_id, use._replace(once="taken", needs="open"), tenant=ours),
        appending(key.key_id, raw_event(), tenant=ours),
        appending(key.key_id, use._replace(type=INTENDED), tenant=ours),
        appending(erased.erasure_id, use._replace(needs="open"), tenant=ours),
        appending(erased.erasure_id, use._replace(needs="open"), tenant=TENANT),
        appending(uuid4(), use._replace(needs="open")),
        appending(key.key_id, use._replace(needs="open"), tenant=operators_of(OTHER_TENANT)),
        appending(theirs.key_id, use._replace(needs="open"), tenant=ours),
    ]
    before = owner.cursors()
    role = admitted(url, kind, bound)
    for request in requests:
        for batch in ([request], [request, request]):
            with pytest.raises(StorageReadOnly):
                role.append(batch)
    for forge in (
        lambda: role.open(ours, "innocent", fresh),
        lambda: role.open(ours, "innocent", key.key_id),
        lambda: role.put_blob(ours, key.key_id, [b"bytes"]),
    ):
        with pytest.raises(StorageReadOnly):
            forge()
    role.close()
    assert owner.cursors() == before
    assert LogKeyring(owner).access(token) is None
    assert LogKeyring(owner).access(key.token) is not None


def test_a_gateway_that_is_bound_serves_keys_of_its_tenant_only(url: str, owner: Postgres) -> None:
    theirs = issued(owner, OTHER_TENANT)
    gateway = admitted(url, "gateway", TENANT)
    ring = LogKeyring(gateway)
    assert not ring.is_used()
    assert ring.access(theirs.token) is None
    fact = KeyUsed(tenant=OTHER_TENANT, at=moment())
    with pytest.raises(StorageReadOnly):
        gateway.append([new_request(theirs.key_id, fact)])
    gateway.close()
    assert types_of(owner, theirs.key_id) == [ISSUED]


@EITHER
def test_an_issuer_makes_keys_takes_them_back_and_writes_nothing_else(
    url: str, owner: Postgres, bound: UUID | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_batch, "must_be_apart", list[Append])
    # The tenant is new to the log: its first key is what is first told of it.
    issuer = admitted(url, "issuer", bound)
    key = issued(issuer)
    assert LogKeyring(owner).access(key.token) is not None
    assert revoke_key(issuer, TENANT, key.key_id, reason="lost", actor="ana")
    told = appending(uuid4(), raw_event())
    owner.append([told])
    stream = erasure_id(TENANT, told.conversation_id, 0)
    for request in (
        appending(uuid4(), raw_event()),
        appending(told.conversation_id, raw_event()),
        *(
            appending(place, raw_event()._replace(type=type_), tenant=operators_of(TENANT))
            for place in (stream, key.key_id)
            for type_ in (INTENDED, COMPLETED, USED, "test.happened")
        ),
    ):
        with pytest.raises(StorageReadOnly):
            issuer.append([request])
        with pytest.raises(StorageReadOnly):
            issuer.append([request, request])
    for forge in (
        lambda: issuer.open(TENANT, "support/4711"),
        lambda: issuer.put_blob(TENANT, told.conversation_id, [b"bytes"]),
        lambda: issuer.forget(told.conversation_id),
    ):
        with pytest.raises(StorageReadOnly):
            forge()
    issuer.close()
    assert types_of(owner, key.key_id) == [ISSUED, REVOKED]
    with onrecord.connect(url, tenant=TENANT) as store:
        faults = [fault.why for fault in store.verify().faults]
    assert set(faults) <= {"its header cannot be read"}


def test_an_issuer_of_one_tenant_makes_no_key_for_others(url: str, owner: Postgres) -> None:
    theirs = issued(owner, OTHER_TENANT)
    issuer = admitted(url, "issuer", TENANT)
    for tenant, options in ((OTHER_TENANT, {}), (TENANT, {"all_tenants": True, "role": "operate"})):
        with pytest.raises(StorageReadOnly, match="admit_issuer"):
            issued(issuer, tenant, **options)
    with pytest.raises(InvalidInput, match="no key of this tenant"):
        revoke_key(issuer, OTHER_TENANT, theirs.key_id, reason="none", actor="eve")
    for told, is_recorded in (
        (f'"tenant":"{OTHER_TENANT}","role":"read"', True),
        (f'"tenant":"{TENANT}","role":"operate","\\u0061ll_tenants":true', False),
        (f'"tenant":"{TENANT}","role":"operate","all_tenants":true,"all_tenants":false', False),
    ):
        token, stream, digest = fitting(owner)
        body = f'{{{told},"digest":"{digest}","name":"x","actor":"e","at":{moment()}}}'
        forged = raw_event(body=body.encode())._replace(type=ISSUED)
        with nullcontext() if is_recorded else pytest.raises(StorageReadOnly):
            issuer.append([appending(stream, forged, tenant=operators_of(TENANT))])
        assert bool(types_of(owner, stream)) == is_recorded
        assert LogKeyring(owner).access(token) is None
    issuer.close()
    assert types_of(owner, theirs.key_id) == [ISSUED]


@EITHER
@pytest.mark.parametrize("kind", ["auditor", "eraser"])
def test_an_auditor_and_an_eraser_read_what_is_told_of_keys(
    url: str, owner: Postgres, bound: UUID | None, kind: str
) -> None:
    key = issued(owner)
    role = admitted(url, kind, bound)
    assert [entry.key_id for entry in service_keys(role, TENANT)] == [key.key_id]
    role.close()


def test_a_runtime_that_is_bound_sees_no_key(url: str, owner: Postgres) -> None:
    key = issued(owner)
    role = admitted(url, "runtime", TENANT)
    assert list(role.read(key.key_id)) == []
    assert LogKeyring(role).access(key.token) is None
    role.close()


def test_a_server_whose_role_is_a_runtime_s_serves_and_warns(
    url: str, owner: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    """As long as it is not bound, it reads keys: only that they were used is not told."""
    key = issued(owner)
    role = admitted(url, "runtime")
    ring = LogKeyring(role)
    assert ring.access(key.token) is not None
    assert ring.record_uses() == 0
    assert "could not be recorded" in caplog.text
    role.close()


def test_the_first_key_of_a_tenant_lies_in_the_tenant_s_shard(url: str, owner: Postgres) -> None:
    tenants = [uuid4() for _ in range(8)]
    keys = {tenant: issued(owner, tenant) for tenant in tenants}
    for tenant in tenants:
        owner.append([appending(uuid4(), raw_event(), tenant=tenant)])
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute("SELECT tenant, shard, operators_of FROM onrecord.tenant")
        shards = {tenant: (shard, of) for tenant, shard, of in rows.fetchall()}
    for tenant in tenants:
        assert shards[operators_of(tenant)] == (shards[tenant][0], tenant)
        assert LogKeyring(owner).access(keys[tenant].token) is not None
