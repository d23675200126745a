"""What a view is: which events it takes, which of its rows it has to know, and what it writes.

A view is pure. It never reads the log nor a database: it is given the events of one conversation
and the rows that it asked for, and says which rows to put and which to drop. Rows are JSON objects;
the SQL of a database says what becomes of them (adapters/views/*/sql/queries_<view>.sql).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass
from typing import Any, Final, NamedTuple, Protocol, cast
from uuid import UUID

from pydantic_core import to_json

from onrecord.domain.log import RecordedEvent

Row = dict[str, Any]
"""A row as a JSON object: ids as text, times in microseconds since 1970-01-01 UTC."""


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events of one conversation that a view has not folded yet, in order of version."""

    tenant: UUID
    conversation_id: UUID
    events: tuple[RecordedEvent, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a fold makes of rows: `put` writes them or adds to them, `drop` takes them away.

    What is dropped goes first. `events` are handed on as they are: to a projection of one's own, which
    says itself what it writes.
    """

    put: tuple[Row, ...] = ()
    drop: tuple[Row, ...] = ()
    events: tuple[RecordedEvent, ...] = ()


NOTHING = Changes()
"""No row changes."""

NO_TEXT: Final[frozenset[str]] = frozenset()
"""The texts of a view that tells nothing of what was said."""

ALL_COLUMNS: Final = frozenset({"*"})
"""The texts of a view that is nothing without them."""


class View(Protocol):
    """A fold of the log into rows.

    Folding a batch of events at once, or its events one after the other with what was written in between,
    gives the same rows. Erased events say nothing but that they were.
    """

    @property
    def name(self) -> str:
        """Return its word, which its tables and queries bear too."""
        ...

    @property
    def revision(self) -> int:
        """Return the number of its fold: another one makes other rows of the same events."""
        ...

    @property
    def strict(self) -> bool:
        """Return whether it stands still at an event that it cannot fold, rather than park it."""
        ...

    @property
    def types(self) -> frozenset[str]:
        """Return the stored names of the events that it takes; none means all."""
        ...

    @property
    def texts(self) -> frozenset[str]:
        """Return the columns that hold what was said: `ALL_COLUMNS` where nothing is left without them."""
        ...

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return the keys of the rows that folding a batch has to know; each has the id."""
        ...

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return what a batch changes; `known` are the rows that it wanted and that are there."""
        ...


def is_newer(made: int, revision: int) -> bool:
    """Whether rows of a revision are of a later fold than another; those without text are below 0."""
    return abs(made) > abs(revision)


class Feed(NamedTuple):
    """A view's build that is fed: the live one, or one that is being built beside it."""

    view: View
    generation: int


def storable(text: str) -> str:
    """Return a text as every database stores it: without NUL and without lone surrogates."""
    whole = text.replace("\0", "\ufffd")
    try:
        whole.encode()
    except UnicodeEncodeError:
        return whole.encode("utf-8", "replace").decode()
    return whole


def members_in(
    row: Row,
    fields: Mapping[str, Field[Any]],
    *,
    ids: Iterable[str] = (),
    flags: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the members of an entry that a row of a page has: ids as such, and flags, maybe numbers.

    A row has a column for each field of the entry's dataclass, but for those with a default.
    """
    members = {
        name: row[name] for name, field in fields.items() if name in row or field.default is MISSING
    }
    members |= {name: UUID(row[name]) for name in ids if row[name] is not None}
    return members | {name: bool(row[name]) for name in flags}


# Rows as the JSON text that the queries of views take.


def rows_json(rows: Sequence[object]) -> str:
    """Return rows as a JSON array; texts that no database stores are made storable."""
    try:
        text = to_json(rows)
    except ValueError:  # A lone surrogate has no UTF-8.
        text = to_json(_cleaned(rows))
    if rb"\u0000" in text:
        text = to_json(_cleaned(rows))
    return text.decode()


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return storable(value)
        case dict():
            members = cast("dict[str, Any]", value)
            return {storable(key): _cleaned(member) for key, member in members.items()}
        case list() | tuple():
            return [_cleaned(item) for item in cast("list[Any]", value)]
        case _:
            return value
