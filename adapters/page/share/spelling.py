r"""What a text says, however it is spelled, and where each part of that stands in it; pure.

It is read without regard to capitals, to ligatures and widths of letters, to spaces and line ends between
words, to colours of a terminal, and to characters that nobody sees. Escapes are read as what they stand for:
``\u00fc``, ``\xc3\xbc``, ``\"``, ``&amp;``, ``&#252;``, ``%C3%BC``, ``=C3=BC``, also where they are escaped
several times. A plus between two words of an address is a space. A letter and its marks are read as one,
however much of them one character stands for.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from io import StringIO
from typing import Final, NamedTuple

_UNSEEN: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What Unicode says is not shown: Default_Ignorable_Code_Point."""

_SPELLED: Final = re.compile(
    r"(?P<terminal>(?:\x1b|\\+(?:x1b|u001b|033|e))\[[0-9;:?]*[a-z])"
    r"|(?P<pair>\\+ud[89ab][0-9a-f]{2}\\+ud[c-f][0-9a-f]{2})"
    r"|\\+(?-i:U)(?P<long>000[0-9a-f]{5}|0010[0-9a-f]{4})"
    r"|\\+u(?P<code>[0-9a-f]{4})|(?P<bytes>(?:\\+x(?!1b)[0-9a-f]{2})++)"
    r"|(?P<space>(?:[ ](?=\s|\\+[nrtfb])|[^\S ]|\\+[nrtfb\t])(?:\s|\\+[nrtfb\t])*+)"
    r"|\\+(?P<sign>[\"'/])|(?P<slash>\\{2,})"
    r"|&(?:amp;)*(?P<entity>\#\d{1,7}|\#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});"
    r"|(?P<percent>(?:%(?:25)*[0-9a-f]{2})++)"
    r"|(?-i:(?P<printable>(?:=[89A-F][0-9A-F]){2,}+))"
    r"|(?P<plus>(?<=[^\s+])\++(?=[^\s+]))"
    rf"|(?P<unseen>[{_UNSEEN}]+|(?<=i)\u0307)",
    re.IGNORECASE,
)
"""What stands for other characters in some spelling."""

_PERCENT: Final = re.compile("%(?:25)*([0-9a-f]{2})", re.IGNORECASE)
_BYTE: Final = re.compile("[x=]([0-9a-f]{2})", re.IGNORECASE)
_CODES: Final = re.compile("u([0-9a-f]{4})", re.IGNORECASE)
_MOST_FOLDS: Final = 1 << 16
_TURKISH: Final = {"\u0130": "i", "\u0131": "i"}


class Span(NamedTuple):
    """A part of a text: from a character to before another."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it is read, and where its parts stand in the source.

    A part is as long as its source, or stands for all of it. Numbers are in arrays: a text may have millions
    of parts. The source is a text, or another reading of it.
    """

    text: str
    starts: array[int]
    begins: array[int]
    ends: array[int]
    of: Reading | None = None

    def source(self, start: int, end: int) -> Span:
        """Return where a span of the reading stands in the source."""
        span = Span(self._source_at(start).start, self._source_at(end - 1).end)
        return span if self.of is None else self.of.source(*span)

    def _source_at(self, offset: int) -> Span:
        at = bisect_right(self.starts, offset) - 1
        start, begin, end = self.starts[at], self.begins[at], self.ends[at]
        following = self.starts[at + 1] if at + 1 < len(self.starts) else len(self.text)
        if following - start != end - begin:
            return Span(begin, end)
        return Span(begin + offset - start, begin + offset - start + 1)


def readings_of(text: str) -> tuple[Reading, ...]:
    """Return a text as it is, and as it reads with its escapes read, where that differs.

    Where letters and their marks are apart, each of both stands there with them as one, too.
    """
    as_it_is = _reading(_whole(text))
    read = _reading(_parts(text))
    if read.text == as_it_is.text:
        return as_it_is, *_composed(as_it_is, _whole(text))
    return (
        *(as_it_is, *_composed(as_it_is, _whole(text))),
        *(read, *_composed(read, _parts(text))),
    )


def spellings_of(word: str) -> frozenset[str]:
    """Return how readings of texts spell a word."""
    forms = (unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word))
    readings = (each for form in forms for each in (*readings_of(_readable(form)), *_read(form)))
    return frozenset(each.text for each in readings if each.text.strip())


def _read(word: str) -> tuple[Reading, ...]:
    read = _reading(_parts(word))
    return read, *_composed(read, _parts(word))


def _whole(text: str) -> Iterator[tuple[str, Span]]:
    yield text, Span(0, len(text))


def _composed(reading: Reading, parts: Iterable[tuple[str, Span]]) -> tuple[Reading, ...]:
    """Return a reading of parts in which letters and their marks are one; none where they are in this one."""
    if unicodedata.is_normalized("NFC", reading.text):
        return ()
    plain = _reading(parts, _unfolded)
    return (_reading(_letters(plain.text), of=plain),)


def _letters(text: str) -> Iterator[tuple[str, Span]]:
    """Yield the parts of a text with letters and their marks as one: each of these stands for all its source."""
    end = 0
    for match in _marked_letters().finditer(text):
        if end < match.start():
            yield text[end : match.start()], Span(end, match.start())
        end = match.end()
        for each in unicodedata.normalize("NFKC", match[0]):
            yield each, Span(*match.span())
    if end < len(text):
        yield text[end:], Span(end, len(text))


@cache
def _marked_letters() -> re.Pattern[str]:
    """Return what finds a letter with its marks: nothing else is part of another character in Unicode."""
    codes = (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0))
    marks = "".join(chr(code) for code in codes if unicodedata.category(chr(code))[0] == "M")
    # No text has more on a letter (Stream-Safe Text Format), and to sort them takes time by their square.
    return re.compile(f"(?s:.)[{marks}\u1161-\u1175\u11a8-\u11c2]{{1,30}}")


def _reading(
    parts: Iterable[tuple[str, Span]],
    split: Callable[[str, Span], Iterable[tuple[str, int, int]]] | None = None,
    of: Reading | None = None,
) -> Reading:
    """Return the reading of parts, without regard to capitals unless they are split otherwise."""
    text, starts, begins, ends = StringIO(), array("q"), array("q"), array("q")
    for part, span in parts:
        for folded, begin, end in (split or _folded_parts)(part, span):
            starts.append(text.tell())
            begins.append(begin)
            ends.append(end)
            text.write(folded)
    return Reading(text.getvalue(), starts, begins, ends, of)


def _unfolded(part: str, span: Span) -> tuple[tuple[str, int, int], ...]:
    return ((part, span.start, span.end),)


def _folded_parts(part: str, span: Span) -> Iterator[tuple[str, int, int]]:
    """Yield a part without regard to capitals: each character that becomes several is a part of its own."""
    folded = _folded(part)
    if len(folded) == len(part) or len(part) != span.end - span.start:
        yield folded, span.start, span.end
        return
    start = 0
    for at, each in enumerate(part):
        if len(several := _FOLDS[ord(each)]) == 1:
            continue
        if start < at:
            yield _folded(part[start:at]), span.start + start, span.start + at
        yield several, span.start + at, span.start + at + 1
        start = at + 1
    if start < len(part):
        yield _folded(part[start:]), span.start + start, span.end


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
    escape = match[0]
    match match.lastgroup:
        case "space" | "plus":
            return " "
        case "unseen" | "terminal":
            return ""
        case "sign":
            return match["sign"]
        case "slash":
            return "\\"
        case "pair":
            halves = "".join(chr(int(code, 16)) for code in _CODES.findall(escape))
            return halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case "percent":
            return _of_bytes(_PERCENT.findall(escape))
        case "bytes":
            return _of_bytes(_BYTE.findall(escape))
        case "printable":
            return _of_bytes(_BYTE.findall(escape), otherwise=escape)
        case "entity":
            return _readable(unescape(f"&{match['entity']};"))
        case _:
            return _readable(chr(int(match["code"] or match["long"], 16)))


def _of_bytes(codes: Iterable[str], otherwise: str | None = None) -> str:
    """Return what bytes say in UTF-8; where it is none, what they say in Latin 1 or what stands there."""
    data = bytes(int(code, 16) for code in codes)
    try:
        return _readable(data.decode())
    except UnicodeDecodeError:
        return _readable(data.decode("latin-1")) if otherwise is None else otherwise


def _folded(text: str) -> str:
    """Return a text without regard to capitals and to ligatures and widths of letters."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


class _Folds(dict[int, str]):
    """What each character is without regard to capitals, kept once it was asked for."""

    def __missing__(self, code: int) -> str:
        if len(self) > _MOST_FOLDS:
            self.clear()
        each = chr(code)
        plain = unicodedata.normalize("NFKC", each).casefold()
        folded = self[code] = _TURKISH.get(each) or unicodedata.normalize("NFKC", plain)
        return folded


_FOLDS: Final = _Folds()
