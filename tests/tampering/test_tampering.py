"""Whatever is changed by SQL alone is found by `onrecord verify`, or is on the list of what is not.

Tables and columns are those that the database itself lists, so what is added later is covered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

import onrecord
from onrecord.adapters.storage.eventsourcing.postgres import PostgresFactory
from onrecord.adapters.storage.eventsourcing.sqlite import SqliteFactory
from onrecord.domain.errors import OnrecordError
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.tampering.history import APPLICATION, keep_aggregates, record
from tests.tampering.limits import LIMITS
from tests.tampering.postgres_rows import PostgresRows
from tests.tampering.rows import Row, Rows, Tampering, drawn
from tests.tampering.sqlite_rows import SqliteRows

PAGE = (Path(__file__).parents[2] / "docs" / "verify.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def rows(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rows]:
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("tampering") / "talks.db"
        yield from _recorded(f"sqlite:///{path}", SqliteFactory, lambda _: SqliteRows(path))
        return
    url = fresh_log(VERSIONS[-1])
    yield from _recorded(url, PostgresFactory, PostgresRows)
    server(VERSIONS[-1]).drop(url)


def _recorded(
    url: str,
    factory: type[SqliteFactory | PostgresFactory],
    opened: Callable[[str], Rows],
) -> Iterator[Rows]:
    with onrecord.connect(url) as store:
        record(store)
    application = factory({"ONRECORD_URL": url, "ONRECORD_TENANT": str(APPLICATION)})
    keep_aggregates(application)
    application.close()
    found = opened(url)
    yield found
    found.close()


def holds(rows: Rows) -> bool:
    """Whether a store that is opened anew says that all of it holds."""
    try:
        with onrecord.connect(rows.url) as store:
            return store.verify().is_whole
    except OnrecordError:
        return False


def is_listed(rows: Rows, tampering: Tampering) -> bool:
    """Whether the list of what cannot be found names a change of this row."""
    name, kinds = f"{tampering.table}.{tampering.column}", kinds_of(rows, tampering)
    return any(name in limit.columns and limit.rows in kinds for limit in LIMITS)


def kinds_of(rows: Rows, tampering: Tampering) -> set[str]:
    row, kinds = tampering.row, {"all"}
    owner = row.get("conversation_id", row.get("originator_id"))
    heads = {head["conversation_id"]: head for head in rows.rows("conversation_head")}
    if owner is not None and owner not in heads:
        kinds.add("of what has not begun")
    if owner in heads and heads[owner]["forgotten"]:
        kinds.add("of a forgotten conversation")
    if any(not blob["referenced"] for blob in blobs_of(rows, tampering.table, row)):
        kinds.add("unreferenced")
    return kinds


def blobs_of(rows: Rows, table: str, row: Row) -> list[Row]:
    """The blob that a row is, or is a part of."""
    match table:
        case "blob":
            return [row]
        case "blob_piece":
            return [blob for blob in rows.rows("blob") if blob["number"] == row["blob"]]
        case "blob_chunk":
            return [blob for blob in rows.rows("blob") if blob["blob_id"] == row["blob_id"]]
        case _:
            return []


def test_what_nobody_touched_holds(rows: Rows) -> None:
    with onrecord.connect(rows.url) as store:
        found = store.verify()
    assert found.faults == ()
    assert found.conversations + found.recorded_erasures == len(rows.rows("conversation_head"))
    assert found.events == len(rows.rows("event"))


def test_every_table_but_those_of_views_has_rows_to_change(rows: Rows) -> None:
    empty = {table for table in rows.tables() if not rows.rows(table)}
    assert empty <= {"caller", "worker", "view", "generation", "checkpoint", "parked"}


def test_what_is_changed_by_sql_alone_is_found_or_is_on_the_list(rows: Rows) -> None:
    unnoticed: list[Tampering] = []
    tried = 0
    for table in rows.tables():
        for tampering in drawn(rows, table):
            listed = is_listed(rows, tampering)
            try:
                tampering.do(rows)
            except (apsw.Error, psycopg.Error):
                continue  # The database itself refuses it.
            else:
                tried += 1
                if holds(rows) and not listed:
                    unnoticed.append(tampering)
            finally:
                rows.undo(table)
    assert unnoticed == []
    assert tried > 50
    assert holds(rows)


def test_the_list_names_what_the_databases_have() -> None:
    named = {name for limit in LIMITS for name in limit.columns}
    texts = "\n".join(
        path.read_text(encoding="utf-8")
        for path in Path("adapters").glob("*/*/sql/*.sql")
        if re.match(r"\d{3}_", path.name)
    )
    for name in named:
        table, column = name.split(".")
        assert re.search(rf"CREATE TABLE (\{{log\}}\.)?{table} \(", texts), name
        assert column == "*" or re.search(rf"\b{column}\b", texts), name


def test_the_page_has_the_list() -> None:
    told = re.findall(r"^\| (`[a-z_]+\.[^|]*) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    listed = [(", ".join(f"`{name}`" for name in of.columns), of.rows, of.why) for of in LIMITS]
    assert told == listed
