"""What is the operators' bears ids of its own: nobody takes one, so nobody is in an erasure's way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import StoredEvent

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.eventsourcing.backend_recorder import BackendRecorder
from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.store import Store
from onrecord.adapters.transfer.export import export
from onrecord.adapters.transfer.importing import import_file
from onrecord.domain.errors import InvalidExport, StorageReadOnly
from onrecord.domain.log import Append, Backend, NewEvent
from onrecord.domain.marks.marked_ids import erasure_id, operators_of
from onrecord.domain.operators import (
    COMPLETED,
    INTENDED,
    ErasureCompleted,
    ErasureFact,
    ErasureIntended,
    encode_fact,
)
from tests.factories import BECAUSE, OTHER_TENANT, TENANT, appending, drafted, raw_event, started

KEY = "support/4711"


def store_on(backend: Backend, folder: Path, tenant: UUID = TENANT) -> Store:
    return Store(backend, "a store", spool=Spool(folder / "spool"), tenant=tenant, actor="eve")


def fact(type_: str, told: ErasureFact) -> NewEvent:
    return raw_event(body=encode_fact(told))._replace(type=type_)


def forgeries(victim: UUID) -> list[Append]:
    """What somebody may bring under the ids that the victim's erasures will have."""
    intended = fact(
        INTENDED,
        ErasureIntended(tenant=TENANT, conversation_id=victim, actor="m", reason="m", at=1),
    )
    done = fact(COMPLETED, ErasureCompleted(tenant=TENANT, conversation_id=victim, events=2, at=2))
    first, second = (erasure_id(TENANT, victim, number) for number in range(2))
    return [
        appending(first, raw_event()),
        appending(second, raw_event(), tenant=OTHER_TENANT),
        appending(first, drafted(started(), first)),
        appending(first, intended),
        appending(first, intended, done),
        appending(first, raw_event(), tenant=operators_of(TENANT)),
        appending(victim, intended),
        appending(uuid4(), intended, tenant=operators_of(TENANT)),
        appending(uuid4(), raw_event(), tenant=operators_of(TENANT)),
    ]


def test_nobody_takes_an_id_that_an_erasure_will_have(backend: Backend, tmp_path: Path) -> None:
    store = store_on(backend, tmp_path)
    chat = store.conversation(KEY)
    chat.user("swordfish")
    victim = chat.conversation_id
    for forgery in forgeries(victim):
        for batch in ([forgery], [appending(uuid4(), raw_event()), forgery]):
            with pytest.raises(StorageReadOnly, match="kept for what operators do"):
                backend.append(batch)
    for number in range(2):
        place = erasure_id(TENANT, victim, number)
        for forge in _elsewhere(backend, place):
            with pytest.raises(StorageReadOnly, match="kept for what operators do"):
                forge()
        assert list(backend.read(place)) == []
    assert store.forget(victim, **BECAUSE).events == 2
    (entry,) = store.erasures(victim)
    assert entry.outcome is not None
    assert [listed.conversation_id for listed in store.conversations()] == [victim]
    assert store.verify().is_whole


def _elsewhere(backend: Backend, place: UUID) -> list[Callable[[], object]]:
    recorder = BackendRecorder(backend, TENANT)
    return [
        lambda: backend.open(TENANT, "innocent", place),
        lambda: backend.put_blob(TENANT, place, [b"bytes"]),
        lambda: recorder.insert_events([StoredEvent(place, 1, "any", b"{}")]),
        lambda: recorder.insert_events([StoredEvent(uuid4(), 1, INTENDED, b"{}")]),
    ]


def taken(*_: object) -> None:
    """The rule of a forger's store: it takes all."""


@pytest.mark.parametrize("is_key_new", [True, False])
def test_no_import_takes_one_either(
    backend: Backend, tmp_path: Path, is_key_new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_on(backend, tmp_path)
    chat = store.conversation(KEY)
    chat.user("swordfish")
    place = erasure_id(TENANT, chat.conversation_id, 0)
    forged = Memory()
    with monkeypatch.context() as forgery:
        for module in ("memory", "appends"):
            forgery.setattr(f"onrecord.adapters.storage.memory.{module}.must_be_own", taken)
        forged.open(TENANT, "innocent", place)
        forged.append([appending(place, drafted(started("innocent"), place))])
    file = tmp_path / "innocent.onrecord"
    file.write_bytes(b"".join(export(forged, place, "innocent")))
    with pytest.raises(InvalidExport, match="line 1: its id is kept"):
        import_file(backend, TENANT, file, key="another" if is_key_new else None)
    assert backend.find(TENANT, "innocent") is None
    assert store.forget(KEY, **BECAUSE).events == 2
    assert store.verify().is_whole


def test_what_another_tenant_erased_under_an_id_is_in_nobodys_way(
    backend: Backend, tmp_path: Path
) -> None:
    """Documents may be stored, and erased, under an id before its conversation begins."""
    ours, theirs = (store_on(backend, tmp_path, one) for one in (TENANT, OTHER_TENANT))
    chat = ours.conversation(KEY)
    victim = chat.conversation_id
    backend.open(OTHER_TENANT, "theirs", victim)
    assert theirs.forget("theirs", **BECAUSE).events == 0
    chat = ours.conversation("support/4712")
    backend.open(TENANT, "support/4711", victim)
    backend.append([appending(victim, drafted(started(KEY), victim), raw_event())])
    assert ours.forget(victim, **BECAUSE).events == 2
    (entry,) = ours.erasures(victim)
    assert entry.intention.number == 0
    assert [one.intention.tenant for one in theirs.erasures(victim)] == [OTHER_TENANT]
    faults = {fault.why for fault in ours.verify().faults}
    assert faults <= {"its header cannot be read"}
