"""Opening a store: what stands in its way, and what it leaves open."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from eventsourcing.persistence import StoredEvent

from onrecord import connect
from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.storage.eventsourcing.backend_recorder import BackendRecorder
from onrecord.adapters.storage.sqlite.sqlite import Sqlite
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.marks.marked_ids import erasure_id, operators_of
from onrecord.domain.operators import INTENDED


def test_a_store_with_a_damaged_erasure_opens(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/talks.db"
    with connect(url) as store:
        store.conversation("support/4711").user("Hello")
        recorder = BackendRecorder(backend_of(store), operators_of(NO_TENANT))
        recorder.insert_events(
            [StoredEvent(erasure_id(NO_TENANT, uuid4(), 0), 1, INTENDED, b'{"reason": 7}')]
        )
    with connect(url) as store:
        assert [listed.key for listed in store.conversations()] == ["support/4711"]
        assert not store.verify().is_whole


def test_a_store_that_does_not_open_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Sqlite] = []

    def away(store: Store) -> int:
        raise StorageUnavailable(f"{store.url} is away")

    def closing(backend: Sqlite) -> None:
        closed.append(backend)
        close(backend)

    close = Sqlite.close
    monkeypatch.setattr(Store, "resume_erasures", away)
    monkeypatch.setattr(Sqlite, "close", closing)
    with pytest.raises(StorageUnavailable, match="away"):
        connect(f"sqlite:///{tmp_path}/talks.db")
    assert len(closed) == 1
