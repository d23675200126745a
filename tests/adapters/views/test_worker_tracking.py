"""Programs written for the `eventsourcing` library wait for our views with its verbs."""

from __future__ import annotations

from uuid import uuid4

import pytest
from eventsourcing.persistence import ProgrammingError, Tracking

from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.eventsourcing.postgres import PostgresViewTracking
from onrecord.projections.views.audit import AUDIT
from tests.adapters.views.workers import Stepping, chat
from tests.factories import OTHER_TENANT, TENANT

VIEWS = {"audit": AUDIT}


def test_a_view_is_waited_for_by_the_id_of_a_notification(url: str, log: Postgres) -> None:
    chat(log, [uuid4() for _ in range(8)])
    tracking = PostgresViewTracking(log, TENANT)
    with pytest.raises(TimeoutError):
        tracking.wait("audit", 8, timeout=0.01)
    worker = Stepping(url, VIEWS)
    worker.claim()
    worker.finish()
    tracking.wait("audit", 8, timeout=0.01)
    assert tracking.max_tracking_id("audit") == 8
    assert not tracking.has_tracking_id("audit", 9)
    worker.close()


def test_of_the_parts_of_a_shard_the_one_that_is_behind_counts(url: str, log: Postgres) -> None:
    chat(log, [uuid4() for _ in range(8)])
    worker = Stepping(url, VIEWS)
    lease = worker.claim()
    [shard] = {cursor.shard for cursor in log.cursors() if cursor.position}
    partly = {at: epoch for at, epoch in lease.epochs.items() if (at.shard, at.part) != (shard, 3)}
    while worker.turn(type(lease)(lease.owner, partly)):
        pass
    assert PostgresViewTracking(log, TENANT).max_tracking_id("audit") is None
    worker.finish()
    assert PostgresViewTracking(log, TENANT).max_tracking_id("audit") == 8
    worker.close()


def test_what_nobody_has_begun_has_come_nowhere(log: Postgres) -> None:
    tracking = PostgresViewTracking(log, OTHER_TENANT)
    assert tracking.max_tracking_id("audit") is None
    assert tracking.has_tracking_id("audit", None)


def test_only_workers_move_a_view(log: Postgres) -> None:
    with pytest.raises(ProgrammingError, match="worker"):
        PostgresViewTracking(log).insert_tracking(Tracking("audit", 1))
