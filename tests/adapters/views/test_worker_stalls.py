"""A worker that stops amid a transaction, as a frozen machine does, does not keep its locks."""

from __future__ import annotations

import threading
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.views.own_projections import register_projection
from onrecord.domain.errors import StorageUnavailable
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.planning import fair_share
from onrecord.projections.views.step import event_batches
from onrecord.projections.views.view import Changes, EventBatch, View
from tests.adapters.views.own_projections import Mailbox
from tests.adapters.views.workers import Changed, Stepping, asked, caught_up, chat, folded
from tests.patience import PATIENCE, join

VIEWS = {"audit": AUDIT}
POSTGRES = "onrecord.adapters.views.postgres"


def test_a_worker_that_stalls_while_it_renews_leases_does_not_hold_up_others(
    url: str, log: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat(log, [uuid4() for _ in range(8)])
    monkeypatch.setattr(f"{POSTGRES}.builds.STALLED", "50")
    worker, stalled, awake = Stepping(url, VIEWS, "stalled"), threading.Event(), threading.Event()
    worker.claim()

    def stall(parts: int, workers: int) -> int:
        stalled.set()
        assert awake.wait(PATIENCE)
        return fair_share(parts, workers)

    failures: list[StorageUnavailable] = []

    def beat() -> None:
        try:
            worker.parts.beat()
        except StorageUnavailable as error:
            failures.append(error)

    with monkeypatch.context() as patched:
        patched.setattr(f"{POSTGRES}.builds.fair_share", stall)
        thread = threading.Thread(target=beat)
        thread.start()
        assert stalled.wait(PATIENCE)
        # Others delete its row when it was not seen for long.
        asked(url, "DELETE FROM onrecord.worker WHERE name = 'stalled'")
        awake.set()
        join(thread)
    assert failures
    worker.finish()
    assert len(folded(url)) == 8
    worker.close()


def test_a_worker_that_stalls_amid_a_batch_does_not_keep_its_checkpoints(
    url: str, log: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not limits_transactions(url):
        pytest.skip("PostgreSQL limits whole transactions from version 17 on")
    monkeypatch.setattr(f"{POSTGRES}.advance._LONGEST", "200")
    chat(log, [uuid4()])

    def take_over(_: EventBatch, changes: Changes) -> Changes:
        asked(url, "UPDATE onrecord.checkpoint SET position = position")
        return changes

    worker = Stepping(url, {"audit": Changed(take_over)})
    worker.claim()
    with pytest.raises(StorageUnavailable):
        worker.turn()
    worker.parts.leave()
    worker.close()
    caught_up(url, VIEWS)
    assert len(folded(url)) == 1


def test_a_worker_that_stalls_while_it_delivers_again_does_not_keep_what_is_parked(
    url: str, log: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat(log, [uuid4()])
    views: dict[str, View] = {}
    register_projection(Mailbox(poison={1}), views)
    worker = Stepping(url, views, "stalled")
    worker.claim()
    worker.finish()
    asked(url, "UPDATE onrecord.parked SET retry_at = 0")

    def stall(*arguments: Any) -> list[EventBatch]:
        asked(url, "UPDATE onrecord.parked SET version = version")
        return event_batches(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(f"{POSTGRES}.advance.STALLED", "50")
        patched.setattr(f"{POSTGRES}.advance.event_batches", stall)
        with pytest.raises(StorageUnavailable):
            worker.turn()
    assert asked(url, "SELECT version FROM onrecord.parked") == [(1,)]
    worker.close()


def limits_transactions(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.info.server_version >= 170_000
