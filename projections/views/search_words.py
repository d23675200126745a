"""The words of a text, by one rule for what is searched and what is looked for.

Databases divide texts each in its own way, so none of them is left to do it: they are given words
with a blank between them. Letters count in whatever spelling Unicode holds equal (NFKC, case
folded), accents count as they are. Scripts that set no blanks between words (Chinese, Japanese,
Thai, Lao, Khmer, Burmese) are found by their characters: each is a word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

MOST_BYTES: Final = 256 * 1024
"""How much of an event's text is searched, in bytes of UTF-8; what comes behind is not found."""

_LONGEST: Final = 64
"""Characters of a word that count: nobody types more, and no index takes words of any length."""

_NO_WORD: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
_ALONE: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
_MOST_MARKS: Final = 30
"""How many marks of a letter count."""

_BEHIND_ALL_MARKS: Final = 0x1F000
"""No mark that is put in order stands behind it in Unicode."""

_BEHIND_MARKS: Final = 0x1F000
"""No mark that makes another word of a letter stands behind it in Unicode: only its variants."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order; what is behind `MOST_BYTES` has none."""
    read = beginning(text, MOST_BYTES)
    if read.isascii():
        return _shortened(read.lower().translate(_NO_WORD).split())
    folded = unicodedata.normalize("NFKC", _short_of_marks(read)).casefold()
    words = _word().findall(_ALONE.sub(r" \g<0> ", folded.replace("_", " ")))
    return _shortened(words)


def beginning(text: str, most: int) -> str:
    """Return as much of the beginning of a text as has at most so many bytes in UTF-8."""
    if len(text) * 4 <= most:
        return text
    data = text[:most].encode("utf-8", "replace")
    return text[:most] if len(data) <= most else data[:most].decode("utf-8", "ignore")


def _shortened(words: list[str]) -> list[str]:
    """Return words of which none is too long, and no more than an index takes."""
    if len(max(words, key=len, default="")) > _LONGEST:
        words = [word[:_LONGEST] for word in words]
    joined = " ".join(words)
    read = beginning(joined, MOST_BYTES)
    return words if len(read) == len(joined) else read.split(" ")[:-1]


@cache
def _word() -> re.Pattern[str]:
    """Return what matches a word: letters and digits, and the marks that belong to letters."""
    marks = (chr(code) for code in range(_BEHIND_MARKS) if _is_mark(chr(code)))
    return re.compile(f"[\\w{''.join(marks)}]+")


def _short_of_marks(text: str) -> str:
    """Return a text in which no run of marks is longer than any language has them.

    To put a run of marks in order takes as long as its length squared (Unicode Standard Annex 15,
    section 13, has the same limit).
    """
    return _run_of_marks().sub(r"\g<kept>", text)


@cache
def _run_of_marks() -> re.Pattern[str]:
    """Return what matches a run of marks that is too long, and its beginning, which is `kept`."""
    marks = "".join(filter(_begins_with_mark, map(chr, range(_BEHIND_ALL_MARKS))))
    return re.compile(f"(?P<kept>[{marks}]{{{_MOST_MARKS}}})[{marks}]+")


def _begins_with_mark(char: str) -> bool:
    if not unicodedata.decomposition(char):
        return unicodedata.combining(char) > 0
    return unicodedata.combining(unicodedata.normalize("NFKD", char)[0]) > 0


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")
