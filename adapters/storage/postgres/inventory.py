"""All that a log on PostgreSQL stores, row by row, and what erasures leave in its files."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import psycopg
from psycopg import errors
from psycopg.rows import TupleRow
from psycopg.types.numeric import Int8

from onrecord.adapters.storage.postgres.batch import call_id, head_of
from onrecord.adapters.storage.postgres.connections import (
    Address,
    Connections,
    LogConnection,
    connected,
    fetched,
)
from onrecord.adapters.storage.postgres.errors import translated
from onrecord.adapters.storage.queries import load_queries
from onrecord.domain.errors import counted
from onrecord.domain.inventory import (
    Commitment,
    Oddity,
    StoredBlob,
    StoredChunk,
    StoredEvent,
    StoredHead,
    StoredKey,
    StoredSnapshot,
)
from onrecord.domain.log import RecordedEvent

_ODDITIES: Final = tuple(name for name in load_queries("postgres") if name.startswith("oddity_"))
_BEFORE_ALL: Final = -(2**31)
_EVENT: Final = 14
"""How many columns of a row are the event itself."""


class PostgresInventory:
    """The rows of a log in a database."""

    def __init__(self, connections: Connections) -> None:
        """Read by these connections."""
        self._connections = connections

    @contextmanager
    def moment(self) -> Generator[PostgresMoment]:
        """Lend the log as it is now."""
        with self._connections.transaction() as connection:
            fetched(connection, "begin_moment")
            yield PostgresMoment(connection)

    def log(self, shard: int, after: int, limit: int) -> list[StoredEvent]:
        """Return events of a shard in order of position, those behind a position."""
        rows = self._connections.ask("inventory_log", (shard, Int8(after), Int8(limit)))
        return [_event(row) for row in rows]

    def commitments(self, shard: int, after: int, limit: int) -> list[Commitment]:
        """Return what commits to events of a shard in order of position, to those behind a position."""
        place = (shard, Int8(after), Int8(limit))
        return [Commitment(*row) for row in self._connections.ask("inventory_commitments", place)]

    def chunks(self, of: StoredHead, blob: StoredBlob) -> Iterator[StoredChunk]:
        """Yield the parts of a blob in their order, each read by itself: they may go meanwhile."""
        after, place = _BEFORE_ALL, (blob.shard, UUID(blob.row))
        while rows := self._connections.ask("inventory_chunk", (*place, after)):
            chunk = StoredChunk(*rows[0])
            after = chunk.number
            yield chunk

    def oddities(self) -> Iterator[Oddity]:
        """Yield what does not hold of all that no conversation has of its own."""
        for name in _ODDITIES:
            yield from map(Oddity._make, self._connections.ask(name))

    def seen(self) -> list[str]:
        """Return nothing: all that was looked at are rows."""
        return []

    def erased_unbegun(self) -> list[UUID]:
        """Return the conversations of which an erasure is noted, and that never began."""
        return [conversation_id for (conversation_id,) in self._connections.ask("erased_unbegun")]

    def is_marked(self) -> bool:
        """Return False: all that there is stands in the database."""
        return False

    def shows_operators(self) -> bool:
        """Return whether the role that connected may read the operators' stream of its tenant."""
        return bool(self._connections.ask("shows_operators")[0][0])

    def shows_all_tenants(self) -> bool:
        """Return whether the role that connected is bound to no tenant."""
        return bool(self._connections.ask("shows_all_tenants")[0][0])

    def unseen(self) -> list[str]:
        """Return what could not be checked."""
        [(keys, blobs)] = self._connections.ask("unbegun")
        unchecked = {
            f"{counted(keys, 'key')} of conversations in which nothing was said yet": keys,
            f"{counted(blobs, 'document')} that no event came after yet": blobs,
        }
        return [what for what, is_so in unchecked.items() if is_so]


class PostgresMoment:
    """The log inside a transaction that sees one moment."""

    def __init__(self, connection: LogConnection) -> None:
        """Read by a connection that is in one."""
        self._connection = connection

    def heads(self, after: UUID | None, limit: int) -> list[StoredHead]:
        """Return heads of all tenants in the order of their ids, those behind an id."""
        return [_head(row) for row in self._all("inventory_heads", after, Int8(limit))]

    def head(self, conversation_id: UUID) -> StoredHead | None:
        """Return the head of a conversation, or None."""
        rows = self._all("inventory_head", conversation_id)
        return _head(rows[0]) if rows else None

    def events(self, of: StoredHead, after: int, limit: int) -> list[StoredEvent]:
        """Return events of a conversation in order of version, those behind a version."""
        place = (of.shard, of.conversation_id, Int8(after), Int8(limit))
        return [_event(row) for row in self._all("inventory_events", *place)]

    def keys(self, of: StoredHead) -> list[StoredKey]:
        """Return the names that the catalogue has of a conversation."""
        return list(map(StoredKey._make, self._all("inventory_keys", of.conversation_id)))

    def blobs(self, of: StoredHead) -> list[StoredBlob]:
        """Return the blobs of a conversation, those that are still arriving too."""
        return list(map(StoredBlob._make, self._all("inventory_blobs", of.conversation_id)))

    def erasures(self, of: StoredHead) -> int:
        """Return how many erasures are noted of a conversation."""
        return int(self._all("inventory_erasures", of.conversation_id)[0][0])

    def snapshots(self, of: StoredHead) -> list[StoredSnapshot]:
        """Return the snapshots of an aggregate."""
        return list(map(StoredSnapshot._make, self._all("inventory_snapshots", of.conversation_id)))

    def _all(self, name: str, *parameters: object) -> list[TupleRow]:
        return fetched(self._connection, name, parameters)


def _event(row: TupleRow) -> StoredEvent:
    tenant, pointer, opens_exchange, once, begun = row[_EVENT:]
    event = RecordedEvent(*row[:_EVENT])
    return StoredEvent(event, tenant, pointer, opens_exchange, once, begun)


def _head(row: TupleRow) -> StoredHead:
    conversation_id, tenant, shard, position, started_at, recorded_at, forgotten, *head = row
    place = (conversation_id, tenant, shard)
    return StoredHead(
        *place, head_of(tuple(head), _open_calls), position, started_at, recorded_at, forgotten
    )


def _open_calls(calls: list[bytes | None], since: list[int | None]) -> dict[str, int]:
    """Return the open calls; where the two columns do not fit, one that nobody opened."""
    try:
        open_calls = {
            call_id(call or b"\xff"): at or -1 for call, at in zip(calls, since, strict=True)
        }
    except ValueError:
        return {"": -1}
    return open_calls if len(open_calls) == len(calls) else {"": -1}


# What erasures leave in the files of PostgreSQL, and writing these anew.
#
# A row that is erased stays in its page, and its keys in those of indexes, until other rows are
# written over it. VACUUM FULL writes a table and its indexes anew. It copies what an older
# transaction could still see, so what it could not remove is looked at: its report says how many
# row versions.

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
