"""The SQL of a dialect: named queries, the steps of its tables, and what is replaced as a whole.

A file of queries, `queries.sql` or `queries_subject.sql`, is a sequence of::

    -- name: the_name
    -- One line that says why it is there or what it relies on.
    SELECT ...

A step is a file `NNN_subject.sql`; NNN is the schema version that it leads to. What a release has
brought out never changes any more: what comes later is a step with a higher number. On PostgreSQL the
steps make tables, indexes and types. Functions, triggers, policies and grants are in the other files,
`functions_subject.sql` and `rights.sql`: each release puts its own in the place of those before.

The SQL of a database lies beside its modules. The log and the views on PostgreSQL are one schema: the
files of both folders, in the order of their names, are one dialect, and their steps one sequence.

A log on PostgreSQL is a schema, and a database may hold several. So its files write `{log}` where the
schema's name belongs, those of a key store `{keys}`, and `{lock}` for the first key of its advisory lock.
`{bound}` is the tenant that a policy compares with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType
from typing import Final, NamedTuple

DEFAULT_SCHEMA: Final = "onrecord"

_FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "sqlite": ("onrecord.adapters.storage.sqlite",),
    "sqlite_views": ("onrecord.adapters.views.sqlite",),
    "sqlite_keys": ("onrecord.adapters.encryption.sqlite",),
    "postgres_keys": ("onrecord.adapters.encryption.postgres",),
    "postgres": ("onrecord.adapters.storage.postgres", "onrecord.adapters.views.postgres"),
}
"""The packages whose folder `sql` holds a dialect's files."""

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT: Final = re.compile(r"^--.*\n", re.MULTILINE)
_PART: Final = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\$\$.*?\$\$|;|[^;'$-]+|.", re.DOTALL)


class Migration(NamedTuple):
    """SQL that makes a part of a schema: its number, from 1, and the digest of the file as it is.

    For a step, the number is the schema version that it leads to.
    """

    version: int
    sql: str
    digest: bytes


@cache
def load_queries(dialect: str, schema: str = DEFAULT_SCHEMA) -> Mapping[str, str]:
    """Return the named queries of a dialect, without their comments; files `queries*.sql` hold them."""
    texts = [_filled_in(text, schema) for text in _texts(dialect, r"queries\w*\.sql").values()]
    return MappingProxyType(parse_queries("".join(texts)))


@cache
def load_migrations(
    dialect: str, schema: str = DEFAULT_SCHEMA, *, on_citus: bool = False
) -> tuple[Migration, ...]:
    """Return the steps of a dialect in order of version."""
    return tuple(
        _migration(int(name[:3]), text, schema, on_citus)
        for name, text in _texts(dialect, r"\d{3}_\w+\.sql").items()
    )


@cache
def load_functions(
    dialect: str, revision: int, schema: str = DEFAULT_SCHEMA, *, on_citus: bool = False
) -> Migration:
    """Return what is replaced as a whole, as the revision that it is."""
    texts = _texts(dialect, r"(functions_\w+|rights)\.sql")
    return _migration(revision, "\n".join(texts.values()), schema, on_citus)


def parse_queries(text: str) -> dict[str, str]:
    """Return the named queries of a file's text; ValueError where a name stands twice."""
    _, *parts = _NAME.split(text)
    names = parts[::2]
    if len(set(names)) < len(names):
        raise ValueError("a query's name stands twice: give each its own")
    return {
        name: _COMMENT.sub("", sql).strip() for name, sql in zip(names, parts[1::2], strict=True)
    }


def statements(sql: str) -> list[str]:
    """Return the statements of a file, for Citus takes one a message.

    A semicolon in a comment, a text or a body between $$ ends none.
    """
    parts = [""]
    for part in _PART.findall(sql):
        if part == ";":
            parts.append("")
        elif not part.startswith("--"):
            parts[-1] += part
    return [statement.strip() for statement in parts if statement.strip()]


def lock_of(schema: str) -> int:
    """Return the first key of a log's advisory lock, which who listens holds; the second key is 0.

    It is the only one, and nobody waits for it: advisory locks are anybody's who may connect.
    """
    return int.from_bytes(sha256(schema.encode()).digest()[:4], "big") >> 1


def _texts(dialect: str, pattern: str) -> dict[str, str]:
    """Return the texts of a dialect's files whose names are such, in the order of the names."""
    matches = {
        file.name: file
        for package in _FOLDERS[dialect]
        for file in (files(package) / "sql").iterdir()
        if re.fullmatch(pattern, file.name)
    }
    return {name: matches[name].read_text("utf-8") for name in sorted(matches)}


def _migration(version: int, text: str, schema: str, on_citus: bool) -> Migration:
    # Citus takes no subquery in a policy, which elsewhere is what asks once a statement, not once a row.
    bound = f"{schema}.bound_tenant()" if on_citus else f"(SELECT {schema}.bound_tenant())"
    operators = bound.replace("bound_tenant", "bound_operators")
    sql = _filled_in(text, schema).replace("{bound}", bound).replace("{operators}", operators)
    return Migration(version, sql, sha256(text.encode()).digest())


def _filled_in(sql: str, schema: str) -> str:
    named = sql.replace("{log}", schema).replace("{keys}", schema)
    return named.replace("{lock}", str(lock_of(schema)))
