"""What erasures leave in the files of PostgreSQL, and writing these anew.

A row that is erased stays in its page, and its keys in those of indexes, until other rows are written
over it. VACUUM FULL writes a table and its indexes anew. It copies what an older transaction could
still see, so what it could not remove is looked at: its report says how many row versions.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg import errors

from onrecord.adapters.storage.postgres.connections import (
    Address,
    Connections,
    LogConnection,
    connected,
    fetched,
)
from onrecord.adapters.storage.postgres.errors import translated

_NUMBER: Final = re.compile(r"\d+")

_IN_LOG: Final = (
    "PostgreSQL's write-ahead log holds what was erased until its files are used again, some checkpoints "
    "later; its archive and backups hold it until they are deleted"
)


class Residue:
    """What is left of erasures in the tables of one log."""

    def __init__(self) -> None:
        """Begin with nothing written anew."""
        self._written = False

    def sentences(self, connections: Connections) -> tuple[str, ...]:
        """Return where erased bytes may still be, and what to do; none if nothing is known of."""
        [(has_residue, tables)] = connections.ask("residue")
        if not has_residue:
            return (_IN_LOG,) if self._written else ()
        return (_advice(tables), _IN_LOG)

    def write_anew(self, address: Address) -> tuple[str, ...]:
        """Write all tables anew, as far as this role may, if erasures came since that was done.

        Return the names of those that were written and hold nothing any more that was erased.

        `address` is the server's own: of a pooler's connection the settings would stay.
        A table that others use for long is left for the next time, and so is one of which an older
        transaction still sees what was erased.
        """
        with connected(address) as connection:
            try:
                if not fetched(connection, "residue")[0][0]:
                    return ()
                written = _write_all(connection)
            except psycopg.Error as error:
                raise translated(error) from error
        self._written = bool(written) and all(written.values())
        return tuple(name for name, is_whole in written.items() if is_whole)


def _write_all(connection: LogConnection) -> dict[str, bool]:
    """Write each table anew; return of each whether no erased row is left. None without the right."""
    erasures = fetched(connection, "erasures")[0][0]
    tables = fetched(connection, "write_anew")
    if not all(may for _, _, may in tables):
        return {}
    fetched(connection, "writing_patience")
    written = {name: _write(connection, statement) for name, statement, _ in tables}
    if all(written.values()):
        fetched(connection, "written_anew", (erasures,))
    return written


def _write(connection: LogConnection, statement: str) -> bool:
    """Write one table anew; False where it is in use, or rows that are gone had to be copied."""
    left: list[int] = []

    def note(report: errors.Diagnostic) -> None:
        # "... row versions cannot be removed yet": its number comes first in every language.
        number = _NUMBER.match(report.message_detail or "")
        left.append(int(number[0]) if number else 0)

    connection.add_notice_handler(note)
    try:
        connection.execute(statement.encode())
    except errors.LockNotAvailable:
        return False
    finally:
        connection.remove_notice_handler(note)
    return not any(left)


def _advice(tables: list[str]) -> str:
    return (
        "pages of PostgreSQL's files hold what was erased until other rows are written over them. "
        "`onrecord sweep` as the role that owns the tables writes them anew; so does, at a quiet hour, for "
        f"nobody can use a table meanwhile: VACUUM (FULL) {', '.join(tables)}"
    )
