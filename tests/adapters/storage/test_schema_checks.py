"""A store says what it was made of, and is refused where no release made it."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from onrecord.adapters.storage.postgres import schema
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.adapters.storage.postgres.schema import FUNCTIONS_REVISION
from onrecord.adapters.storage.queries import (
    Migration,
    load_functions,
    load_migrations,
    statements,
)
from onrecord.adapters.storage.sqlite.sqlite import migrate_sqlite, open_sqlite
from onrecord.domain.errors import SchemaNewer, SchemaOlder, SchemaUnreleased
from tests.adapters.storage.postgres.test_postgres import run
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.sqlite_by_hand import ByHand

MADE = re.compile(
    r"CREATE (?:OR REPLACE )?(\w+)|(ALTER|DROP INDEX|INSERT|UPDATE|DO|REVOKE|SELECT|GRANT)"
)


@pytest.fixture
def url() -> Iterator[str]:
    created = fresh_log(VERSIONS[-1])
    yield created
    server(VERSIONS[-1]).drop(created)


CHANGED = (
    "UPDATE onrecord.migration SET digest = 'x' WHERE part = 'tables' AND number = 1",
    "ALTER TABLE onrecord.migration DROP COLUMN digest",
)


@pytest.mark.parametrize("change", CHANGED)
def test_tables_that_no_release_made_are_refused(url: str, change: str) -> None:
    run(url, change)
    for opening in (open_postgres, migrate):
        with pytest.raises(SchemaUnreleased, match="no release of Onrecord"):
            opening(url)


def test_functions_of_another_release_are_told_and_replaced(url: str) -> None:
    body = "SELECT 1::bigint"
    run(
        url,
        f"CREATE OR REPLACE FUNCTION onrecord.clock() RETURNS bigint LANGUAGE sql AS '{body}'",
        "UPDATE onrecord.migration SET digest = 'x', number = 0 WHERE part = 'functions'",
    )
    with pytest.raises(SchemaOlder, match="run `onrecord migrate`"):
        open_postgres(url)
    assert migrate(url) == 1
    assert migrate(url) == 0
    open_postgres(url).close()
    with psycopg.connect(url) as connection:
        (clock,) = connection.execute("SELECT onrecord.clock()").fetchone() or (1,)
        assert clock > 1


def test_functions_of_a_newer_release_are_left_alone(url: str) -> None:
    run(url, "INSERT INTO onrecord.migration VALUES ('functions', 999, 'x')")
    for opening in (open_postgres, migrate):
        with pytest.raises(SchemaNewer, match="upgrade"):
            opening(url)


def test_a_release_that_changes_a_function_replaces_it_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = load_functions("postgres", FUNCTIONS_REVISION)

    def newer(*_: object, **__: object) -> Migration:
        return Migration(
            old.version + 1, f"{old.sql}; COMMENT ON SCHEMA onrecord IS 'newer'", b"newer"
        )

    monkeypatch.setattr(schema, "load_functions", newer)
    with pytest.raises(SchemaOlder, match="run `onrecord migrate`"):
        open_postgres(url)
    assert migrate(url) == 1
    assert migrate(url) == 0
    monkeypatch.undo()
    with pytest.raises(SchemaNewer, match="upgrade"):
        open_postgres(url)


@pytest.mark.parametrize("change", ["UPDATE migration SET digest = x'00'", "DROP TABLE migration"])
def test_a_file_that_no_release_made_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "log.db"
    open_sqlite(path).close()
    by_hand = ByHand.open(path)
    by_hand.run(change)
    by_hand.close()
    for opening in (open_sqlite, migrate_sqlite):
        with pytest.raises(SchemaUnreleased, match="no release of Onrecord"):
            opening(path)


def test_steps_make_what_stays_and_the_other_files_what_is_replaced() -> None:
    steps = {made(text) for step in load_migrations("postgres") for text in statements(step.sql)}
    assert steps <= {"TABLE", "INDEX", "UNIQUE", "TYPE", "INSERT", "UPDATE", "ALTER", "DROP INDEX"}
    functions = load_functions("postgres", FUNCTIONS_REVISION).sql
    assert {made(text) for text in statements(functions)} <= {
        *("FUNCTION", "TRIGGER", "DO", "REVOKE", "GRANT", "SELECT")
    }
    assert "CREATE FUNCTION" not in functions
    assert "CREATE TRIGGER" not in functions


def test_steps_call_nothing_that_is_replaced() -> None:
    names = re.findall(
        r"FUNCTION onrecord\.(\w+)", load_functions("postgres", FUNCTIONS_REVISION).sql
    )
    steps = "\n".join(step.sql for step in load_migrations("postgres"))
    code = re.sub(r"--.*", "", steps)
    assert names
    assert [name for name in names if re.search(rf"onrecord\.{name}\(", code)] == []


def made(statement: str) -> str:
    found = MADE.match(statement)
    assert found is not None, statement
    return found[1] or found[2]


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';'';'; SELECT 2", ["SELECT ';'';'", "SELECT 2"]),
        ("-- a; b\nSELECT 1 -- it's\n;", ["SELECT 1"]),
        ("DO $$ BEGIN; -- it's\nEND $$; SELECT $1", ["DO $$ BEGIN; -- it's\nEND $$", "SELECT $1"]),
        ("SELECT 3 - 1;\n\n", ["SELECT 3 - 1"]),
    ],
)
def test_a_file_is_cut_where_its_statements_end(sql: str, parts: list[str]) -> None:
    assert statements(sql) == parts
