"""Where projections of one's own come from: entry points, names on a command line, cursors as texts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord import Cursor, cursor_text, parse_cursor
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.views.own_projections import load_projection, views_of_store
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.registry import VIEWS
from tests.adapters.cli.command import Command, in_process
from tests.adapters.views.own_projections import Heard, asked, heard
from tests.postgres_server import VERSIONS, server

HERE = "tests.adapters.views.own_projections"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    database = server(VERSIONS[-1]).create("log", migrate)
    monkeypatch.setenv("ONRECORD_URL", database)
    yield database
    server(VERSIONS[-1]).drop(database)


@dataclass
class Installed:
    """What packages bring, in the place of what is installed here."""

    points: tuple[EntryPoint, ...]

    def __call__(self, *, group: str) -> tuple[EntryPoint, ...]:
        return tuple(point for point in self.points if point.group == group)


def install(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    points = tuple(EntryPoint("its name", value, "onrecord.projections") for value in values)
    monkeypatch.setattr("onrecord.adapters.views.own_projections.entry_points", Installed(points))


def test_a_store_knows_the_projections_of_installed_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, f"{HERE}:Heard")
    assert set(views_of_store()) == {*VIEWS, "heard"}
    with onrecord.connect("memory://") as store:
        asked(store, "a")
        store.run("heard")
        assert heard(store) == [("a", 2)]


def test_a_package_that_is_broken_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(monkeypatch, "nowhere.at.all:Heard", f"{HERE}:asked", f"{HERE}:Mailbox")
    assert set(views_of_store()) == {*VIEWS, "mailbox"}
    assert len(caplog.messages) == 2


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("Heard", "package.module:NAME"),
        (f"{HERE}:", "package.module:NAME"),
        (f"{HERE}:Herd", "has no Herd"),
        ("nowhere.at.all:Heard", "no module nowhere"),
    ],
)
def test_a_name_that_leads_nowhere_is_told(reference: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        load_projection(reference)


def test_the_same_projection_may_be_named_again_and_another_may_not() -> None:
    with onrecord.connect("memory://") as store:
        projection = Heard()
        assert store.views.register(projection) == store.views.register(projection) == "heard"
        with pytest.raises(InvalidInput, match="already: pass the instance that you registered"):
            store.views.register(Heard())


def test_a_projection_may_be_named_again_by_its_class() -> None:
    with onrecord.connect("memory://") as store:
        asked(store, "a")
        assert store.run(Heard).position == store.run(Heard).position
        assert heard(store) == [("a", 2)]
        with pytest.raises(InvalidInput, match="already"):
            store.run(type("Heard", (Heard,), {}))


class Meeting(frozenset[str]):
    """Types of events that are looked at by two threads at once, where nothing keeps them apart."""

    both = threading.Barrier(2)

    def __iter__(self) -> Iterator[str]:
        with suppress(threading.BrokenBarrierError):
            self.both.wait(0.5)
        return super().__iter__()


def test_two_threads_that_register_a_projection_at_once_have_the_same() -> None:
    projection = Heard(types=Meeting())
    with onrecord.connect("memory://") as store, ThreadPoolExecutor(2) as threads:
        assert [*threads.map(store.views.register, [projection] * 2)] == ["heard", "heard"]


@pytest.mark.parametrize("typo", ["signal.recieved", "mesage.recorded", "message.record"])
def test_a_type_of_events_that_is_misspelt_is_told_what_is_near(typo: str) -> None:
    with onrecord.connect("memory://") as store:
        with pytest.raises(InvalidInput, match=r"maybe .*(signal\.received|message\.recorded)"):
            store.views.register(Heard(types={typo}))
        store.views.register(Heard(types={"approval.requested", "orders:Order.Created"}))


def test_a_worker_keeps_a_projection_that_is_named_on_its_command_line(
    url: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    (tmp_path / "support_refunds.py").write_text(f"from {HERE} import Heard\n")
    with onrecord.connect(url) as store:
        asked(store, "a")
        named = ("--projection", "support_refunds:Heard")
        assert command("worker", "--once", "--views", "audit", *named).code == 0
        store.views.register(Heard())
        assert heard(store) == [("a", 2)]


def test_commands_know_a_projection_that_only_workers_have_the_code_of(
    url: str, command: Command
) -> None:
    with onrecord.connect(url) as store:
        asked(store, "a")
        store.run(Heard(poison={2}))
    assert "heard" in command("views").out
    assert command("parked", "heard", "--json").documents[0]["kind"] == "Unwritable"
    assert command("pause", "heard").code == 0
    assert command("resume", "heard").code == 0
    assert "1 parked" in command("retry", "heard").out
    refused = command("rebuild", "heard")
    assert (refused.code, "--projection" in refused.err) == (1, True)


def test_a_rebuild_knows_a_projection_that_is_named_on_its_command_line(
    url: str, command: Command
) -> None:
    with onrecord.connect(url) as store:
        asked(store, "a")
        store.run(Heard())
        done = command("rebuild", "heard", "--projection", f"{HERE}:Heard")
        assert done.out == "heard: rebuilt.\n"
        assert heard(store) == [("a", 2)]


def test_commands_look_after_a_projection_on_sqlite_by_its_name(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, f"{HERE}:Heard")
    monkeypatch.setenv("ONRECORD_URL", f"sqlite:///{tmp_path / 'talks.db'}")
    with onrecord.connect() as store:
        asked(store, "a")
        store.run("heard")
        assert command("rebuild", "heard").code == 0
        assert command("pause", "heard").code == 0
        assert "paused" in command("views").out
        assert command("resume", "heard").code == 0
        assert heard(store) == [("a", 2)]


def test_commands_look_after_a_projection_on_sqlite_that_is_named_on_their_command_line(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_URL", f"sqlite:///{tmp_path / 'talks.db'}")
    named = ("--projection", f"{HERE}:Heard")
    with onrecord.connect() as store:
        asked(store, "a")
        store.run(Heard(poison={2}))
    assert command("parked", "heard", *named, "--json").documents[0]["kind"] == "Unwritable"
    refused = command("pause", "heard")
    assert (refused.code, "--projection" in refused.err) == (1, True)
    assert command("pause", "heard", *named).out == "heard: paused.\n"
    assert "paused" in command("views", *named).out
    assert command("resume", "heard", *named).out == "heard: resumed.\n"
    assert command("retry", "heard", *named).out == "1 parked conversation of heard tried again.\n"
    assert not command("parked", "heard", *named).out


@given(st.uuids(), st.integers(0, 2**15), st.integers(0, 2**63 - 1))
def test_a_cursor_that_was_kept_as_a_text_is_the_same(
    incarnation: UUID, shard: int, position: int
) -> None:
    cursor = Cursor(incarnation, shard, position)
    assert parse_cursor(cursor_text(cursor)) == cursor


@given(st.text(max_size=60))
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"no cursor|a cursor"):
        parse_cursor(text)
