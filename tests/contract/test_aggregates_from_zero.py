"""Aggregates of `eventsourcing` may begin at version 0: they are read, erased and verified whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import StoredEvent

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.eventsourcing.backend_recorder import BackendRecorder
from onrecord.adapters.storage.eventsourcing.operators import Operators
from onrecord.adapters.store import Store
from onrecord.adapters.transfer.export import export
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import Backend
from tests.contract.places import Place
from tests.factories import BECAUSE, TENANT


@pytest.fixture
def durable(durable_place: Place) -> Iterator[Backend]:
    opened = durable_place.open()
    yield opened
    opened.close()


def saved(backend: Backend, count: int) -> UUID:
    aggregate = uuid4()
    stored = [StoredEvent(aggregate, version, "thing:Changed", b"{}") for version in range(count)]
    BackendRecorder(backend, TENANT).insert_events(stored)
    return aggregate


def opened(backend: Backend, folder: Path) -> Store:
    return Store(backend, "a store", spool=Spool(folder / "spool"), tenant=TENANT, actor="eve")


@pytest.mark.parametrize("count", [1, 3])
def test_all_events_of_an_aggregate_are_read(durable: Backend, count: int) -> None:
    aggregate = saved(durable, count)
    versions = list(range(count))
    assert [event.version for event in durable.read(aggregate)] == versions
    assert [event.version for event in durable.tell(aggregate)] == versions
    found = BackendRecorder(durable, TENANT).select_events(aggregate)
    assert [event.originator_version for event in found] == versions


@pytest.mark.parametrize("count", [1, 3])
def test_an_erasure_that_was_cut_short_tells_of_all_its_events(
    durable: Backend, tmp_path: Path, count: int
) -> None:
    aggregate = saved(durable, count)
    Operators(durable, TENANT).intend(aggregate, "ana", "asked to")
    durable.forget(aggregate)
    store = opened(durable, tmp_path)
    assert store.resume_erasures() == 1
    (entry,) = store.erasures(aggregate)
    assert entry.outcome is not None
    assert entry.outcome.events == count
    assert store.verify().faults == ()


@pytest.mark.parametrize("count", [1, 3])
def test_an_aggregate_that_says_nothing_any_more_is_not_erased_again(
    durable: Backend, tmp_path: Path, count: int
) -> None:
    aggregate, store = saved(durable, count), opened(durable, tmp_path)
    assert store.forget(aggregate, **BECAUSE).events == count
    assert store.forget(aggregate, **BECAUSE).events == 0
    assert len(store.erasures(aggregate)) == 1


def test_an_aggregate_is_not_exported_as_a_conversation_without_its_first_event(
    durable: Backend,
) -> None:
    with pytest.raises(InvalidInput, match="begins at version 0"):
        list(export(durable, saved(durable, 3), None))
