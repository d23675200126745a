"""Tables: rows drawn on a terminal, or a line a row between tabs.

A conversation's key is copied into the next command, so no line of a table breaks it: where a
terminal has no room for it beside the rest, it stands on a line of its own. So do words that only
some rows have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.sizes_and_times import ago, moment
from onrecord.adapters.terminal import output
from onrecord.domain.header import timestamp

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


class Title(NamedTuple):
    """A conversation's key as a table draws it, and what stands `below` it."""

    key: str
    below: str = ""
    style: str = ""


Cell = str | int | Title | None

_DRAWN: Final = 120
"""How many characters of a text are drawn, at the most."""

_UNKNOWN: Final = "\u2013"
"""What is drawn for a number that is not known."""


class Kind(Enum):
    """What a column holds, which says how it is shown."""

    WORD = "word"
    """A short word, never broken."""
    KEY = "key"
    """A conversation's key or id, never broken."""
    NAME = "name"
    """A name, broken where the terminal is narrow."""
    COUNT = "count"
    """A number, at the right."""
    TIME = "time"
    """Microseconds since 1970-01-01 UTC: drawn with how long ago that was, else as it is."""
    TEXT = "text"
    """What was said: drawn up to so many characters, fewer where a row has several; else in full."""


class Column(NamedTuple):
    """A column of a table; an `is_extra` one is not drawn where the terminal is narrow.

    One that says nothing in any row is not drawn at all: it takes room from those that do.
    """

    heading: str
    kind: Kind = Kind.WORD
    is_extra: bool = False


_BROAD: Final = 100
"""Characters of a line from which on a terminal is not narrow."""

_LEAST: Final = 8
"""The fewest characters of a line of a column that may be broken."""

_ENOUGH: Final = {Kind.NAME: 12, Kind.TEXT: 14}
"""How many characters of a line are left to such a column before others give way."""

_BETWEEN: Final = 2
"""Characters between two columns."""

_INDENT: Final = (0, 0, 0, 2)
"""What stands around a text below its row: two characters at the left."""

_TIMES: Final[tuple[Callable[[str, str], str], ...]] = (
    lambda at, since: f"{at} {since}",
    lambda at, since: f"{at}\n{since}",
    lambda at, since: "\n".join((*at.split(" "), since)),
)
"""How a time is drawn, in one line to three: the first that leaves enough room."""


def show_rows(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    """Draw a table on a terminal, else write a line a row."""
    if output.is_drawn():
        draw_rows(columns, rows)
        return
    for row in rows:
        output.plain(*map(_plain, columns, row))


def draw_rows(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    """Draw a table, and say which columns a narrow terminal leaves out; nothing without a row."""
    if not rows:
        return
    console, now = output.console(), time.time_ns() // 1000
    telling = [at for at in range(len(columns)) if any(row[at] not in (None, "") for row in rows)]
    drawn = [at for at in telling if console.width >= _BROAD or not columns[at].is_extra]
    texts = sum(columns[at].kind is Kind.TEXT for at in drawn)
    most = _DRAWN if texts < 2 else min(_DRAWN, console.width // texts)
    layout = _Layout([columns[at] for at in drawn], [], apart=False)
    for apart, form in product((False, True), _TIMES):
        cells = [[_drawn(columns[at], row[at], now, most, form) for at in drawn] for row in rows]
        layout = _Layout(layout.columns, cells, apart=apart)
        if layout.width <= console.width:
            break
    layout.draw(console)
    if left_out := ", ".join(columns[at].heading for at in telling if at not in drawn):
        way = f"A terminal of {_BROAD} columns shows them, and --json."
        console.print(f"Not shown: {left_out}. {way}", style="dim")


class _Layout:
    """A table laid out: where keys stand `apart`, each is on a line of its own above its row.

    So is, below its row, a text that only some rows have: a column would take room from all of them.
    """

    def __init__(
        self, columns: Sequence[Column], rows: Sequence[Sequence[Text]], *, apart: bool
    ) -> None:
        self.columns = columns
        self._rows = rows
        self._is_apart = apart
        kinds = [(at, column.kind) for at, column in enumerate(columns) if apart]
        self._above = [at for at, kind in kinds if kind is Kind.KEY]
        self._below = [
            at for at, kind in kinds if kind is Kind.TEXT and not all(row[at].plain for row in rows)
        ]
        self._beside = [at for at in range(len(columns)) if at not in (*self._above, *self._below)]

    @property
    def width(self) -> int:
        """How many characters of a line it takes."""
        widths = (self._width(at) for at in self._beside)
        return sum(widths) + _BETWEEN * len(self._beside)

    def _width(self, at: int) -> int:
        """Return how many characters a column takes, or is content with where it may be broken."""
        from rich.cells import cell_len

        lines = [line for row in self._rows for line in row[at].plain.split("\n")]
        longest = max(map(cell_len, (self.columns[at].heading, *lines)))
        return min(longest, _ENOUGH.get(self.columns[at].kind, longest))

    def draw(self, console: Console) -> None:
        """Draw it."""
        from rich.padding import Padding

        if not self._is_apart:
            console.print(self._table(self._rows))
            return
        for at in self._above:
            console.print(self.columns[at].heading, style="dim")
        console.print(self._table())
        for at in self._below:
            console.print(Padding(self.columns[at].heading, _INDENT, style="dim"))
        for row in self._rows:
            for at in self._above:
                console.print(row[at], soft_wrap=True)
            console.print(self._table([row], has_heading=False))
            for at in self._below:
                if row[at].plain:
                    console.print(Padding(row[at], _INDENT))

    def _table(self, rows: Sequence[Sequence[Text]] = (), *, has_heading: bool = True) -> Table:
        from rich import box
        from rich.table import Table

        table = Table(
            box=None if self._is_apart else box.SIMPLE_HEAD,
            header_style="dim",
            pad_edge=False,
            collapse_padding=True,
            show_header=has_heading,
            expand=self._is_apart,
        )
        for at in self._beside:
            self._add(table, at)
        for row in rows:
            table.add_row(*(row[at] for at in self._beside))
        return table

    def _add(self, table: Table, at: int) -> None:
        """Add a column; tables of one row each have columns of one width, under each other."""
        column = self.columns[at]
        is_broken = column.kind in _ENOUGH
        fixed = self._width(at) if self._is_apart and not is_broken else None
        table.add_column(
            column.heading,
            justify="right" if column.kind in (Kind.COUNT, Kind.TIME) else "left",
            no_wrap=not is_broken,
            overflow="fold",
            width=fixed,
            min_width=_LEAST if is_broken else None,
            ratio=1 if self._is_apart and is_broken else None,
        )


def _drawn(
    column: Column, cell: Cell, now: int, most: int, form: Callable[[str, str], str]
) -> Text:
    from rich.text import Text

    match cell:
        case None:
            return Text(_UNKNOWN if column.kind is Kind.COUNT else "")
        case Title(key=key, below=below, style=style):
            name = Text(flat(key), style)
            return Text("\n").join((name, Text(flat(below), "dim"))) if below else name
        case int():
            return Text(_time(cell, now, form) if column.kind is Kind.TIME else f"{cell:,}")
        case str() if column.kind is Kind.TEXT and len(cell) > most:
            return Text(flat(cell[:most]) + "\u2026")
        case str():
            return Text(flat(cell))


def _time(then: int, now: int, form: Callable[[str, str], str]) -> str:
    since = ago(then, now)
    return moment(then) if since in moment(then) else form(moment(then), since)


def _plain(column: Column, cell: Cell) -> object:
    if isinstance(cell, Title):
        return cell.key
    return timestamp(cell) if column.kind is Kind.TIME and isinstance(cell, int) else cell
