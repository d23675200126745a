"""Texts of any length that patterns and tables of Unicode have been slow with."""

from collections.abc import Callable

_REPEATED = (
    *(" ", "a", "a=", "a: ", "token=", "://", "://a", "?a&", "Bearer ", '"', '"a" ', "\\", 'a\\"'),
    *(
        "aA",
        "A",
        "a-",
        '"key":',
        "{",
        "[",
        "(",
        "<think>",
        "-",
        '-"',
        "$onrecord.cut:",
        "\n",
        "...",
    ),
    *("a/", "data:", "\ud83d", "\u4e00", "\ufdfa", "\u0301\u0323", "\uff9e\u0301", "e\u0301", "]["),
    *(
        "String",
        "Key",
        "Tool '",
        "AWS4-",
        "&#x27;",
        "\x1b[31m",
        "\u202e",
        "0",
        "1e",
        "-1.",
        "true,",
    ),
)


def _times(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


UNITS: dict[str, Callable[[int], str]] = {
    **{repr(unit): _times(unit) for unit in _REPEATED},
    "a user before no host": lambda size: "://" + "a" * size,
    "one long parameter": lambda size: "?" + "a" * size,
    "a scheme and spaces": lambda size: "Bearer" + " " * size,
    "a name and spaces": lambda size: "token" + " " * size,
    "a value after spaces": lambda size: "token=" + " " * size + "x",
    "a long name": lambda size: "token" * (size // 5) + "=12345678",
    "a long value": lambda size: "token=" + "x1" * (size // 2),
    "one open quote": lambda size: '"' + "a" * size,
    "spaces before a control": lambda size: " " * size + "\x01",
}
"""What a text is made of, and the text of such a size."""
