"""Text that comes in pieces, wrapped and indented as it comes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_PARTS: Final = re.compile(r"\n|[^\S\n]+|\S+")


class Wrapped:
    """Writes words as soon as they are whole, each line at most `width` wide and indented."""

    def __init__(self, write: Callable[[str], None], width: int, indent: str) -> None:
        """Write through `write`; nothing is written before the first word."""
        self._write = write
        self._width = width
        self._indent = indent
        self._column = 0
        self._pending = ""

    def add(self, text: str) -> None:
        """Take in a piece; its last word waits for what follows."""
        parts: list[str] = _PARTS.findall(self._pending + text)
        self._pending = parts.pop() if parts and not parts[-1].isspace() else ""
        for part in parts:
            self._put(part)

    def end(self) -> None:
        """Write what waits, and end the line."""
        self._put(self._pending)
        self._pending = ""
        if self._column:
            self._break()

    def _put(self, part: str) -> None:
        if part == "\n":
            self._break()
        elif part.isspace():
            self._column += 1 if self._column else 0
            self._write(" " if self._column else "")
        elif part:
            self._put_word(part)

    def _put_word(self, word: str) -> None:
        if self._column + len(word) > self._width:
            self._break()
        if self._column == 0:
            self._write(self._indent)
            self._column = len(self._indent)
        self._write(word)
        self._column += len(word)

    def _break(self) -> None:
        self._write("\n")
        self._column = 0
