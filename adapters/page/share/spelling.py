r"""What a text says, however it is spelled, and where each part of that stands in it; pure.

It is read without regard to capitals, to spaces and line ends between words, and to characters that nobody
sees. Escapes are read as what they stand for: ``\u00fc``, ``\"``, ``&amp;``, ``&#252;``, ``%C3%BC``, also
where they are escaped several times.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from io import StringIO
from typing import Final, NamedTuple

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


class Span(NamedTuple):
    """A stretch of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it is read, and where its parts stand in the source.

    A part is as long as its source, or stands for all of it. Numbers are in arrays: a text may have millions
    of parts.
    """

    text: str
    starts: array[int]
    begins: array[int]
    ends: array[int]

    def source(self, start: int, end: int) -> Span:
        """Return where a stretch of the reading stands in the source."""
        return Span(self._place(start).start, self._place(end - 1).end)

    def _place(self, place: int) -> Span:
        at = bisect_right(self.starts, place) - 1
        start, begin, end = self.starts[at], self.begins[at], self.ends[at]
        following = self.starts[at + 1] if at + 1 < len(self.starts) else len(self.text)
        if following - start != end - begin:
            return Span(begin, end)
        return Span(begin + place - start, begin + place - start + 1)


def readings_of(text: str) -> tuple[Reading, ...]:
    """Return a text as it is, and as it reads with its escapes read, where that differs."""
    as_it_is = _reading([(text, Span(0, len(text)))])
    read = _reading(_parts(text))
    return (as_it_is,) if read.text == as_it_is.text else (as_it_is, read)


def forms_of(word: str) -> frozenset[str]:
    """Return what readings of texts have for a word."""
    cases = (word, word.casefold())
    forms = tuple(unicodedata.normalize(form, case) for form in ("NFC", "NFD") for case in cases)
    plain = (_folded(_readable(form)) for form in forms)
    read = (_reading(_parts(form)).text for form in forms)
    return frozenset(form for form in (*plain, *read) if form.strip())


def _reading(parts: Iterable[tuple[str, Span]]) -> Reading:
    text, starts, begins, ends = StringIO(), array("q"), array("q"), array("q")
    for part, span in parts:
        starts.append(text.tell())
        begins.append(span.start)
        ends.append(span.end)
        text.write(part)
    return Reading(_folded(text.getvalue()), starts, begins, ends)


def _readable(text: str) -> str:
    """Return a text without what nobody sees, and with one space between its parts."""
    return re.sub(r"\s+", " ", re.sub(f"[{_UNSEEN}]", "", text))


def _parts(text: str) -> Iterator[tuple[str, Span]]:
    """Yield the parts of a text as they are read, with one space where several stand together."""
    is_space = False
    for part, span in _spelled(text):
        if is_space and part.startswith(" "):
            if part == " ":
                continue
            is_as_it_is = len(part) == span.end - span.start
            part, span = part[1:], Span(span.start + is_as_it_is, span.end)
        is_space = part.endswith(" ")
        yield part, span


def _spelled(text: str) -> Iterator[tuple[str, Span]]:
    end = 0
    for match in _SPELLED.finditer(text):
        if end < match.start():
            yield text[end : match.start()], Span(end, match.start())
        end = match.end()
        if said := _said(match):
            yield said, Span(*match.span())
    if end < len(text):
        yield text[end:], Span(end, len(text))


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
