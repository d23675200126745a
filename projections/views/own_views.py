"""Projections of one's own as the machinery of the views has them: views, most of which hand on their events."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, cast
from uuid import UUID

from pydantic_core import from_json

from onrecord.domain.encoding import NAMES
from onrecord.domain.errors import InvalidInput, StorageError
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import is_marked
from onrecord.domain.operators import COMPLETED, SHAPES, ErasureCompleted, decode_fact
from onrecord.projections.views.projection import (
    EventSink,
    NativeProjection,
    ProjectionRow,
    ProjectionTransaction,
    RowProjection,
    TableProjection,
)
from onrecord.projections.views.step import NotWritten
from onrecord.projections.views.view import (
    ALL_COLUMNS,
    Changes,
    EventBatch,
    Feed,
    Row,
    View,
    rows_json,
    storable,
)

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
_NAMES: Final[Mapping[object, str]] = {shape: name for name, shape in NAMES.items()}
_STORED: Final = frozenset({*NAMES, *SHAPES})
_LONGEST: Final = 500
"""Characters of a row's name."""


@dataclass(frozen=True, slots=True, eq=False)
class _NamedView:
    """What each projection of one's own says of itself."""

    name: str
    revision: int
    strict: bool
    types: frozenset[str]

    @property
    def texts(self) -> frozenset[str]:
        """Return all: nobody but its program knows what it holds."""
        return ALL_COLUMNS


@dataclass(frozen=True, slots=True, eq=False)
class _RowlessView(_NamedView):
    """What is folded of events whose projection keeps what it makes of them: nothing but the events."""

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return nothing: what a projection of one's own knows, it asks for itself."""
        del batch
        return []

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return the events, for whom they are written or delivered to."""
        del known
        return Changes(events=batch.events)


@dataclass(frozen=True, slots=True, eq=False)
class OwnRows(_NamedView):
    """A `RowProjection` as a view: its rows are in one table with those of others, each with the name."""

    projection: RowProjection

    def wanted(self, batch: EventBatch) -> list[Row]:
        """Return the keys of the rows that folding has to know."""
        return [self._key(batch, name) for name in self._asked(batch)]

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        """Return what a batch changes."""
        rows = {row["name"]: row["value"] for row in known}
        with as_invalid_input("fold"):
            changed = _checked(self.projection.fold(batch, rows))
        new = changed.keys() - rows.keys()
        if new and not new <= self._asked(batch).keys():
            raise InvalidInput(
                "`fold` of a projection returned a row that `wanted` did not ask for: what it was before "
                "would be lost"
            )
        put: list[Row] = []
        drop: list[Row] = []
        for name, value in changed.items():
            key = self._key(batch, name)
            if value is None:
                drop.append(key)
            else:
                put.append({**key, "tenant": str(batch.tenant), "value": value})
        return Changes(tuple(put), tuple(drop))

    def _asked(self, batch: EventBatch) -> dict[str, None]:
        """Return the names that it wants, each once."""
        with as_invalid_input("wanted"):
            names = cast("object", self.projection.wanted(batch))
            if isinstance(names, str | bytes) or not isinstance(names, Iterable):
                raise InvalidInput(
                    "`wanted` of a projection returns the names of rows: write [name] for a single one"
                )
            return dict.fromkeys(map(_row_name, cast("Iterable[object]", names)))

    def _key(self, batch: EventBatch, name: str) -> Row:
        return {"view": self.name, "conversation_id": str(batch.conversation_id), "name": name}


def row_of(row: Row) -> ProjectionRow:
    """Return a row of a page as the caller has it."""
    conversation_id = UUID(row["conversation_id"])
    return ProjectionRow(row["name"], row["value"], conversation_id, row.get("key"))


def queries_of(view: View) -> str:
    """Return what the names of a view's queries begin with, and whose its table is."""
    return "own" if isinstance(view, OwnRows) else view.name


@dataclass(frozen=True, slots=True, eq=False)
class OwnTables(_RowlessView):
    """A `TableProjection` as a view."""

    projection: TableProjection
    chosen: frozenset[str]

    def begin(self, transaction: ProjectionTransaction) -> None:
        """Have the tables made."""
        _call(self.projection.create_tables, transaction)

    def sweep(self, transaction: ProjectionTransaction) -> None:
        """Have the rows of a generation deleted that is retired."""
        _call(self.projection.delete_generation, transaction)

    def write(self, transaction: ProjectionTransaction, events: Sequence[RecordedEvent]) -> None:
        """Have events written, and what was forgotten deleted, in their order."""
        waiting: list[RecordedEvent] = []
        for event in events:
            forgotten = _forgotten(event)
            if forgotten is not None:
                self._hand_over(transaction, waiting)
                waiting = []
                _call(self.projection.forget, transaction, forgotten)
            if not self.chosen or event.type in self.chosen:
                waiting.append(event)
        self._hand_over(transaction, waiting)

    def _hand_over(
        self, transaction: ProjectionTransaction, events: Sequence[RecordedEvent]
    ) -> None:
        if events:
            _call(self.projection.write, transaction, events)


@dataclass(frozen=True, slots=True, eq=False)
class OwnSink(_RowlessView):
    """An `EventSink` as a view."""

    projection: EventSink

    def deliver(self, events: Sequence[RecordedEvent]) -> None:
        """Have events delivered."""
        _call(self.projection.deliver, events)


OwnView = OwnRows | OwnTables | OwnSink
"""A projection of one's own as a view."""


class Deliveries:
    """What a step reads and writes where events are delivered to a sink: no rows at all."""

    def __init__(self, waiting: Collection[UUID]) -> None:
        """Deliver; `waiting` are the conversations that wait behind a parked event."""
        self._waiting = waiting

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        """Return the conversations that wait."""
        del feed, conversations
        return self._waiting

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        """Return nothing: a sink keeps what it knows."""
        del feed, keys
        return []

    def write(self, feed: Feed, changes: Changes) -> None:
        """Have the events delivered; NotWritten where the sink raises."""
        assert isinstance(feed.view, OwnSink)
        try:
            feed.view.deliver(changes.events)
        except NotWritten:
            raise
        except Exception as exc:
            raise NotWritten(exc) from exc


def view_of_own(projection: NativeProjection) -> View:
    """Return a projection of one's own as a view; InvalidInput says what is wrong with it."""
    revision = cast("object", projection.revision)
    if not isinstance(revision, int) or not 0 < revision < 2**31:
        raise InvalidInput("the revision of a projection is a whole number, from 1 on")
    types = _stored_names(projection.types)
    known = (_name_in(projection), revision, bool(projection.strict))
    if isinstance(projection, EventSink):
        return OwnSink(*known, types, projection)
    if isinstance(projection, RowProjection):
        return OwnRows(*known, types, projection)
    # What was forgotten is in its tables too.
    return OwnTables(*known, types | {COMPLETED} if types else types, projection, types)


def is_own(view: View) -> bool:
    """Whether a view is a projection of one's own."""
    return isinstance(view, OwnView)


def _name_in(projection: NativeProjection) -> str:
    name: object = getattr(projection, "name", None)
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise InvalidInput(
            f"{type(projection).__name__} needs a name: up to 63 small letters, digits and _, a letter first"
        )
    return name


def _stored_names(types: object) -> frozenset[str]:
    if isinstance(types, str | bytes) or not isinstance(types, Collection):
        raise InvalidInput(
            "types are several: write {onrecord.MessageRecorded}, or their stored names"
        )
    return frozenset(map(_stored_name, cast("Collection[object]", types)))


def _stored_name(kind: object) -> str:
    name = kind if isinstance(kind, str) else _NAMES.get(kind)
    if name is None:
        raise InvalidInput(
            "a type of events is a class such as onrecord.MessageRecorded, or a stored name"
        )
    if name not in _STORED:
        # Others may be topics of a program's own aggregates.
        near = get_close_matches(name[:_LONGEST], _STORED, n=3, cutoff=0.8)
        if near:
            raise InvalidInput(f"there is no type of events `{name}`: maybe {' or '.join(near)}")
    return name


def _checked(changed: object) -> dict[str, Row | None]:
    """Return what a fold gave, if it is what a fold gives."""
    if isinstance(changed, Mapping):
        rows = dict(cast("Mapping[object, object]", changed))
        if all(value is None or isinstance(value, dict) for value in rows.values()):
            for name, value in rows.items():
                _row_name(name)
                _must_be_json(value)
            return cast("dict[str, Row | None]", rows)
    raise InvalidInput(
        "`fold` of a projection returns rows by name: JSON objects, or None to take one away"
    )


def _row_name(name: object) -> str:
    """Return the name of a row, if each database keeps it as it is: so no two names become one."""
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST:
        raise InvalidInput(f"the name of a row is a text of up to {_LONGEST} characters")
    if storable(name) != name:
        raise InvalidInput(
            "the name of a row has a NUL or half a surrogate pair, which no row keeps"
        )
    return name


def _must_be_json(value: object) -> None:
    """Refuse a row that is not read again as it was written, or is nested deeper than is read."""
    error: Exception | None = None
    try:
        [again] = from_json(rows_json((value,)), allow_inf_nan=False)
        if again == value or _is_stored_as(value, again):
            return
    except (ValueError, TypeError, RecursionError) as exc:
        error = exc
    raise InvalidInput(
        "a row that `fold` of a projection returned is no JSON: it has texts, finite numbers, true, false and "
        "None, in lists and dicts that hold each other fewer than 200 levels deep. Members of dicts have names "
        "without NUL and without half surrogate pairs"
    ) from error


def _is_stored_as(value: object, again: object) -> bool:
    """Whether a value is kept as it is, but for characters of its texts that no database stores."""
    if isinstance(value, str):
        return storable(value) == again
    if isinstance(value, list) and isinstance(again, list):
        items, read = cast("list[object]", value), cast("list[object]", again)
        return len(items) == len(read) and all(map(_is_stored_as, items, read))
    if isinstance(value, dict) and isinstance(again, dict):
        members, kept = cast("dict[object, object]", value), cast("dict[object, object]", again)
        return members.keys() == kept.keys() and all(
            _is_stored_as(member, kept[name]) for name, member in members.items()
        )
    return value == again


@contextmanager
def as_invalid_input(method: str) -> Generator[None]:
    """Make an InvalidInput of what a method raises that is no Exception: it ends nothing but its event.

    KeyboardInterrupt stays what it is: whoever is at the keyboard means the process.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as exc:
        raise InvalidInput(
            f"`{method}` of a projection raised {type(exc).__name__}, which ends the process or a task"
        ) from exc


@contextmanager
def method_errors(view: View, method: str) -> Generator[None]:
    """Make an InvalidInput that names the method of what a projection raises while no event is written."""
    try:
        yield
    except StorageError:
        raise
    except Exception as exc:  # noqa: BLE001 - whatever a program raises is told, and ends nothing else
        error = exc.error if isinstance(exc, NotWritten) else exc
        raise InvalidInput(
            f"`{method}` of {view.name} failed: {type(error).__name__}: {error}"
        ) from error


def _call(method: Callable[..., object], *arguments: object) -> None:
    """Call a method that returns nothing; what comes back is a generator or a coroutine, and did nothing."""
    with as_invalid_input(method.__name__):
        result = method(*arguments)
    if result is not None:
        raise InvalidInput(
            f"`{method.__name__}` of a projection returns nothing, not {type(result).__name__}: write a "
            "plain method, without `yield` and `async`"
        )


def _forgotten(event: RecordedEvent) -> UUID | None:
    """Return the conversation that an event says was forgotten; only operators' streams say so."""
    if event.type != COMPLETED or event.body is None or not is_marked(event.conversation_id):
        return None
    fact = decode_fact(event.type, event.schema_version, event.body)
    return fact.conversation_id if isinstance(fact, ErasureCompleted) else None


def is_of(view: OwnView, projection: NativeProjection, *, by_class: bool = False) -> bool:
    """Whether a view is this projection's; `by_class`: or that of another instance of its class."""
    same_class = type(view.projection) is type(projection)
    return view.projection == projection or (by_class and same_class)
