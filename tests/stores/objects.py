"""Every object of a schema, as the database itself describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

import apsw
import psycopg

# A row an object: what it is, its name, and all that is said of it. Owners are as they connect.
_POSTGRES: Final = """
WITH log AS (SELECT 'onrecord'::regnamespace AS oid)
SELECT 'table', c.relname, concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity,
    c.relforcerowsecurity, c.relreplident, c.reloptions::text, c.relacl::text)
FROM pg_class AS c, log WHERE c.relnamespace = log.oid AND c.relkind IN ('r', 'c', 'v', 'S', 'p')
UNION ALL
SELECT 'column', format('%s.%s', c.relname, a.attnum), concat_ws(' ', a.attname,
    format_type(a.atttypid, a.atttypmod), a.attnotnull, coalesce(a.attstattarget, -1), a.attstorage,
    a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid), a.attacl::text)
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN log ON c.relnamespace = log.oid
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND c.relkind IN ('r', 'c', 'v', 'p')
UNION ALL
SELECT 'index', i.indexrelid::regclass::text, concat_ws(' ', pg_get_indexdef(i.indexrelid),
    i.indisreplident, i.indisvalid)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN log ON c.relnamespace = log.oid
UNION ALL
SELECT 'constraint', format('%s.%s', k.conrelid::regclass, k.conname), pg_get_constraintdef(k.oid)
FROM pg_constraint AS k JOIN log ON k.connamespace = log.oid
UNION ALL
SELECT 'function', p.oid::regprocedure::text,
    concat_ws(' ', pg_get_functiondef(p.oid), p.proacl::text)
FROM pg_proc AS p JOIN log ON p.pronamespace = log.oid
UNION ALL
SELECT 'trigger', t.tgname, pg_get_triggerdef(t.oid)
FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid JOIN log ON c.relnamespace = log.oid
WHERE NOT t.tgisinternal
UNION ALL
SELECT 'policy', format('%s.%s', p.polrelid::regclass, p.polname), concat_ws(' ', p.polcmd,
    p.polpermissive, p.polroles::text, pg_get_expr(p.polqual, p.polrelid),
    pg_get_expr(p.polwithcheck, p.polrelid), obj_description(p.oid, 'pg_policy'))
FROM pg_policy AS p JOIN pg_class AS c ON c.oid = p.polrelid JOIN log ON c.relnamespace = log.oid
UNION ALL
SELECT 'schema', n.nspname, n.nspacl::text FROM pg_namespace AS n JOIN log ON n.oid = log.oid
UNION ALL
SELECT 'step', format('%s %s', m.part, m.number), encode(m.digest, 'hex') FROM onrecord.migration AS m
WHERE m.part = 'tables'
"""

_SQLITE: Final = """
SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'
UNION ALL SELECT 'step', number, hex(digest) FROM migration
UNION ALL SELECT 'pragma', 'user_version', user_version FROM pragma_user_version
UNION ALL SELECT 'pragma', 'application_id', application_id FROM pragma_application_id
"""


def objects_of_postgres(url: str) -> dict[tuple[str, str], str]:
    """Return what each object of the log in a database is, by kind and name."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(_POSTGRES.encode()).fetchall()
    return {(kind, name): str(told) for kind, name, told in rows}


def objects_of_sqlite(path: Path) -> dict[tuple[str, str], str]:
    """Return what each object of a SQLite file is, by kind and name."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    # Its type hints name collections.abc.Buffer, which Python 3.11 does not have.
    reader = cast("Any", connection)
    try:
        return {(str(kind), str(name)): str(told) for kind, name, told in reader.execute(_SQLITE)}
    finally:
        connection.close()
