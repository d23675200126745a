"""Words to hide in a text, however the text spells them; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from onrecord.adapters.page.share.spelling import Reading, Span, forms_of, readings_of

HIDDEN: Final = "[hidden]"
"""What stands in place of a word that is hidden."""

_BLOCK: Final = 4096
_MARKED: Final = re.compile(b"\1+")


class HiddenWords:
    """Words that are hidden wherever a text says them."""

    def __init__(self, words: Iterable[str]) -> None:
        """Hide these words; one that has nothing to be seen is none."""
        self._words = tuple(tuple(map(_form, sorted(forms_of(word.strip())))) for word in words)

    def __bool__(self) -> bool:
        """Return whether there is a word to hide."""
        return any(self._words)

    def mark(self, readings: Sequence[Reading], mask: bytearray) -> tuple[int, ...]:
        """Mark in a mask of the source where words stand; return how many times each does."""
        return tuple(_mark(forms, readings, mask) for forms in self._words)

    def hide(self, text: str) -> tuple[str, int]:
        """Return a text without the words, and how many times something was hidden."""
        if not self:
            return text, 0
        mask = bytearray(len(text))
        self.mark(readings_of(text), mask)
        stretches = tuple(marked(mask))
        return without(text, stretches), len(stretches)


def marked(mask: bytearray) -> Iterator[Span]:
    """Yield the stretches that are marked; those that touch are one."""
    return (Span(*match.span()) for match in _MARKED.finditer(mask))


def without(text: str, stretches: Iterable[Span]) -> str:
    """Return a text with a sign in place of each stretch."""
    kept, end = list[str](), 0
    for stretch in stretches:
        kept.append(text[end : stretch.start])
        end = stretch.end
    return HIDDEN.join((*kept, text[end:]))


@dataclass(frozen=True, slots=True)
class _Form:
    """A word as readings have it, and what makes another one of it where it stands: its last period."""

    text: str
    period: str
    periods: str

    def matches(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where it stands in a text, as stretches of those that overlap by one period or touch.

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


def _form(text: str) -> _Form:
    period = text[-_period(text) :]
    return _Form(text, period, period * (_BLOCK // len(period) + 1))


def _period(text: str) -> int:
    """Return after how many characters a text can begin again within itself, at the least."""
    borders, length = [0] * len(text), 0
    for at in range(1, len(text)):
        while length and text[at] != text[length]:
            length = borders[length - 1]
        length += text[at] == text[length]
        borders[at] = length
    return len(text) - borders[-1]


def _mark(forms: Iterable[_Form], readings: Sequence[Reading], mask: bytearray) -> int:
    own = bytearray(len(mask))
    for reading in readings:
        for form in forms:
            for start, end in form.matches(reading.text):
                span = reading.source(start, end)
                own[span.start : span.end] = mask[span.start : span.end] = b"\1" * (
                    span.end - span.start
                )
    return sum(1 for _ in marked(own))
