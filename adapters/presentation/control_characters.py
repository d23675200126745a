"""Text of anybody made harmless: what would steer a terminal or turn a line around is shown as what it is."""

from __future__ import annotations

import re
from typing import Final

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


def escaped(text: str) -> str:
    r"""Return the text on one line, each control character as its escape, such as `\n`."""
    return text.translate(_ESCAPED)


def escaped_lines(text: str) -> str:
    """Return the text with each control character but the ends of lines as its escape."""
    return text.translate(_LINES)


def visible(text: object) -> str:
    """Return a text with each character that steers, such as a bidi override, as its escape; tabs stay."""
    return "\t".join(map(escaped_lines, str(text).split("\t")))


def flat(text: str) -> str:
    """Return the text as running words: white space is one space, control characters escaped."""
    return " ".join(text.translate(_FLAT).split())


def escaped_in_json(text: str) -> str:
    """Return a JSON text with each character that steers as its JSON escape: it means the same."""
    return _IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
