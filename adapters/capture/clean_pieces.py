"""Answers too long to be held, without their secrets: in windows, and line by line.

What comes out is what `Credentials.out_of_answer` gives for the whole, but for single lines that
are longer than any error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

Clean = Callable[[bytes], bytes]

LONGEST_LINE: Final = 8 * 1024**2
"""How long a line may be, in bytes, to be looked through for an error."""

_NEAR: Final = 64 * 1024
_ENDS: Final = (b",", b"\n", b"}", b">")
"""What ends a member of JSON, a line or a tag; no name of a secret is apart from it by one."""


def in_windows(pieces: Iterable[bytes], sought: Sequence[bytes], clean: Clean) -> Iterator[bytes]:
    """Yield pieces, cleaned, with their borders moved so that none falls amid what is sought."""
    longest = max(map(len, sought), default=1)
    held = b""
    for piece in pieces:
        window = held + piece
        border = _border(window, max(0, len(window) - longest + 1), sought)
        yield clean(window[:border])
        held = window[border:]
    yield clean(held)


def in_lines(pieces: Iterable[bytes], clean: Clean, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Yield pieces with each line cleaned; a longer one goes on as it is."""
    begun: list[bytes] = []
    size, is_passed_on = 0, False
    for piece in pieces:
        *ends, last = piece.split(b"\n")
        told: list[bytes] = []
        for end in ends:
            told += (end if is_passed_on else clean(b"".join((*begun, end))), b"\n")
            begun, size, is_passed_on = [], 0, False
        size += len(last)
        begun.append(last)
        if is_passed_on or size > longest:
            told += begun
            begun, is_passed_on = [], True
        yield b"".join(told)
    yield b"".join(begun) if is_passed_on else clean(b"".join(begun))


def between_members(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield pieces with their borders moved behind a member or a tag, where there is one near."""
    held = b""
    for piece in pieces:
        window = held + piece
        near = max(0, len(window) - _NEAR)
        border = max(window.rfind(end, near) for end in _ENDS) + 1 or len(window)
        yield window[:border]
        held = window[border:]
    yield held


def _border(window: bytes, border: int, sought: Sequence[bytes]) -> int:
    """Return the last place up to `border` that is amid nothing that is sought."""
    is_moved = True
    while is_moved:
        is_moved = False
        for text in sought:
            at = window.find(text, max(0, border - len(text) + 1), border + len(text) - 1)
            if 0 <= at < border:
                border, is_moved = at, True
    return border
