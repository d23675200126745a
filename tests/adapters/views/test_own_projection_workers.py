"""Workers of which some know a projection of one's own, and some do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import onrecord
from onrecord import Store
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.views.own_projections import register_projection
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.view import View
from tests.adapters.cli.command import Command, in_process
from tests.adapters.views.own_projections import Heard, Mailbox, asked, heard
from tests.adapters.views.workers import asked as queried
from tests.adapters.views.workers import working
from tests.patience import until
from tests.postgres_server import VERSIONS, server

CONVERSATIONS = 40
"""So many that each worker's parts have some."""

AUDIT = {"audit": VIEWS["audit"]}


@pytest.fixture
def store() -> Iterator[Store]:
    running = server(VERSIONS[-1])
    url = running.create("log", migrate)
    with onrecord.connect(url) as connected:
        yield connected
    running.drop(url)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def with_own(projection: object) -> dict[str, View]:
    """The view `audit`, and a projection."""
    views = dict(AUDIT)
    register_projection(projection, views)
    return views


def filled(store: Store) -> list[tuple[str, int]]:
    """Conversations in the store, and the rows that `Heard` makes of them."""
    keys = [f"{number:02}" for number in range(CONVERSATIONS)]
    for key in keys:
        asked(store, key)
    return [(key, 2) for key in keys]


def test_a_projection_goes_on_beside_workers_that_do_not_know_it(store: Store) -> None:
    rows, projection = filled(store), Heard()
    with working(store.url, AUDIT) as without:
        until(lambda: without.has_come_to(without.ends()))
        with working(store.url, with_own(projection)) as worker:
            until(lambda: worker.has_come_to(worker.ends()), "the end of the log")
            assert heard(store, projection) == rows
            until(lambda: 0 < without.held < 32, "each has its share of the maintained view")


def test_who_follows_a_projection_takes_no_part_from_those_who_keep_views(store: Store) -> None:
    filled(store)
    with working(store.url, AUDIT) as worker, store.follow(Heard()) as following:
        assert following.wait(60)
        until(lambda: worker.held == 32)
        assert worker.has_come_to(worker.ends())
        at_work = store.views.keeper.at_work()
        assert at_work is not None
        assert (at_work.workers, at_work.own) == (1, {"heard": 1})


def test_workers_that_know_a_projection_share_its_parts(store: Store) -> None:
    first, second = Mailbox(), Mailbox()
    with (
        working(store.url, with_own(first)) as one,
        working(store.url, with_own(second)) as two,
        working(store.url, AUDIT),
    ):
        until(lambda: shares(store.url, "mailbox") == [16, 16], "equal shares of the projection")
        until(lambda: sum(shares(store.url, "")) == 32)
        filled(store)
        until(lambda: one.has_come_to(one.ends()) and two.has_come_to(two.ends()))
    assert first.mail
    assert second.mail
    assert len(first.mail) + len(second.mail) == CONVERSATIONS


def shares(url: str, view: str) -> list[int]:
    """How many parts of a projection each worker holds."""
    counted = (
        "SELECT count(*) FROM onrecord.part WHERE view = %s AND owner IS NOT NULL GROUP BY owner"
    )
    return [count for (count,) in queried(url, counted, view)]


def test_a_rebuild_is_switched_by_who_knows_the_projection(store: Store) -> None:
    rows, projection = filled(store), Heard()
    store.run(projection)
    with working(store.url, AUDIT) as without:
        until(lambda: without.held == 32)
        queried(
            store.url,
            "INSERT INTO onrecord.generation (view, number, revision, status) "
            "VALUES ('heard', 2, 2, 'building')",
        )
        with working(store.url, with_own(Heard(revision=2))):
            until(lambda: status(store, "heard").generation == 2, "the switch")
        assert heard(store, projection) == rows


def status(store: Store, name: str) -> onrecord.ViewStatus:
    return next(one for one in store.views.keeper.status() if one.view == name)


def test_a_projection_that_no_worker_knows_is_said_to_be_so(
    store: Store, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_URL", store.url)
    projection = Heard()
    store.run(projection)
    asked(store, "a")
    with working(store.url, AUDIT) as worker:
        until(lambda: worker.held == 32)
        states = {row[0]: row[5] for row in command("views").columns}
        assert states["heard"].startswith("no worker knows it")
        assert not states["audit"]
        by_name = {each["view"]: each for each in command("views", "--json").documents}
        assert (by_name["heard"]["workers"], by_name["audit"]["workers"]) == (0, 1)
    with store.follow(projection) as following:
        assert following.wait(60)
        states = {row[0]: row[5] for row in command("views").columns}
        assert not states["heard"]
