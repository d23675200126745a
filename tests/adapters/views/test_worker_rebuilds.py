"""Views are made anew beside the ones that are read, switched, and swept; they are paused, resumed."""

from __future__ import annotations

import threading
from dataclasses import replace
from uuid import uuid4

import pytest

from onrecord.adapters.cli.views.keeping import rebuild_view
from onrecord.adapters.storage.postgres.connections import Connections
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.views.postgres.keeper import PostgresKeeper
from onrecord.domain.errors import InvalidInput, ViewStopped
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.step import CIRCUIT, STRICT_ATTEMPTS
from tests.adapters.views.workers import Failing, Stepping, asked, caught_up, chat, folded, working
from tests.patience import join, until

VIEWS = {"audit": AUDIT}
NEXT = {"audit": replace(AUDIT, revision=AUDIT.revision + 1)}


def test_a_view_that_nobody_began_says_so(url: str, connections: Connections) -> None:
    [standing] = PostgresKeeper(connections, VIEWS).status()
    assert (standing.generation, standing.position, standing.events) == (None, 0, 0)


def test_a_rebuild_needs_no_worker_and_tells_how_far_it_is(
    url: str, log: Postgres, connections: Connections
) -> None:
    conversations = [uuid4() for _ in range(20)]
    chat(log, conversations, 5)
    told: list[tuple[int, int]] = []
    keeper = PostgresKeeper(connections, VIEWS)
    keeper.rebuild("audit", lambda done, of: told.append((done, of)))
    assert folded(url) == {one: [1, 2, 3, 4, 5] for one in conversations}
    assert told[0] == (0, 100)
    assert told[-1] == (100, 100)
    [standing] = keeper.status()
    assert (standing.generation, standing.building, standing.position) == (2, None, 100)


def test_what_was_live_before_is_swept(url: str, log: Postgres, connections: Connections) -> None:
    chat(log, [uuid4()], 5)
    caught_up(url, VIEWS)
    PostgresKeeper(connections, VIEWS).rebuild("audit")
    assert asked(url, "SELECT DISTINCT generation FROM onrecord.view_audit") == [(2,)]
    assert asked(url, "SELECT number FROM onrecord.generation") == [(2,)]


def test_a_view_is_rebuilt_beside_the_live_one_under_traffic(
    url: str, log: Postgres, connections: Connections
) -> None:
    conversations = [uuid4() for _ in range(20)]
    chat(log, conversations, 10)
    with working(url, VIEWS) as worker:
        until(lambda: worker.has_come_to(worker.ends()))
        rebuilding = threading.Thread(
            target=PostgresKeeper(connections, VIEWS).rebuild, args=("audit",)
        )
        rebuilding.start()
        said = 10
        while rebuilding.is_alive():
            chat(log, conversations)
            said += 1
            assert min(map(len, folded(url).values())) >= 10, "rows of the live build are missing"
        join(rebuilding)
        wanted = {one: list(range(1, said + 1)) for one in conversations}
        until(lambda: folded(url) == wanted)
    assert asked(url, "SELECT number, status FROM onrecord.generation") == [(2, "live")]


def test_a_release_with_another_revision_leaves_the_live_rows_alone_until_it_rebuilds_them(
    url: str, log: Postgres, connections: Connections
) -> None:
    conversation = uuid4()
    chat(log, [conversation])
    caught_up(url, VIEWS)
    chat(log, [conversation])
    newer = Stepping(url, NEXT)
    newer.claim()
    assert not newer.turn()
    [told] = newer.builds.feeding().told
    assert "onrecord rebuild audit" in told
    PostgresKeeper(connections, NEXT).rebuild("audit")
    assert folded(url) == {conversation: [1, 2]}
    assert asked(url, "SELECT number, revision FROM onrecord.generation") == [
        (2, AUDIT.revision + 1)
    ]
    newer.close()


def test_workers_finish_a_rebuild_whose_program_was_ended(
    url: str, log: Postgres, connections: Connections
) -> None:
    conversation = uuid4()
    chat(log, [conversation], 3)
    caught_up(url, VIEWS)

    def interrupted(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PostgresKeeper(connections, VIEWS).rebuild("audit", interrupted)
    assert PostgresKeeper(connections, VIEWS).status()[0].building == 2
    with working(url, VIEWS):
        until(lambda: asked(url, "SELECT number FROM onrecord.generation") == [(2,)])
    assert folded(url) == {conversation: [1, 2, 3]}


def test_an_abandoned_rebuild_leaves_the_live_build_alone(
    url: str, log: Postgres, connections: Connections
) -> None:
    conversation = uuid4()
    chat(log, [conversation], 3)
    worker = Stepping(url, VIEWS)
    worker.claim()
    worker.finish()
    worker.builds.begin_building(AUDIT)
    keeper = PostgresKeeper(connections, VIEWS)
    worker.finish()
    assert keeper.abandon("audit")
    assert not keeper.abandon("audit")
    chat(log, [conversation])
    worker.finish()
    assert folded(url) == {conversation: [1, 2, 3, 4]}
    assert asked(url, "SELECT DISTINCT generation FROM onrecord.view_audit") == [(1,)]
    worker.close()


def test_a_rebuild_that_is_abandoned_meanwhile_says_so(
    url: str, log: Postgres, connections: Connections
) -> None:
    chat(log, [uuid4()], 3)
    keeper = PostgresKeeper(connections, VIEWS)

    def abandon(_done: int, _of: int) -> None:
        keeper.abandon("audit")

    with pytest.raises(ViewStopped, match="abandoned"):
        keeper.rebuild("audit", abandon)
    assert keeper.status()[0].generation == 1


def test_a_batch_into_a_build_that_was_retired_meanwhile_writes_nothing(
    url: str, log: Postgres
) -> None:
    chat(log, [uuid4()], 3)
    worker = Stepping(url, VIEWS)
    lease = worker.claim()
    building = worker.builds.begin_building(AUDIT)
    feeds = worker.builds.feeding().feeds
    worker.builds.abandon("audit", building)
    assert worker.hand.turn(lease, feeds)
    asked_for = "SELECT DISTINCT generation FROM onrecord.view_audit"
    assert asked(url, asked_for) == [(1,)]
    worker.close()


def test_a_build_is_not_switched_before_it_has_come_as_far(url: str, log: Postgres) -> None:
    chat(log, [uuid4()], 3)
    worker = Stepping(url, VIEWS)
    worker.claim()
    worker.finish()
    building = worker.builds.begin_building(AUDIT)
    assert not worker.builds.switch("audit", building, 1)
    worker.finish()
    assert worker.builds.switch("audit", building, 1)
    worker.close()


def test_a_build_that_became_live_meanwhile_is_not_abandoned(url: str, log: Postgres) -> None:
    conversation = uuid4()
    chat(log, [conversation])
    worker = Stepping(url, VIEWS)
    worker.claim()
    building = worker.builds.begin_building(AUDIT)
    worker.finish()
    assert worker.builds.switch("audit", building, 1)
    assert not worker.builds.abandon("audit", building)
    assert folded(url) == {conversation: [1]}
    chat(log, [conversation])
    worker.finish()
    assert folded(url) == {conversation: [1, 2]}
    worker.close()


def test_a_build_that_was_abandoned_meanwhile_is_not_switched(url: str, log: Postgres) -> None:
    worker = Stepping(url, VIEWS)
    building = worker.builds.begin_building(AUDIT)
    assert worker.builds.abandon("audit", building)
    assert not worker.builds.switch("audit", building, 1)
    assert asked(url, "SELECT status FROM onrecord.generation WHERE number = 1") == [("live",)]
    worker.close()


def test_a_paused_view_stands_still_until_it_is_resumed(
    url: str, log: Postgres, connections: Connections
) -> None:
    conversation, keeper = uuid4(), PostgresKeeper(connections, VIEWS)
    chat(log, [conversation])
    worker = Stepping(url, VIEWS)
    worker.claim()
    worker.finish()
    keeper.pause("audit")
    chat(log, [conversation])
    assert not worker.turn()
    [standing] = keeper.status()
    assert (standing.paused, standing.position, standing.behind) == (True, 1, 1)
    with pytest.raises(InvalidInput, match="resume it"):
        keeper.rebuild("audit")
    keeper.resume("audit")
    worker.finish()
    assert folded(url) == {conversation: [1, 2]}
    worker.close()


def test_a_rebuild_that_fails_too_often_says_so_and_what_is_read_stays(
    url: str, log: Postgres, connections: Connections
) -> None:
    conversations = [uuid4() for _ in range(CIRCUIT)]
    chat(log, conversations)
    caught_up(url, VIEWS)
    failing = {"audit": Failing(set(conversations))}
    with pytest.raises(ViewStopped, match="fail alike"):
        PostgresKeeper(connections, failing).rebuild("audit")
    [standing] = PostgresKeeper(connections, VIEWS).status()
    assert (standing.generation, standing.stopped) == (1, None)
    assert standing.build_stopped is not None
    chat(log, conversations)
    caught_up(url, VIEWS)
    assert folded(url) == {one: [1, 2] for one in conversations}
    PostgresKeeper(connections, VIEWS).rebuild("audit")
    [standing] = PostgresKeeper(connections, VIEWS).status()
    assert (standing.generation, standing.stopped, standing.build_stopped) == (3, None, None)
    assert (standing.parked, set(folded(url))) == (0, set(conversations))


def test_the_command_says_what_a_rebuild_could_not_fold(
    url: str, log: Postgres, connections: Connections, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = uuid4(), uuid4()
    chat(log, [bad, good])
    rebuild_view(PostgresKeeper(connections, {"audit": Failing({bad})}), "audit", as_json=False)
    said = capsys.readouterr()
    assert said.out == "audit: rebuilt.\n"
    assert said.err == "1 conversation could not be folded: see `onrecord parked audit`\n"


def test_a_strict_rebuild_stops_at_the_first_event_that_fails(
    url: str, log: Postgres, connections: Connections
) -> None:
    bad = uuid4()
    chat(log, [bad])
    failing = {"audit": Failing({bad}, strict=True)}
    with pytest.raises(ViewStopped, match=str(bad)):
        PostgresKeeper(connections, failing).rebuild("audit")


def test_a_strict_build_that_workers_cannot_go_on_with_does_not_stop_what_is_read(
    url: str, log: Postgres, connections: Connections
) -> None:
    bad = uuid4()
    chat(log, [bad])
    caught_up(url, VIEWS)
    worker = Stepping(url, {"audit": Failing({bad}, strict=True)})
    worker.builds.begin_building(AUDIT)
    worker.claim()
    for _ in range(STRICT_ATTEMPTS):
        worker.turn()
        worker.now += 3600
    [standing] = PostgresKeeper(connections, VIEWS).status()
    assert standing.stopped is None
    assert standing.build_stopped is not None
    assert str(bad) in standing.build_stopped
    assert [feed.generation for feed in worker.builds.feeding().feeds] == [1]
    worker.close()


def test_names_that_no_view_bears_are_refused(connections: Connections) -> None:
    with pytest.raises(InvalidInput, match="audit"):
        PostgresKeeper(connections, VIEWS).pause("adit")
