"""Keys of the service: what nobody can make of them, and where their secrets are not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.service.keyring import LogKeyring
from onrecord.adapters.store import Store
from onrecord.adapters.upkeep.keys import (
    moment,
    parsed,
    revoke_key,
    service_keys,
)
from onrecord.domain.errors import StorageReadOnly
from onrecord.domain.head import Effect
from onrecord.domain.log import Backend, Recorded
from onrecord.domain.marks.marked_ids import operators_of
from onrecord.domain.operators import (
    ISSUED,
    REVOKED,
    USED,
    KeyIssued,
    KeyRevoked,
    KeyUsed,
    OperatorsFact,
    encode_fact,
)
from tests.contract.keys import fitting, issued
from tests.contract.places import DURABLE, WHERE_THE_LOG_IS, Place, prepared
from tests.factories import BECAUSE, OTHER_TENANT, TENANT, appending, raw_event


@pytest.fixture(params=WHERE_THE_LOG_IS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield from prepared(request.param, tmp_path)


@pytest.fixture(params=[name for name in DURABLE if name in WHERE_THE_LOG_IS])
def durable_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield from prepared(request.param, tmp_path)


def plant(
    backend: Backend,
    stream: UUID,
    type_: str,
    body: bytes,
    *,
    tenant: UUID = TENANT,
    closes: bool = False,
) -> None:
    """Append to the operators' stream of a tenant by hand."""
    event = raw_event(body=body, effect=Effect(closes=closes))._replace(type=type_)
    (verdict,) = backend.append([appending(stream, event, tenant=operators_of(tenant))])
    assert isinstance(verdict, Recorded)


# What nobody can make of them.


def fact(digest: str, **other: Any) -> KeyIssued:
    members: dict[str, Any] = {"tenant": TENANT, "digest": digest, "name": "x", "actor": "eve"}
    members |= {"role": "operate", "at": moment()}
    return KeyIssued.model_construct(**(members | other))


Forgery = Callable[[str], tuple[str, bytes]]


def forged(type_: str, make: Callable[[str], OperatorsFact]) -> Forgery:
    return lambda digest: (type_, encode_fact(make(digest)))


FORGERIES: dict[str, Forgery] = {
    "no JSON": lambda _: (ISSUED, b"\xff"),
    "nothing": lambda _: (ISSUED, b""),
    "another shape": lambda _: (ISSUED, b'{"reason":7}'),
    "another digest": forged(ISSUED, lambda _: fact("0" * 64)),
    "another tenant": forged(ISSUED, lambda digest: fact(digest, tenant=OTHER_TENANT)),
    "no role": forged(ISSUED, lambda digest: fact(digest, role="admin")),
    "readers of all tenants": forged(
        ISSUED, lambda digest: fact(digest, role="read", all_tenants=True)
    ),
    "more than there is": lambda digest: (
        ISSUED,
        encode_fact(fact(digest))[:-1] + b',"sudo":true}',
    ),
    "a use": forged(USED, lambda _: KeyUsed(tenant=TENANT, at=1)),
    "an end": forged(
        REVOKED, lambda _: KeyRevoked(tenant=TENANT, actor="eve", reason="none", at=1)
    ),
}


@pytest.mark.parametrize("how", FORGERIES)
def test_a_stream_that_cannot_be_read_is_no_key(
    backend: Backend, tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = issued(backend)
    token, stream, digest = fitting(backend)
    type_, body = FORGERIES[how](digest)
    plant(backend, stream, type_, body)
    # What is told afterwards mends nothing.
    plant(backend, stream, ISSUED, encode_fact(fact(digest)))
    ring = LogKeyring(backend)
    assert ring.access(token) is None
    assert ring.access(good.token) is not None
    assert f"the key {stream} counts no more" in caplog.text
    assert [entry.key_id for entry in service_keys(backend, TENANT)] == [good.key_id]
    faulty = {fault.conversation_id for fault in store_on(backend, tmp_path).verify().faults}
    assert stream in faulty
    assert good.key_id not in faulty


def test_operators_of_a_tenant_make_no_key_for_another(backend: Backend) -> None:
    token, stream, digest = fitting(backend)
    plant(backend, stream, ISSUED, encode_fact(fact(digest)), tenant=OTHER_TENANT)
    assert LogKeyring(backend).access(token) is None
    assert list(service_keys(backend, TENANT)) == list(service_keys(backend, OTHER_TENANT)) == []


@pytest.mark.parametrize("body", [b"\xff", b"{}", encode_fact(KeyUsed(tenant=TENANT, at=2**40))])
def test_who_tells_of_uses_makes_no_key_last(backend: Backend, tmp_path: Path, body: bytes) -> None:
    """Whoever runs a server writes what it likes: the key still counts, is listed and taken back."""
    key = issued(backend)
    plant(backend, key.key_id, USED, body)
    assert LogKeyring(backend).access(key.token) is not None
    assert [entry.key_id for entry in service_keys(backend, TENANT)] == [key.key_id]
    assert revoke_key(backend, TENANT, key.key_id, reason="lost", actor="ana")
    plant(backend, key.key_id, USED, body)
    assert LogKeyring(backend).access(key.token) is None
    (entry,) = service_keys(backend, TENANT)
    assert entry.status(moment()) == "revoked"
    assert key.key_id in {
        fault.conversation_id for fault in store_on(backend, tmp_path).verify().faults
    }


def test_no_conversation_and_no_stream_of_an_erasure_takes_what_is_told_of_keys(
    backend: Backend,
) -> None:
    _, stream, digest = fitting(backend)
    told = raw_event(body=encode_fact(fact(digest)))._replace(type=ISSUED)
    for request in (
        appending(uuid4(), told),
        appending(stream, told),
        appending(stream, raw_event()),
        appending(stream, raw_event(), tenant=operators_of(TENANT)),
        appending(uuid4(), told, tenant=operators_of(TENANT)),
    ):
        with pytest.raises(StorageReadOnly):
            backend.append([request])
    for forge in (
        lambda: backend.open(TENANT, "innocent", stream),
        lambda: backend.put_blob(TENANT, stream, [b"bytes"]),
    ):
        with pytest.raises(StorageReadOnly):
            forge()
    assert list(backend.read(stream)) == []


def test_no_key_is_forgotten(backend: Backend) -> None:
    key = issued(backend)
    with pytest.raises(StorageReadOnly):
        backend.forget(key.key_id)
    assert LogKeyring(backend).access(key.token) is not None


# What else is told in the operators' stream.


def store_on(backend: Backend, folder: Path, tenant: UUID = TENANT) -> Store:
    return Store(backend, "a store", spool=Spool(folder / "spool"), tenant=tenant, actor="eve")


def test_keys_and_erasures_pass_each_other_by(
    backend: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = issued(backend)
    store = store_on(backend, tmp_path)
    store.conversation("support/4711").user("swordfish")
    revoke_key(backend, TENANT, issued(backend).key_id, reason="lost", actor="ana")
    assert store.forget("support/4711", **BECAUSE).events == 2
    ring = LogKeyring(backend)
    assert ring.access(first.token) is not None
    ring.record_uses()
    assert [entry.outcome is not None for entry in store.erasures()] == [True]
    assert store.resume_erasures() == 0
    assert len(list(service_keys(backend, TENANT))) == 2
    assert len(list(store.conversations())) == 1
    verified = store.verify()
    assert verified.is_whole
    assert (verified.recorded_erasures, verified.recorded_keys, verified.conversations) == (1, 2, 1)
    assert verified.events == 2 + 2 + 2 + 2
    assert verified.unfinished == ()
    assert caplog.records == []


# Where the secret is.


def test_the_secret_is_in_no_file_no_log_no_repr_and_no_error(
    durable_place: Place,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    backend = durable_place.open()
    key = issued(backend)
    secret = key.token[37:]
    ring = LogKeyring(backend)
    seen = [repr(key), str(key), repr(ring), repr(vars(ring)), repr(ring.access(key.token))]
    assert ring.access(key.token[:-1] + "!") is None
    ring.record_uses()
    plant(backend, key.key_id, USED, b"\xff")
    seen += [repr(entry) for entry in service_keys(backend, TENANT)]
    revoke_key(backend, TENANT, key.key_id, reason="lost", actor="ana")
    seen += [repr(list(backend.read(key.key_id))), repr(vars(ring)), *rows_of(backend)]
    backend.close()
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    seen += [caplog.text, *capsys.readouterr()]
    digest = cast("tuple[UUID, str]", parsed(key.token))[1]
    assert any(digest in text for text in seen)
    for form in (secret, key.token):
        assert not [text for text in seen if form in text]
        assert not [data for data in files if form.encode() in data]


def rows_of(backend: Backend) -> Iterator[str]:
    """All that is stored, as text; files of a server are not at hand."""
    inventory = backend.inventory()
    for cursor in backend.cursors():
        yield repr(inventory.log(cursor.shard, 0, 100))
    yield repr(list(backend.actors().stored()))
    with inventory.moment() as now:
        for head in now.heads(None, 100):
            yield repr((head, now.keys(head), now.snapshots(head), now.blobs(head)))
