"""What a command writes: drawn for a terminal, plain when piped, or JSON; never raw control codes.

Keys, texts, paths and messages are anybody's. Nothing else of the command line writes to standard
output or standard error, so that what would steer a terminal is shown there as what it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from onrecord.adapters.presentation.control_characters import escaped, escaped_in_json, flat
from onrecord.domain import jsontext

if TYPE_CHECKING:
    from rich.console import Console

EntryT = TypeVar("EntryT")


def is_drawn() -> bool:
    """Whether standard output is a terminal that may be drawn on (NO_COLOR says no)."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def plain(*columns: object) -> None:
    """Write one line of columns between tabs; None is an empty column."""
    shown = ("" if column is None else escaped(str(column)) for column in columns)
    sys.stdout.write("\t".join(shown) + "\n")


def entries(
    listed: Iterable[EntryT],
    document: Callable[[EntryT], object],
    columns: Callable[[EntryT], Iterable[object]],
    *,
    draw: Callable[[], None],
    as_json: bool,
) -> None:
    """Write each entry as a line of JSON, or as its columns; on a terminal draw all of them."""
    if as_json:
        for entry in listed:
            json_line(document(entry))
    elif is_drawn():
        draw()
    else:
        for entry in listed:
            plain(*columns(entry))


def sentence(text: str) -> None:
    """Write a line for somebody to read."""
    sys.stdout.write(escaped(text) + "\n")
    sys.stdout.flush()


def json_line(value: Any) -> None:
    """Write a value as one line of JSON; what would steer a terminal stands in it as JSON escapes."""
    _write(_escaped_json(jsontext.write(value)) + b"\n")


def raw(data: bytes) -> None:
    """Write JSON as it is; on a terminal what would steer that stands in it as JSON escapes."""
    _write(_escaped_json(data) if sys.stdout.isatty() else data)


def draw_json(screen: Console, value: Any) -> None:
    """Draw a value as indented JSON that can be copied and read again: no line is broken."""
    from rich.highlighter import JSONHighlighter
    from rich.json import JSON

    indented = JSON(jsontext.write(value).decode(), indent=2, highlight=False).text.plain
    screen.print(JSONHighlighter()(escaped_in_json(indented)), soft_wrap=True)


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return the terminal to draw on: of markup and control codes in what is drawn it does nothing."""
    from onrecord.adapters.terminal.console import Terminal

    return Terminal(stderr=stderr, quiet=quiet)


def draw_title(screen: Console, key: object, about: str = "") -> None:
    """Draw a conversation's key, which no line breaks, and what is said of the conversation."""
    from rich.text import Text

    name, rest = Text(flat(str(key)), "bold"), Text(f"  {about}" if about else "", "dim")
    if name.cell_len + rest.cell_len <= screen.width:
        screen.print(name + rest)
        return
    screen.print(name, soft_wrap=True)
    if about:
        screen.print(rest)


Level: TypeAlias = Literal["error", "warning"]
_LEVELS: Final[dict[Level, str]] = {"error": "red", "warning": "yellow"}


def draw_breach(
    where: str, rule: str, advice: str, said: str | None = None, level: Level | None = None
) -> None:
    """Draw what breaks a rule: its place and the rule, what is said of it, what to do about it."""
    from rich.padding import Padding
    from rich.text import Text

    screen = console()
    shown = () if level is None else ((level, _LEVELS[level]), "  ")
    screen.print(Text.assemble((flat(where), "bold"), "  ", *shown, (rule, "dim")))
    if said is not None:
        screen.print(Padding(Text(flat(said), "red"), (0, 0, 0, 2)))
    screen.print(Padding(Text(f"→ {flat(advice)}"), (0, 0, 1, 2)))


def note(message: str) -> None:
    """Say something beside the output, on standard error."""
    sys.stdout.flush()
    print(escaped(message), file=sys.stderr)


def _escaped_json(data: bytes) -> bytes:
    return escaped_in_json(data.decode()).encode()


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


@contextmanager
def progress_of(doing: str) -> Generator[Callable[[int, int], None]]:
    """Yield what takes the progress, done of all: a bar, where somebody can see it."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _done, _of: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as drawn:
        task = drawn.add_task(doing, total=None)
        yield lambda done, total: drawn.update(task, completed=done, total=total)
