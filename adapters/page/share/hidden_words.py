r"""Words to hide in a text, however the text spells them; pure.

A word is found in capitals or not, with other spaces or line ends between its parts, with characters
between its letters that nobody sees, and as an escape spells it: ``\u00fc``, ``\"``, ``&amp;``,
``&#252;``, ``%C3%BC``, also where it is escaped several times.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from itertools import accumulate
from typing import Final, NamedTuple

HIDDEN: Final = "[hidden]"
"""What stands in place of a word that is hidden."""

_UNSEEN: Final = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
_SPELLED: Final = re.compile(
    r"(?P<pair>\\+ud[89ab][0-9a-f]{2}\\+ud[c-f][0-9a-f]{2})"
    r"|\\+u(?P<code>[0-9a-f]{4})|\\+x(?P<byte>[0-9a-f]{2})"
    r"|(?P<space>(?:[ ](?=\s|\\+[nrtfb])|[^\S ]|\\+[nrtfb])(?:\s|\\+[nrtfb])*)"
    r"|\\+(?P<sign>[\"'/])|(?P<slash>\\{2,})"
    r"|&(?:amp;)*(?P<entity>\#\d{1,7}|\#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});"
    r"|(?P<percent>(?:%(?:25)*[0-9a-f]{2})+)"
    rf"|(?P<unseen>[{_UNSEEN}]+)",
    re.IGNORECASE,
)
"""What stands for other characters in some spelling."""

_PERCENT: Final = re.compile("%(?:25)*([0-9a-f]{2})", re.IGNORECASE)
_CODES: Final = re.compile("u([0-9a-f]{4})", re.IGNORECASE)


class _Span(NamedTuple):
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text in one spelling, and where its parts stand in the source.

    A part is as long as its source, or stands for all of it.
    """

    text: str
    starts: tuple[int, ...]
    parts: tuple[tuple[str, _Span], ...]

    def source(self, start: int, end: int) -> _Span:
        """Return where a stretch of the reading stands in the source."""
        first, last = self._at(start), self._at(end - 1)
        return _Span(self._place(first, start).start, self._place(last, end - 1).end)

    def _at(self, place: int) -> int:
        return bisect_right(self.starts, place) - 1

    def _place(self, at: int, place: int) -> _Span:
        text, span = self.parts[at]
        if len(text) != span.end - span.start:
            return span
        begin = span.start + place - self.starts[at]
        return _Span(begin, begin + 1)


class HiddenWords:
    """Words that are hidden wherever a text says them."""

    def __init__(self, words: Iterable[str]) -> None:
        """Hide these words; one that has nothing to be seen is none."""
        forms = [form for word in words for form in _forms(word.strip())]
        folded = (*map(_folded, map(_readable, forms)), *(_read(form).text for form in forms))
        self._words = frozenset(word for word in folded if word.strip())

    def __bool__(self) -> bool:
        """Return whether there is a word to hide."""
        return bool(self._words)

    def hide(self, text: str) -> tuple[str, int]:
        """Return a text without the words, and how many times something was hidden."""
        if not self._words:
            return text, 0
        spans = sorted({*self._in(_as_it_is(text)), *self._in(_read(text))})
        merged = list(_merged(spans))
        if not merged:
            return text, 0
        ends = [0, *(span.end for span in merged)]
        starts = [*(span.start for span in merged), len(text)]
        kept = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        return HIDDEN.join(kept), len(merged)

    def _in(self, reading: _Reading) -> Iterator[_Span]:
        for word in self._words:
            at = reading.text.find(word)
            while at >= 0:
                yield reading.source(at, at + len(word))
                at = reading.text.find(word, at + 1)


def _forms(word: str) -> Iterator[str]:
    """Yield a word in the forms that a text may have it in, such as with ss in place of one letter."""
    for form in (word, word.casefold()):
        yield unicodedata.normalize("NFC", form)
        yield unicodedata.normalize("NFD", form)


def _as_it_is(text: str) -> _Reading:
    return _Reading(_folded(text), (0,), ((text, _Span(0, len(text))),))


def _readable(text: str) -> str:
    """Return a text without what nobody sees, and with one space between its parts."""
    return re.sub(r"\s+", " ", re.sub(f"[{_UNSEEN}]", "", text))


def _read(text: str) -> _Reading:
    """Return what a text says, its escapes read."""
    parts = tuple(_parts(text))
    lengths = [len(part) for part, _ in parts]
    starts = tuple(accumulate(lengths, initial=0))[: len(parts)]
    return _Reading(_folded("".join(part for part, _ in parts)), starts, parts)


def _parts(text: str) -> Iterator[tuple[str, _Span]]:
    """Yield the parts of a text as they are read, with one space where several stand together."""
    is_space = False
    for part, span in _spelled(text):
        if is_space and part.startswith(" "):
            if part == " ":
                continue
            is_as_it_is = len(part) == span.end - span.start
            part, span = part[1:], _Span(span.start + is_as_it_is, span.end)
        is_space = part.endswith(" ")
        yield part, span


def _spelled(text: str) -> Iterator[tuple[str, _Span]]:
    end = 0
    for match in _SPELLED.finditer(text):
        if end < match.start():
            yield text[end : match.start()], _Span(end, match.start())
        end = match.end()
        if said := _said(match):
            yield said, _Span(*match.span())
    if end < len(text):
        yield text[end:], _Span(end, len(text))


def _said(match: re.Match[str]) -> str:
    """Return the characters that an escape stands for."""
    found = match[0]
    match match.lastgroup:
        case "space":
            return " "
        case "unseen":
            return ""
        case "sign":
            return match["sign"]
        case "slash":
            return "\\"
        case "pair":
            halves = "".join(chr(int(code, 16)) for code in _CODES.findall(found))
            return halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case "percent":
            data = bytes(int(code, 16) for code in _PERCENT.findall(found))
            return _readable(data.decode("utf-8", "replace"))
        case "entity":
            return _readable(unescape(f"&{match['entity']};"))
        case _:
            return _readable(chr(int(match["code"] or match["byte"], 16)))


def _folded(text: str) -> str:
    """Return a text without regard to capitals, each character at its place."""
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(each if len(each.casefold()) != 1 else each.casefold() for each in text)


def _merged(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Yield spans in order, those that overlap as one."""
    last: _Span | None = None
    for span in spans:
        if last is not None and span.start < last.end:
            last = _Span(last.start, max(last.end, span.end))
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
