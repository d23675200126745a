"""What a command writes: drawn for a terminal, plain when piped, or JSON; never raw control codes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

from onrecord.domain import jsontext

if TYPE_CHECKING:
    from rich.console import Console

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


def is_drawn() -> bool:
    """Whether standard output is a terminal that may be drawn on (NO_COLOR says no)."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def escaped(text: str) -> str:
    r"""Return the text on one line, each control character as its escape, such as `\n`."""
    return text.translate(_ESCAPED)


def flat(text: str) -> str:
    """Return the text as running words: white space is one space, control characters escaped."""
    return " ".join(text.translate(_FLAT).split())


def plain(*columns: object) -> None:
    """Write one line of columns between tabs; None is an empty column."""
    shown = ("" if column is None else escaped(str(column)) for column in columns)
    sys.stdout.write("\t".join(shown) + "\n")


def json_line(value: Any) -> None:
    """Write a value as one line of JSON."""
    raw(jsontext.write(value) + b"\n")


def raw(data: bytes) -> None:
    """Write bytes as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def console() -> Console:
    """Return the terminal to draw on."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, markup=False)


def told(message: str) -> None:
    """Say something beside the output, on standard error."""
    sys.stdout.flush()
    print(message, file=sys.stderr)
