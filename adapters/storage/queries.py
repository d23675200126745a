"""The SQL of a dialect: named queries and numbered migrations, read from .sql files.

A file of queries, `queries.sql` or `queries_subject.sql`, is a sequence of::

    -- name: the_name
    -- One line that says why it is there or what it relies on.
    SELECT ...

A migration is a file `NNN_subject.sql`; NNN is the schema version that it leads to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final, NamedTuple

_NAME: Final = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT: Final = re.compile(r"^--.*\n", re.MULTILINE)


class Migration(NamedTuple):
    """A step of the schema: its version, from 1, and the SQL that leads there."""

    version: int
    sql: str


@cache
def load_queries(dialect: str) -> Mapping[str, str]:
    """Return the named queries of a dialect, without their comments; files `queries*.sql` hold them."""
    texts = [
        file.read_text("utf-8")
        for file in sorted(_folder(dialect).iterdir(), key=lambda file: file.name)
        if re.fullmatch(r"queries\w*\.sql", file.name)
    ]
    return MappingProxyType(parse_queries("".join(texts)))


@cache
def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """Return the migrations of a dialect in order of version."""
    found = [
        Migration(int(file.name[:3]), file.read_text("utf-8"))
        for file in _folder(dialect).iterdir()
        if re.fullmatch(r"\d{3}_\w+\.sql", file.name)
    ]
    return tuple(sorted(found))


def parse_queries(text: str) -> dict[str, str]:
    """Return the named queries of a file's text; ValueError where a name stands twice."""
    _, *parts = _NAME.split(text)
    names = parts[::2]
    if len(set(names)) < len(names):
        raise ValueError("a query's name stands twice: give each its own")
    return {
        name: _COMMENT.sub("", sql).strip() for name, sql in zip(names, parts[1::2], strict=True)
    }


def _folder(dialect: str) -> Traversable:
    return files("onrecord.adapters.storage") / "sql" / dialect
