"""Names and ids, as both of OpenAI's APIs want them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from onrecord.projections.referee.violation import Found, Path, bracketed

_PATTERN: Final = "^[a-zA-Z0-9_-]+$"
_LONGEST: Final = 64


def malformed_name(path: Path, name: Any) -> Iterator[Found]:
    """Find a name that has other characters than these, or too many of them."""
    if not isinstance(name, str):
        return
    if not re.fullmatch(_PATTERN, name):
        yield (
            path,
            (
                f"Invalid '{bracketed(path)}': string does not match pattern. Expected a string that "
                f"matches the pattern '{_PATTERN}'."
            ),
        )
    elif len(name) > _LONGEST:
        yield path, too_long(path, len(name), _LONGEST)


def too_long(path: Path, length: int, longest: int) -> str:
    """Return what the service says of a text that is longer than it may be."""
    return (
        f"Invalid '{bracketed(path)}': string too long. Expected a string with maximum length "
        f"{longest}, but got a string with length {length} instead."
    )


def too_short(path: Path) -> str:
    """Return what the service says of an id that has no character."""
    return (
        f"Invalid '{bracketed(path)}': empty string. Expected a string with minimum length 1, but "
        "got an empty string instead."
    )


def repeated_tools(names: Sequence[tuple[int, str]]) -> Iterator[Found]:
    """Find each tool whose name another one before it has; "" is none."""
    seen: set[str] = set()
    for place, name in names:
        if name and name in seen:
            yield ("tools", place), f"Duplicate tool name found: '{name}'."
        seen.add(name)
