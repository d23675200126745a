"""The rights of each kind of role are those that docs/postgresql.md lists, by the database's catalogue.

What is new has no line there, and fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier

from onrecord.adapters.storage.postgres.postgres import Postgres
from tests.adapters.storage.postgres.roles import ROLE
from tests.adapters.storage.postgres.test_postgres_walk import BOUND, FUNCTIONS
from tests.factories import TENANT
from tests.postgres_server import owner_s

KINDS: Final = (*BOUND, "worker", "operator")
PAGE: Final = Path(__file__).parents[4] / "docs" / "postgresql.md"
_CATALOGUED: Final = """
SELECT c.relname,
    concat_ws(', ', (
        SELECT string_agg(p, ', ' ORDER BY n) FROM unnest(%(all)s::text[]) WITH ORDINALITY AS x (p, n)
        WHERE has_table_privilege(%(role)s, c.oid, p)
    ), (
        SELECT string_agg(of_columns, ', ') FROM (
            SELECT format('%%s (%%s)', p, string_agg(a.attname, ', ' ORDER BY a.attname)) AS of_columns
            FROM unnest(%(all)s::text[]) AS p, pg_attribute AS a
            WHERE p IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES') AND a.attrelid = c.oid
                AND a.attnum > 0 AND NOT a.attisdropped
                AND NOT has_table_privilege(%(role)s, c.oid, p)
                AND has_column_privilege(%(role)s, c.oid, a.attnum, p)
            GROUP BY p
        ) AS columns_alone
    ))
FROM pg_class AS c
WHERE c.relnamespace = 'onrecord'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'f', 'p', 'S')
"""
_SCHEMA: Final = (
    "SELECT has_schema_privilege(%(role)s, 'onrecord', 'USAGE'), "
    "has_schema_privilege(%(role)s, 'onrecord', 'CREATE')"
)
_ALL: Final = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"]


def rows_of(heading: str) -> list[list[str]]:
    """The rows of the table of the page that has a heading, its own first; code is plain."""
    table = PAGE.read_text().split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    lines = [f"| {heading} |{table}".splitlines()[0], *table.splitlines()[2:]]
    return [
        [cell.strip().replace("`", "") for cell in line.strip("| ").split("|")] for line in lines
    ]


def names_in(cell: str) -> list[str]:
    return [name.strip() for name in cell.split(",")]


def let_in(owner: psycopg.Connection[TupleRow], kind: str, bound: UUID | None) -> None:
    """Admit the role of the tests as a kind; its rights of before end."""
    verb = "admit" if kind == "runtime" else f"admit_{kind}"
    arguments = "%s" if bound is None else "%s, %s"
    call = SQL("SELECT onrecord.{}({})").format(Identifier(verb), SQL(arguments))
    owner.execute(call, (ROLE,) if bound is None else (ROLE, bound))


def listed_rights(kind: str, *, bound: bool) -> tuple[dict[str, str], set[str]]:
    """What the page lists of a kind of role: its rights on each table, and what it may call."""
    (_, *kinds), *lines = rows_of("tables")
    column = next(n for n, cell in enumerate(kinds, 1) if kind in names_in(cell))
    rights = {
        table: "" if bound and table == "caller" else line[column]
        for line in (each + [""] * len(kinds) for each in lines)
        for table in names_in(line[0])
    }
    _, *calls = rows_of("functions")
    callable_by = {
        name for cells in calls if kind in names_in(cells[1]) for name in names_in(cells[0])
    }
    return rights, callable_by


def test_each_kind_of_role_has_the_rights_that_the_page_lists_and_no_others(
    url: str, owner: Postgres
) -> None:
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        for kind, bound in (*((kind, TENANT) for kind in BOUND), *((kind, None) for kind in KINDS)):
            let_in(connection, kind, bound)
            rights, callable_by = listed_rights(kind, bound=bound is not None)
            found = connection.execute(_CATALOGUED, {"role": ROLE, "all": _ALL}).fetchall()
            assert dict(found) == rights, kind
            may = f"{FUNCTIONS} AND has_function_privilege(%s, oid, 'EXECUTE')"
            assert {name for (name,) in connection.execute(may, (ROLE,))} == callable_by, kind
            assert connection.execute(_SCHEMA, {"role": ROLE}).fetchone() == (True, False), kind


def test_what_runs_as_the_owner_looks_names_up_in_the_catalogue_first(
    url: str, owner: Postgres
) -> None:
    loose = f"{FUNCTIONS} AND prosecdef AND NOT coalesce(proconfig, '{{}}') @> %s"
    with psycopg.connect(owner_s(url), autocommit=True) as connection:
        assert connection.execute(loose, (["search_path=pg_catalog, pg_temp"],)).fetchall() == []
