"""Whatever is changed by SQL alone in the rows of views is found by `onrecord verify --views`.

Or it is on the list of what is not. Tables and columns are those that the database itself lists.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import apsw
import psycopg
import pytest

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.adapters.upkeep.verifying_views import VerifiedViews, verify_views
from onrecord.domain import events
from onrecord.domain.request_template import Template
from onrecord.projections.views.registry import VIEWS
from tests.adapters.views.workers import caught_up
from tests.factories import appending
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.search import SEED, is_whole
from tests.tampering.history import OTHER, answered, record
from tests.tampering.limits import LIMITS
from tests.tampering.postgres_rows import PostgresRows
from tests.tampering.rows import Rows, Tampering, tamperings
from tests.tampering.sqlite_view_rows import SqliteViewRows


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rows]:
    path = tmp_path_factory.mktemp("tampering") / "talks.db"
    with onrecord.connect(f"sqlite:///{path}") as store:
        tell(store)
        read(store)
    found = SqliteViewRows(path)
    yield found
    found.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Rows]:
    url = fresh_log(VERSIONS[-1])
    with onrecord.connect(url) as store:
        tell(store)
    caught_up(url, VIEWS)
    found = PostgresRows(url, of_views=True)
    yield found
    found.close()
    server(VERSIONS[-1]).drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def rows(request: pytest.FixtureRequest) -> Rows:
    found: Rows = request.getfixturevalue(request.param)
    return found


def tell(store: onrecord.Store) -> None:
    """What the log's own test tells, and what counts tokens of a tenant that forgets nothing."""
    record(store)
    conversation = backend_of(store).open(OTHER, "other/counted")
    template = Template(spans=(), sha256="", size=0)
    asked = events.RequestSent(
        api="bedrock-converse", endpoint="/", model="nova", template=template
    )
    used = events.ResponseCompleted(
        response=UUID(int=9), api="x", model="m", envelope={}, input_tokens=3, output_tokens=4
    )
    began = events.ConversationStarted(key="other/counted")
    backend_of(store).append([appending(conversation, began, asked, used, tenant=OTHER)])
    chat = store.conversation("support/4713")
    chat.user("What is the weather?")
    answered(chat, 4)


def read(store: onrecord.Store) -> None:
    views = store.views
    views.conversations()
    views.search("parcel")
    views.tool_calls()
    views.audit()
    views.usage()
    views.window("support/4711")


def compared(store: onrecord.Store) -> VerifiedViews:
    return verify_views(backend_of(store), store.views.pages.kept())


def drawn(rows: Rows, table: str) -> list[Tampering]:
    """All changes of a table; one of each column where this run leaves out what is long."""
    found = list(tamperings(rows, table))
    if is_whole():
        return found
    chance = random.Random(SEED)
    chance.shuffle(found)
    return list({(one.column, one.how == "deleted"): one for one in found}.values())


def is_listed(tampering: Tampering) -> bool:
    """Whether the list names a change of this row: of a tenant that has forgotten something."""
    name, kinds = f"{tampering.table}.{tampering.column}", {"all"}
    if tampering.table == "view_usage" and str(tampering.row["tenant"]) != str(OTHER):
        kinds.add("of a forgotten conversation")
    return any(name in limit.columns and limit.rows in kinds for limit in LIMITS)


def test_views_that_nobody_touched_hold(rows: Rows) -> None:
    with onrecord.connect(rows.url) as store:
        found = compared(store)
        assert (found.faults, found.unchecked) == ((), ())
        assert {view.view: (view.behind, view.parked) for view in found.views} == dict.fromkeys(
            VIEWS, (0, 0)
        )
        assert store.verify(views=True).is_whole


def test_every_table_of_views_has_rows_to_change(rows: Rows) -> None:
    """But for the rows of projections that programs bring: only these could fold them again."""
    maintained = {f"view_{name}" for name in VIEWS}
    assert maintained | {"view_own"} == set(rows.tables())
    assert all(rows.rows(table) for table in maintained)
    assert any(row["request"] for row in rows.rows("view_usage"))


def test_what_is_changed_in_views_by_sql_alone_is_found_or_is_on_the_list(rows: Rows) -> None:
    unnoticed: list[Tampering] = []
    tried: set[str] = set()
    with onrecord.connect(rows.url) as store:
        for table in rows.tables():
            for tampering in drawn(rows, table):
                try:
                    tampering.do(rows)
                except (apsw.Error, psycopg.Error):
                    continue  # The database itself refuses it.
                else:
                    tried.add(f"{table}.{tampering.column}")
                    if not compared(store).faults and not is_listed(tampering):
                        unnoticed.append(tampering)
                finally:
                    rows.undo(table)
        assert unnoticed == []
        assert len(tried) > 80
        assert compared(store).faults == ()


def test_a_fault_names_the_view_and_its_columns_and_nothing_that_was_said(rows: Rows) -> None:
    [row] = [row for row in rows.rows("view_search") if row["text"] == "What is the weather?"]
    rows.change("view_search", row, "text", "What is the time?")
    try:
        with onrecord.connect(rows.url) as store:
            [fault] = compared(store).faults
            alone = store.verify("support/4713", views=True)
    finally:
        rows.undo("view_search")
    assert str(fault.conversation_id) == str(row["conversation_id"])
    assert fault.version == row["version"]
    assert fault.why == "view search: 1 row is not what the events come to, in text"
    assert alone.faults == (fault,)


def test_an_index_of_words_that_lacks_a_row_is_found(tmp_path: Path) -> None:
    path = tmp_path / "talks.db"
    with onrecord.connect(f"sqlite:///{path}") as store:
        tell(store)
        read(store)
    by_hand = SqliteViewRows(path)
    by_hand.forget_words()
    by_hand.close()
    with onrecord.connect(f"sqlite:///{path}") as store:
        [fault] = compared(store).faults
    assert fault.why == "view search: its index of words is not that of its rows"
