"""The caller's own tables in the file of the views: how statements that are not ours get at it."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, cast

import apsw

from onrecord.adapters.storage.sqlite.connection import Session
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.own_views import OwnTables
from onrecord.projections.views.step import NotWritten
from onrecord.projections.views.view import Feed

_OF_THE_FILE: Final = (
    *(apsw.BusyError, apsw.LockedError, apsw.IOError, apsw.FullError, apsw.CorruptError),
    *(apsw.NotADBError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.NoMemError),
)
"""What no event is to blame for: the whole batch is done again."""

_NOTHING: Final = re.compile(r"(?:[\s;]|--[^\n]*|/\*.*?(?:\*/|$))*", re.DOTALL)
"""What may come behind a statement: no other one."""


class SqliteTransaction:
    """A transaction of the views' file, in the hands of a projection of one's own."""

    def __init__(self, session: Session, generation: int) -> None:
        """Use a session that is in a transaction."""
        self._session, self.generation = session, generation

    @property
    def database(self) -> Literal["sqlite"]:
        """Return which database it is."""
        return "sqlite"

    @property
    def connection(self) -> Any:
        """Return the connection of apsw."""
        return self._session.driver

    def execute(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows; `$1` is the first parameter."""
        by_number = {str(number): value for number, value in enumerate(parameters, start=1)}
        cursor = self.connection.cursor()

        def is_all(_: object, first: str, __: object) -> bool:
            """Refuse several statements, before the first one is run."""
            if not _NOTHING.fullmatch(statement.removeprefix(first)):
                raise InvalidInput("this is more than one statement: execute them one by one")
            cursor.exec_trace = None
            return True

        cursor.exec_trace = is_all
        return cast("list[tuple[Any, ...]]", cursor.execute(statement, by_number).fetchall())


def write_own(session: Session, feed: Feed, events: Sequence[RecordedEvent]) -> None:
    """Have a projection of one's own write events; NotWritten where it raises, and nothing stays."""
    assert isinstance(feed.view, OwnTables)
    try:
        with session.savepoint(), handed_over(session, feed.generation) as transaction:
            feed.view.write(transaction, events)
    except _OF_THE_FILE:
        raise
    except Exception as exc:
        raise NotWritten(exc) from exc


@contextmanager
def handed_over(session: Session, generation: int) -> Generator[SqliteTransaction]:
    """Lend a transaction, which nobody inside can end, nor close its connection."""
    connection = session.driver
    connection.authorizer, connection.is_handed_over = _keeps_the_transaction, True
    try:
        yield SqliteTransaction(session, generation)
    finally:
        connection.authorizer, connection.is_handed_over = None, False


def _keeps_the_transaction(action: int, *_: object) -> int:
    """Allow everything but the end of the transaction; what is raised here leaves the statement."""
    if action == apsw.SQLITE_TRANSACTION:
        raise InvalidInput("the transaction is not yours to end: raise, and it is undone")
    return apsw.SQLITE_OK
