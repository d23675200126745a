"""Workers on PostgreSQL: parts are shared, folded in order, and taken over."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.views.postgres.advance import LeaseLost
from onrecord.domain.errors import StorageReadOnly
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.planning import Batch, Segment
from onrecord.projections.views.view import Feed
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.workers import Stepping, asked, caught_up, chat, folded, working
from tests.factories import TENANT
from tests.patience import until
from tests.postgres_server import VERSIONS, server

VIEWS = {"audit": AUDIT}


def test_a_worker_folds_what_is_there_and_what_comes(url: str, log: Postgres) -> None:
    conversations = [uuid4() for _ in range(20)]
    chat(log, conversations, 3)
    with working(url, VIEWS, threads=2) as worker:
        until(lambda: worker.has_come_to(worker.ends()))
        assert folded(url) == {key: [1, 2, 3] for key in conversations}
        chat(log, conversations)
        until(lambda: folded(url) == {key: [1, 2, 3, 4] for key in conversations})


def test_a_worker_that_ends_leaves_its_parts_to_others_at_once(url: str, log: Postgres) -> None:
    caught_up(url, VIEWS)
    chat(log, [uuid4()])
    assert asked(url, "SELECT count(*) FROM onrecord.part WHERE owner IS NOT NULL") == [(0,)]
    assert asked(url, "SELECT name FROM onrecord.worker") == []


def test_workers_share_the_parts_evenly(url: str, log: Postgres) -> None:
    first, second = Stepping(url, VIEWS, "first"), Stepping(url, VIEWS, "second")
    whole = len(first.claim().epochs)
    assert second.claim().epochs == {}
    first.parts.beat()  # Sees the other, and marks what is above its share.
    assert len(first.parts.lease().epochs) == whole // 2
    first.parts.give_up_surplus(0, 1)
    assert len(second.claim().epochs) == whole // 2
    assert first.parts.lease().epochs.keys().isdisjoint(second.parts.lease().epochs)
    first.close()
    second.close()


def test_the_parts_of_a_worker_that_is_gone_are_claimed_when_its_lease_runs_out(
    url: str, log: Postgres
) -> None:
    gone, other = Stepping(url, VIEWS, "gone"), Stepping(url, VIEWS, "other")
    before = gone.claim()
    # Nearly two leases: enough for a machine that is slow, and no longer than a lease may be.
    asked(url, "UPDATE onrecord.part SET leased_until = onrecord.clock() + 9900000")
    assert other.claim().epochs == {}
    asked(url, "UPDATE onrecord.part SET leased_until = 0")
    asked(url, "UPDATE onrecord.worker SET seen_at = 0 WHERE name = 'gone'")
    taken = other.claim()
    assert taken.epochs == {place: epoch + 1 for place, epoch in before.epochs.items()}
    gone.close()
    other.close()


def test_parts_leased_before_the_clock_was_set_back_are_not_kept_from_others(
    url: str, log: Postgres
) -> None:
    gone, other = Stepping(url, VIEWS, "gone"), Stepping(url, VIEWS, "other")
    whole = gone.claim().epochs
    asked(url, "UPDATE onrecord.part SET leased_until = onrecord.clock() + 3600000000")
    asked(url, "UPDATE onrecord.worker SET seen_at = onrecord.clock() + 3600000000")
    assert other.claim().epochs.keys() == whole.keys()
    assert asked(url, "SELECT name FROM onrecord.worker") == [("other",)]
    gone.close()
    other.close()


def test_how_far_behind_parts_are_is_told_of_those_that_are_held(url: str, log: Postgres) -> None:
    chat(log, [uuid4() for _ in range(8)])
    worker = Stepping(url, VIEWS)
    lease = worker.claim()
    [end] = [cursor for cursor in log.cursors() if cursor.position]
    worker.turn()
    assert ("audit", end.shard) in worker.tally.behind()
    others = {at: epoch for at, epoch in lease.epochs.items() if at.shard != end.shard}
    worker.turn(type(lease)(lease.owner, others))
    assert ("audit", end.shard) not in worker.tally.behind()
    worker.turn(type(lease)(lease.owner))
    assert worker.tally.behind() == {}
    worker.close()


def test_a_worker_that_stalled_past_its_lease_writes_nothing(url: str, log: Postgres) -> None:
    chat(log, [uuid4() for _ in range(8)])
    stalled, other = Stepping(url, VIEWS, "stalled"), Stepping(url, VIEWS, "other")
    stale = stalled.claim()
    asked(url, "UPDATE onrecord.part SET leased_until = 0")
    asked(url, "DELETE FROM onrecord.worker WHERE name = 'stalled'")
    other.claim()
    assert stalled.turn(stale) is False
    assert stalled.tally.batches_lost == 1
    assert folded(url) == {}
    other.finish()
    assert len(folded(url)) == 8
    stalled.close()
    other.close()


def test_of_two_workers_at_one_stretch_only_one_writes(url: str, log: Postgres) -> None:
    conversation = uuid4()
    chat(log, [conversation], 5)
    one, two = Stepping(url, VIEWS, "one"), Stepping(url, VIEWS, "two")
    lease = one.claim()
    [end] = [cursor for cursor in log.cursors() if cursor.position]
    batch = Batch(
        (Feed(AUDIT, 1),),
        tuple(Segment(at, 0, end.position) for at in lease.epochs if at.shard == end.shard),
    )
    # The second one works without a lease, as a rebuild does: the checkpoint alone decides.
    two.advance.advance(batch, None)
    with pytest.raises(LeaseLost):
        one.advance.advance(batch, lease)
    assert folded(url) == {conversation: [1, 2, 3, 4, 5]}
    one.close()
    two.close()


def test_a_conversation_of_another_part_is_not_folded(url: str, log: Postgres) -> None:
    conversations = [UUID(int=number << 8 | number % 4, version=4) for number in range(1, 33)]
    chat(log, conversations)
    worker = Stepping(url, VIEWS)
    lease = worker.claim()
    [end] = [cursor for cursor in log.cursors() if cursor.position]
    [place] = [at for at in lease.epochs if at.shard == end.shard and at.part == 2]
    worker.advance.advance(Batch((Feed(AUDIT, 1),), (Segment(place, 0, end.position),)), lease)
    assert set(folded(url)) == {of for of in conversations if of.bytes[15] % 4 == 2}
    worker.finish()
    assert set(folded(url)) == set(conversations)
    worker.close()


def test_a_role_that_sees_one_tenant_only_is_no_worker(url: str, log: Postgres) -> None:
    role = "onrecord_bound_worker"
    server(VERSIONS[-1]).execute("CREATE ROLE {} LOGIN", role)
    try:
        asked(url, "SELECT onrecord.admit_worker(%s)", role)
        caught_up(as_role(url, role), VIEWS)
        asked(url, "SELECT onrecord.admit(%s, %s)", role, TENANT)
        with pytest.raises(StorageReadOnly, match="admit_worker"):
            Stepping(as_role(url, role), VIEWS)
    finally:
        asked(url, "DROP OWNED BY onrecord_bound_worker")
        server(VERSIONS[-1]).execute("DROP ROLE {}", role)
