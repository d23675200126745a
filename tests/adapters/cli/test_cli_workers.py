"""What the commands say of views on PostgreSQL: who works at them, what they lack, what is parked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from onrecord.adapters.app import connect
from onrecord.adapters.storage.postgres.postgres import Postgres, open_postgres
from onrecord.adapters.terminal.view_pages import caught_up
from onrecord.adapters.views import catching_up
from onrecord.adapters.views.pages import Page
from onrecord.projections.views.audit import AUDIT, AuditEntry
from onrecord.projections.views.view import View
from tests.adapters.cli.command import Command, in_process, on_a_terminal
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.workers import Failing, Stepping, asked
from tests.factories import OTHER_TENANT, TENANT, appending, prompt
from tests.postgres_places import log_with_role
from tests.postgres_server import VERSIONS

VERSION = VERSIONS[-1]
ROLE = "onrecord_looker"
NOBODY = "no worker is at work: `onrecord worker` folds "


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("ONRECORD_TENANT", str(TENANT))
    with log_with_role(VERSION, ROLE) as place:
        monkeypatch.setenv("ONRECORD_URL", place)
        yield place


@pytest.fixture
def log(url: str) -> Iterator[Postgres]:
    log = open_postgres(url)
    yield log
    log.close()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catching_up, "_PAUSES", (0.0, 0.0, 0.0))


def at_work(url: str, view: View = AUDIT) -> Stepping:
    """A worker that holds all parts, and folds when it is told to."""
    worker = Stepping(url, {"audit": view})
    worker.claim()
    return worker


def test_that_nobody_works_is_told(url: str, log: Postgres, command: Command) -> None:
    log.append([appending(uuid4(), prompt("Hello"))])
    assert command("audit").err.splitlines()[-1] == f"1 event not folded yet, and {NOBODY}them"
    done = command("views")
    assert [row[-1] for row in done.columns] == ["not begun"] * 6
    assert done.err == f"{NOBODY}what the views lack\n"
    assert {line["workers"] for line in command("views", "--json").documents} == {0}


def test_who_works_is_told_until_the_lease_has_run_out(url: str, command: Command) -> None:
    worker = at_work(url)
    assert command("views").err == "1 worker at work, on 32 of 32 parts of the log\n"
    assert {line["workers"] for line in command("views", "--json").documents} == {1}
    asked(url, "UPDATE onrecord.part SET leased_until = onrecord.clock() - 1 WHERE part = 0")
    assert command("views").err == "1 worker at work, on 24 of 32 parts of the log\n"
    asked(url, "UPDATE onrecord.worker SET seen_at = seen_at - 10000000")
    assert command("views").err.startswith(NOBODY)
    worker.close()


@pytest.mark.usefixtures("no_pauses")
def test_what_was_recorded_while_a_view_was_read_is_not_lacking(url: str, log: Postgres) -> None:
    with connect(url, tenant=TENANT) as store:
        worker, conversation, answers = at_work(url), uuid4(), list[Page[AuditEntry]]()
        log.append([appending(conversation, prompt("Hello"))])

        def ask() -> Page[AuditEntry]:
            if len(answers) == 1:
                worker.finish()
                log.append([appending(conversation, prompt("And now?"))])
            answers.append(store.views.audit())
            return answers[-1]

        answer = caught_up(store, ask)
        assert [page.behind for page in answers] == [1, 1]
        assert (answer.page, len(answer.page), answer.lacks) == (answers[-1], 1, 0)
        worker.close()


@pytest.mark.usefixtures("no_pauses")
def test_a_view_that_a_worker_does_not_bring_up_to_date_is_told(
    url: str, log: Postgres, command: Command
) -> None:
    worker = at_work(url)
    log.append([appending(uuid4(), prompt("Hello"))])
    advice = "1 event not folded yet: ask again, or look at `onrecord views`"
    assert command("audit").err.splitlines()[-1] == advice
    assert command("audit", "--json").document["behind"] == 1
    worker.finish()
    assert command("audit").err == ""
    worker.close()


@pytest.mark.usefixtures("no_pauses")
def test_a_view_that_stands_still_is_told_at_once(
    url: str, log: Postgres, command: Command
) -> None:
    worker = at_work(url)
    command("pause", "audit")
    log.append([appending(uuid4(), prompt("Hello"))])
    assert "the view stands still 1 event behind: it was paused" in command("audit").err
    worker.close()


def test_what_is_parked_is_counted_by_tenant(url: str, log: Postgres, command: Command) -> None:
    bad = {TENANT: [uuid4()], OTHER_TENANT: [uuid4(), uuid4()]}
    for tenant, conversations in bad.items():
        log.append([appending(one, prompt("Hello"), tenant=tenant) for one in conversations])
    worker = at_work(url, Failing({one for parked in bad.values() for one in parked}))
    worker.finish()
    elsewhere = f"parked of other tenants, each by its ONRECORD_TENANT: {OTHER_TENANT} (2)"
    done = command("views")
    assert next(row[4] for row in done.columns if row[0] == "audit") == "1"
    assert done.err.splitlines()[0] == elsewhere
    (audit, *_) = command("views", "--json").documents
    assert (audit["view"], audit["parked"], audit["parked_elsewhere"]) == ("audit", 1, 2)
    done = command("parked")
    assert ([row[1] for row in done.columns], done.err) == ([str(bad[TENANT][0])], f"{elsewhere}\n")
    worker.close()


def test_a_role_of_one_tenant_sees_who_works_and_nothing_of_others(
    url: str, log: Postgres, command: Command
) -> None:
    bad = uuid4()
    log.append([appending(bad, prompt("Hello"), tenant=OTHER_TENANT)])
    worker = at_work(url, Failing({bad}))
    worker.finish()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT onrecord.admit(%s, %s)", (ROLE, TENANT))
    done = command("views", "--url", as_role(url, ROLE))
    assert done.err == "1 worker at work, on 32 of 32 parts of the log\n"
    assert {row[4] for row in done.columns} == {"0"}
    worker.close()


def test_how_views_stand_takes_a_line_a_view(url: str) -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal("views", columns=80)).splitlines()
    assert [line.split()[-2:] for line in shown if "not" in line] == [["not", "begun"]] * 6
    assert max(map(len, shown)) <= 80
