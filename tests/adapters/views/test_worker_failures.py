"""What a view cannot fold: its conversation waits, others go on; strict views stop, circuits open."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from onrecord.adapters.storage.postgres.connections import Connections, queries_of
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.views.postgres.keeper import PostgresKeeper
from onrecord.projections.views.step import CIRCUIT, LAST_ATTEMPT, STRICT_ATTEMPTS, retry_after
from onrecord.projections.views.view import Changes, EventBatch, Row, View
from tests.adapters.views.workers import Changed, Failing, Stepping, Unfoldable, asked, chat, folded


def _stepping(url: str, view: View) -> Stepping:
    worker = Stepping(url, {view.name: view})
    worker.claim()
    return worker


def _key(batch: EventBatch, version: object) -> Row:
    return {"conversation_id": str(batch.conversation_id), "version": version}


def _parked(url: str) -> list[tuple[UUID, int, int, int | None]]:
    return asked(
        url,
        "SELECT conversation_id, version, attempts, retry_at - parked_at FROM onrecord.parked",
    )


def test_only_the_conversation_of_a_failing_event_waits(url: str, log: Postgres) -> None:
    bad, good = uuid4(), uuid4()
    chat(log, [bad, good], 2)
    worker = _stepping(url, Failing({bad}))
    worker.finish()
    chat(log, [bad, good])
    worker.finish()
    assert folded(url) == {good: [1, 2, 3]}
    assert _parked(url) == [(bad, 1, 1, retry_after(1))]
    worker.close()


def test_a_parked_event_is_tried_again_when_due_and_later_each_time(
    url: str, log: Postgres
) -> None:
    bad = uuid4()
    chat(log, [bad], 2)
    worker = _stepping(url, Failing({bad}))
    worker.finish()
    for attempts in range(2, LAST_ATTEMPT + 1):
        worker.turn()
        assert _parked(url)[0][2] == attempts - 1, "it was tried before it was due"
        asked(url, "UPDATE onrecord.parked SET retry_at = 0")
        [(before,)] = asked(url, "SELECT onrecord.clock()")
        worker.turn()
        [(after,)] = asked(url, "SELECT onrecord.clock()")
        [(version, attempted, due)] = asked(
            url, "SELECT version, attempts, retry_at FROM onrecord.parked"
        )
        assert (version, attempted) == (1, attempts)
        wait = retry_after(attempts)
        assert due is None if wait is None else before <= due - wait <= after
    assert retry_after(LAST_ATTEMPT) is None
    worker.close()


def test_what_was_parked_before_a_view_was_resumed_no_longer_counts_however_often_it_fails(
    url: str, log: Postgres, connections: Connections
) -> None:
    conversations = [uuid4() for _ in range(CIRCUIT + 1)]
    view = Failing(set(conversations))
    chat(log, conversations[1:])
    worker = _stepping(url, view)
    worker.finish()
    keeper = PostgresKeeper(connections, {view.name: view})
    keeper.resume("audit")
    assert keeper.retry("audit") == CIRCUIT
    worker.finish()
    assert {attempts for _, _, attempts, _ in _parked(url)} == {2}
    chat(log, conversations[:1])
    worker.finish()
    [standing] = keeper.status()
    assert (standing.stopped, standing.parked) == (None, CIRCUIT + 1)
    worker.close()


def test_what_came_behind_a_parked_event_is_folded_with_it(
    url: str, log: Postgres, connections: Connections
) -> None:
    bad, view = uuid4(), Failing()
    view.poison.add(bad)
    chat(log, [bad], 2)
    worker = _stepping(url, view)
    worker.finish()
    chat(log, [bad], 2)
    worker.finish()
    view.poison.clear()
    keeper = PostgresKeeper(connections, {view.name: view})
    assert keeper.retry("audit") == 1
    worker.finish()
    assert folded(url) == {bad: [1, 2, 3, 4]}
    assert keeper.parked("audit") == []
    chat(log, [bad])
    worker.finish()
    assert folded(url) == {bad: [1, 2, 3, 4, 5]}
    worker.close()


def test_only_the_conversation_that_is_named_is_tried_again(
    url: str, log: Postgres, connections: Connections
) -> None:
    one, two = uuid4(), uuid4()
    view = Failing({one, two})
    chat(log, [one, two])
    worker = _stepping(url, view)
    worker.finish()
    view.poison.clear()
    assert PostgresKeeper(connections, {view.name: view}).retry("audit", one) == 1
    worker.finish()
    assert folded(url) == {one: [1]}
    worker.close()


def test_a_long_conversation_is_tried_again_piece_by_piece(
    url: str, log: Postgres, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onrecord.adapters.views.postgres.advance._BEHIND", 2)
    bad = uuid4()
    view = Failing({bad})
    chat(log, [bad], 5)
    worker = _stepping(url, view)
    worker.finish()
    view.poison.clear()
    PostgresKeeper(connections, {view.name: view}).retry("audit")
    worker.turn()
    assert folded(url) == {bad: [1, 2]}
    worker.finish()
    assert folded(url) == {bad: [1, 2, 3, 4, 5]}
    assert _parked(url) == []
    worker.close()


def test_a_strict_view_stops_after_its_attempts_and_parks_nothing(
    url: str, log: Postgres, connections: Connections
) -> None:
    bad, good = uuid4(), uuid4()
    view = Failing({bad}, strict=True)
    chat(log, [bad, good])
    worker = _stepping(url, view)
    for _ in range(STRICT_ATTEMPTS):
        assert worker.builds.feeding().feeds
        worker.turn()
        worker.now += 3600
    [standing] = PostgresKeeper(connections, {view.name: view}).status()
    assert standing.stopped is not None
    assert str(bad) in standing.stopped
    assert worker.builds.feeding().feeds == frozenset()
    assert _parked(url) == []
    worker.close()


def test_a_strict_view_that_is_resumed_goes_on_where_it_stood(
    url: str, log: Postgres, connections: Connections
) -> None:
    bad = uuid4()
    view = Failing({bad}, strict=True)
    chat(log, [bad], 3)
    worker = _stepping(url, view)
    for _ in range(STRICT_ATTEMPTS):
        worker.turn()
        worker.now += 3600
    view.poison.clear()
    PostgresKeeper(connections, {view.name: view}).resume("audit")
    worker.finish()
    assert folded(url) == {bad: [1, 2, 3]}
    worker.close()


def test_another_view_goes_on_while_a_strict_one_stands(
    url: str, log: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = b"SELECT jsonb_array_length($2::jsonb) + $1::integer + $3::integer + $4::integer"
    monkeypatch.setitem(queries_of("onrecord"), "other_put", nothing)
    bad = uuid4()
    strict, other = Failing({bad}, strict=True), Failing(name="other")
    chat(log, [bad], 3)
    worker = Stepping(url, {"audit": strict, "other": other})
    worker.claim()
    worker.turn()
    worker.now -= 0.5  # It is not tried again yet.
    worker.turn()
    feeds = worker.builds.feeding().feeds
    positions = worker.builds.positions(feeds).values()
    reached = {feed.view.name: max(of[feed] for of in positions) for feed in feeds}
    assert reached == {"audit": 0, "other": 3}
    worker.close()


def test_a_value_that_the_database_refuses_parks_only_its_conversation(
    url: str, log: Postgres
) -> None:
    bad, good = uuid4(), uuid4()

    def spoil(batch: EventBatch, changes: Changes) -> Changes:
        if batch.conversation_id != bad:
            return changes
        return Changes(
            tuple({**row, "shard": 10**9 if row["version"] == 2 else 0} for row in changes.put)
        )

    chat(log, [bad, good], 3)
    worker = _stepping(url, Changed(spoil))
    worker.finish()
    assert folded(url) == {good: [1, 2, 3], bad: [1]}
    assert _parked(url) == [(bad, 2, 1, retry_after(1))]
    worker.close()


def test_a_refused_value_beside_an_event_that_cannot_be_folded_parks_each_for_its_own_reason(
    url: str, log: Postgres
) -> None:
    refused, unfoldable, good = uuid4(), uuid4(), uuid4()

    def spoil(batch: EventBatch, changes: Changes) -> Changes:
        if batch.conversation_id == unfoldable:
            raise Unfoldable
        if batch.conversation_id == refused:
            return Changes(tuple({**row, "shard": 10**9} for row in changes.put))
        return changes

    chat(log, [refused, unfoldable, good])
    # It asks for rows again while the failure is looked for, and then hears of the refusal.
    worker = _stepping(url, Changed(spoil, asks=lambda batch: [_key(batch, 1)]))
    worker.finish()
    assert folded(url) == {good: [1]}
    kinds = dict(asked(url, "SELECT conversation_id, kind FROM onrecord.parked"))
    assert kinds[unfoldable] == "Unfoldable"
    assert kinds[refused] != "Unfoldable"
    assert len(kinds) == 2
    worker.close()


@pytest.mark.parametrize("refused", [2**63, "one\0"])
def test_a_key_that_the_database_refuses_parks_only_its_conversation(
    url: str, log: Postgres, refused: object
) -> None:
    bad, good = uuid4(), uuid4()

    def ask(batch: EventBatch) -> list[Row]:
        is_spoilt = any(
            (event.conversation_id, event.version) == (bad, 2) for event in batch.events
        )
        return [_key(batch, refused if is_spoilt else 1)]

    chat(log, [bad, good], 3)
    worker = _stepping(url, Changed(lambda _, changes: changes, asks=ask))
    worker.finish()
    assert folded(url) == {good: [1, 2, 3], bad: [1]}
    assert _parked(url) == [(bad, 2, 1, retry_after(1))]
    asked(url, "UPDATE onrecord.parked SET retry_at = 0")
    worker.finish()
    [(error, attempts)] = asked(url, "SELECT error, attempts FROM onrecord.parked")
    assert error.startswith("the database refuses a value: ")
    assert attempts == 2
    worker.close()


def test_the_circuit_opens_when_many_conversations_fail_alike(
    url: str, log: Postgres, connections: Connections
) -> None:
    conversations = [uuid4() for _ in range(CIRCUIT)]
    view = Failing(set(conversations))
    chat(log, conversations[1:])
    worker = _stepping(url, view)
    worker.finish()
    keeper = PostgresKeeper(connections, {view.name: view})
    assert keeper.status()[0].stopped is None
    chat(log, conversations[:1])
    worker.finish()
    [standing] = keeper.status()
    assert standing.stopped is not None
    assert "Unfoldable" in standing.stopped
    assert standing.parked == CIRCUIT
    keeper.resume("audit")
    view.poison.clear()
    assert keeper.retry("audit") == CIRCUIT
    worker.finish()
    assert set(folded(url)) == set(conversations)
    worker.close()
