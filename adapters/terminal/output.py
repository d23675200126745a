"""What a command writes: drawn for a terminal, plain when piped, or JSON; never raw control codes.

Keys, texts, paths and messages are anybody's. Nothing else of the command line writes to standard
output or standard error, so that what would steer a terminal is shown there as what it is.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar
from uuid import UUID

from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.lineage import key_of
from onrecord.domain import jsontext
from onrecord.domain.errors import (
    ConversationForgotten,
    ConversationNotFound,
    InvalidInput,
    counted,
)
from onrecord.domain.head import Head

if TYPE_CHECKING:
    from rich.console import Console

EntryT = TypeVar("EntryT")

_CONTROLS: Final = (
    *range(0x20),
    *range(0x7F, 0xA0),
    # These change the direction or the place of what follows them.
    *(0x2028, 0x2029, 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    *range(0xD800, 0xE000),
)
_ESCAPED: Final = {
    code: "\\"
    + {9: "t", 10: "n", 13: "r"}.get(code, f"x{code:02x}" if code < 256 else f"u{code:04x}")
    for code in _CONTROLS
}
_FLAT: Final = {**_ESCAPED, 9: " ", 10: " ", 13: " "}
_LINES: Final = {code: shown for code, shown in _ESCAPED.items() if code != 10}
_IN_JSON: Final = re.compile(f"[{''.join(map(re.escape, map(chr, _LINES)))}]")
"""In JSON text a control can only stand in a string, where its JSON escape means the same."""


def is_drawn() -> bool:
    """Whether standard output is a terminal that may be drawn on (NO_COLOR says no)."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def escaped(text: str) -> str:
    r"""Return the text on one line, each control character as its escape, such as `\n`."""
    return text.translate(_ESCAPED)


def escaped_lines(text: str) -> str:
    """Return the text with each control character but the ends of lines as its escape."""
    return text.translate(_LINES)


def flat(text: str) -> str:
    """Return the text as running words: white space is one space, control characters escaped."""
    return " ".join(text.translate(_FLAT).split())


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


def escaped_in_json(text: str) -> str:
    """Return a JSON text with each character that steers as its JSON escape: it means the same."""
    return _IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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


# Which conversation somebody means: by its key, or by its id.

_KEYS_TO_COMPARE: Final = 1000
_LONGEST_COMPARED: Final = 256
"""To compare two long texts takes as long as the product of their lengths."""


@dataclass(frozen=True, slots=True)
class Named:
    """A conversation that has begun; `key` is None once it was forgotten."""

    key: str | None
    conversation_id: UUID
    head: Head

    def __str__(self) -> str:
        """Return the key, else the id."""
        return self.key or str(self.conversation_id)

    def require_key(self) -> str:
        """Return the key; ConversationForgotten for a conversation that has none any more."""
        if self.key is None:
            raise ConversationForgotten
        return self.key

    def version_at(self, at: int | None) -> int:
        """Return the version `at`, or the last; InvalidInput if there is no such version yet."""
        last = self.head.version
        if at is not None and at > last:
            raise InvalidInput(f"there is no version {at}: the conversation is at {last}")
        return last if at is None else at


def named(store: Store, name: str) -> Named:
    """Return the conversation of a key, or of an id: a forgotten one has no other name.

    ConversationNotFound, with the keys that come close, if there is none.
    """
    found = found_by(store, name)
    if found is None:
        raise ConversationNotFound(f"no conversation has the key {name!r}{_advice(store, name)}")
    return found


def found_by(store: Store, name: str) -> Named | None:
    """Return the conversation of a key, or of an id; None if there is none."""
    backend = backend_of(store)
    of_key = backend.find(store.tenant, name)
    if of_key is not None and (head := backend.head(of_key)).version:
        return Named(name, of_key, head)
    conversation_id = _id(name)
    if conversation_id is not None and backend.owner(conversation_id) == store.tenant:
        key = key_of(backend, conversation_id)
        return Named(key, conversation_id, backend.head(conversation_id))
    return None


def _id(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def _advice(store: Store, name: str) -> str:
    listed = islice(store.conversations(), _KEYS_TO_COMPARE)
    keys = [entry.key for entry in listed if entry.key is not None]
    if not keys:
        return f": {store.url} holds none yet"
    near = get_close_matches(name, keys, n=3) if len(name) <= _LONGEST_COMPARED else []
    if near:
        return f": did you mean {' or '.join(map(repr, near))}?"
    return ": `onrecord conversations` lists them"


# Numbers as people read them: sizes, counts, times; pure.

_UNITS: Final = ("kB", "MB", "GB", "TB")
_STEPS: Final = (
    (60, 1, "s"),
    (3600, 60, "min"),
    (86_400, 3600, "h"),
    (86_400 * 30, 86_400, "days"),
)


def size(count: int) -> str:
    """Return a number of bytes with a decimal unit: `812 bytes`, `1.2 kB`."""
    if count < 1000:
        return counted(count, "byte")
    scaled = count / 1000
    for unit in _UNITS:
        if scaled < 999.95:
            return f"{scaled:.1f} {unit}"
        scaled /= 1000
    return f"{scaled:,.1f} PB"


def ago(then: int, now: int) -> str:
    """Return how long ago a time was, both in microseconds since 1970: `3 min ago`, or its date."""
    seconds = max(now - then, 0) // 1_000_000
    if seconds < 2:
        return "just now"
    for limit, step, unit in _STEPS:
        if seconds < limit:
            number = seconds // step
            return f"{number} {'day' if (number, unit) == (1, 'days') else unit} ago"
    return f"{datetime.fromtimestamp(then // 1_000_000, UTC):%Y-%m-%d}"


def moment(then: int) -> str:
    """Return a time, in microseconds since 1970, to the second: `2026-11-21 09:30:00Z`."""
    return f"{datetime.fromtimestamp(then // 1_000_000, UTC):%Y-%m-%d %H:%M:%SZ}"
