"""SQLite as another program uses it: any statement, none of our rules."""

from pathlib import Path
from typing import Any, Self, cast

import apsw


class ByHand:
    """A connection that runs whatever it is given."""

    def __init__(self, connection: apsw.Connection) -> None:
        # Its type hints name collections.abc.Buffer, which Python 3.11 does not have.
        self._connection = cast("Any", connection)

    @classmethod
    def open(cls, path: Path) -> Self:
        return cls(apsw.Connection(str(path)))

    def run(self, statement: str, *values: bytes | int | str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        return cast("list[tuple[Any, ...]]", self._connection.execute(statement, values).fetchall())

    def close(self) -> None:
        self._connection.close()


class Unruled(ByHand):
    """The same without the triggers, each time for one statement."""

    def run(self, statement: str, *values: bytes | int | str) -> list[tuple[Any, ...]]:
        """The rows of a statement that no trigger refuses; afterwards they are there again."""
        triggers = super().run("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        super().run("BEGIN")
        for name, _ in triggers:
            super().run(f"DROP TRIGGER {name}")
        try:
            return super().run(statement, *values)
        finally:
            for _, sql in triggers:
                super().run(sql)
            super().run("COMMIT")


def empty_index(file: Path, index: str) -> None:
    """Take all rows out of an index, and leave its definition as it was."""
    hand = ByHand.open(file)
    ((sql,),) = hand.run("SELECT sql FROM sqlite_schema WHERE name = ?", index)
    of_none = f"{sql.split(' WHERE ')[0]} WHERE 0"
    for wanted in (of_none, sql):
        hand.run("PRAGMA writable_schema = ON")
        hand.run("UPDATE sqlite_schema SET sql = ? WHERE name = ?", wanted, index)
        ((version,),) = hand.run("PRAGMA schema_version")
        hand.run(f"PRAGMA schema_version = {version + 1}")
        hand.close()
        hand = ByHand.open(file)
        if wanted == of_none:
            hand.run(f"REINDEX {index}")
    hand.close()
