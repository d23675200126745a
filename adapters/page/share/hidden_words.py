"""Words to hide in a text, however the text spells them; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from onrecord.adapters.page.share.spelling import Reading, Span, readings_of, spellings_of
from onrecord.domain.errors import InvalidInput

HIDDEN: Final = "[hidden]"
"""What stands in place of a word that is hidden."""

_MOST_WORDS: Final = 100
_BLOCK: Final = 4096
_MARKED: Final = re.compile(b"\1+")


def words_in(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the words to hide that lines name; InvalidInput for more than are looked for."""
    words = tuple(line.strip() for line in lines if line.strip())
    if len(words) > _MOST_WORDS:
        raise InvalidInput(f"name at most {_MOST_WORDS} lines of words to hide")
    return words


class HiddenWords:
    """Words that are hidden wherever a text says them."""

    def __init__(self, words: Iterable[str]) -> None:
        """Hide these words; one that has nothing to be seen is none."""
        self._words = tuple(
            tuple(map(_spelling, sorted(spellings_of(word.strip())))) for word in words
        )

    def __bool__(self) -> bool:
        """Return whether there is a word to hide."""
        return any(self._words)

    def mark(self, readings: Sequence[Reading], mask: bytearray) -> tuple[int, ...]:
        """Mark in a mask of the source where words stand; return how many times each does."""
        return tuple(_mark(spellings, readings, mask) for spellings in self._words)

    def hide(self, text: str) -> tuple[str, int]:
        """Return a text without the words, and how many times something was hidden."""
        if not self:
            return text, 0
        mask = bytearray(len(text))
        self.mark(readings_of(text), mask)
        spans = tuple(marked(mask))
        return without(text, spans), len(spans)


def marked(mask: bytearray) -> Iterator[Span]:
    """Yield the spans that are marked; those that touch are one."""
    return (Span(*match.span()) for match in _MARKED.finditer(mask))


def without(text: str, spans: Iterable[Span]) -> str:
    """Return a text with a sign in place of each span."""
    kept, end = list[str](), 0
    for span in spans:
        kept.append(text[end : span.start])
        end = span.end
    return HIDDEN.join((*kept, text[end:]))


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A word as readings have it, and what makes another one of it where it stands: its last period."""

    text: str
    period: str
    periods: str

    def matches(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where it stands in a text, as spans of those that overlap by one period or touch.

        Each takes time by its length: hits that overlap otherwise begin in the second half of the last one.
        """
        start = text.find(self.text)
        while start >= 0:
            end = start + len(self.text)
            for more in (self.periods, self.period):
                while text.startswith(more, end):
                    end += len(more)
            yield start, end
            start = text.find(self.text, end - len(self.text) + 1)


def _spelling(text: str) -> _Spelling:
    period = text[-_period(text) :]
    return _Spelling(text, period, period * (_BLOCK // len(period) + 1))


def _period(text: str) -> int:
    """Return after how many characters a text can begin again within itself, at the least."""
    borders, length = [0] * len(text), 0
    for at in range(1, len(text)):
        while length and text[at] != text[length]:
            length = borders[length - 1]
        length += text[at] == text[length]
        borders[at] = length
    return len(text) - borders[-1]


def _mark(spellings: Iterable[_Spelling], readings: Sequence[Reading], mask: bytearray) -> int:
    own = bytearray(len(mask))
    for reading in readings:
        for spelling in spellings:
            for start, end in spelling.matches(reading.text):
                span = reading.source(start, end)
                own[span.start : span.end] = mask[span.start : span.end] = b"\1" * (
                    span.end - span.start
                )
    return sum(1 for _ in marked(own))
