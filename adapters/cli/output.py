"""What a command writes: drawn for a terminal, plain when piped, or JSON; never raw control codes.

Keys, texts, paths and messages are anybody's. Nothing else of the command line writes to standard
output or standard error, so that what would steer a terminal is shown there as what it is.
"""

from __future__ import annotations

import os
import re
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


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return the terminal to draw on: of markup and control codes in what is drawn it does nothing."""
    from onrecord.adapters.cli.terminal import Terminal

    return Terminal(stderr=stderr, quiet=quiet)


def told(message: str) -> None:
    """Say something beside the output, on standard error."""
    sys.stdout.flush()
    print(escaped(message), file=sys.stderr)


def _escaped_json(data: bytes) -> bytes:
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", data.decode()).encode()


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
