"""What events say, in words: of the plain members of their bodies, as far as these hold it.

Strings that were moved to blobs are not there: views are folded from the log alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, cast

from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import (
    Document,
    NeutralBlock,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.api import neutral_of, parts_of
from onrecord.projections.history import timeline_text
from onrecord.projections.history.responses import plain_of
from onrecord.projections.views.view import storable

_BETWEEN: Final = "\n\n"
_LONGEST_ID: Final = 256
_IN_BLOBS: Final = b'"$onrecord.'


def members_of(event: RecordedEvent, stand_in: str = "") -> JsonObject | None:
    """Return the members of an event's body; None if it was erased, or is of a newer release.

    `stand_in` is told in the place of each string that is in a blob; `{digest}` of it says which.
    """
    plain = plain_of(event)
    if not isinstance(plain, dict):
        return None
    if event.body is None or _IN_BLOBS not in event.body:
        return plain
    if "content" in plain:
        return {**plain, "content": _told(plain["content"], stand_in)}
    return {**plain, "item": _whole(plain["item"], stand_in)} if "item" in plain else plain


def said(content: Iterable[JsonObject]) -> str:
    """Return the texts of the blocks of a message or of a signal, an empty line between them."""
    return _BETWEEN.join(text for text in map(_text, content) if text)


def documents_in(content: Iterable[JsonObject]) -> int:
    """Return how many documents stand among the blocks of a message, a signal or a result."""
    return sum(map(_documents, content))


def names_in(content: Iterable[JsonObject]) -> list[str]:
    """Return the names, or else the addresses, of the caller's own documents among blocks."""
    return [name for block in content if block["kind"] == "document" and (name := name_of(block))]


def name_of(document: JsonObject) -> str:
    """Return a document's name, else where it is; empty if it has neither."""
    name, url = document.get("name"), document.get("url")
    return name or (url if url and not url.startswith("data:") else "")


def arguments_in(content: JsonObject) -> Any:
    """Return the arguments of a call; all of its block where it cannot be read."""
    if content["kind"] != "native":
        return content.get("arguments")
    value = content["value"]
    read = neutral_of(content["api"], value)
    if isinstance(read, ToolCall | ServerToolCall):
        return read.arguments
    return value.get("input", value)


def given(content: JsonObject) -> str:
    """Return what a result of a call says, its documents by their names."""
    if content["kind"] == "native":
        return gave(neutral_of(content["api"], content["value"]))
    parts: list[JsonObject] = content["content"]
    return _BETWEEN.join(filter(None, (said(parts), *names_in(parts))))


def gave(read: NeutralBlock | None) -> str:
    """Return what a result in neutral form says; empty for anything else."""
    match read:
        case ServerToolResult():
            return timeline_text.gave(read) if read.content or read.metadata else ""
        case ToolResult(content=parts):
            return _BETWEEN.join(filter(None, map(_of_part, parts)))
        case _:
            return ""


def indexed(call_id: str) -> str:
    """Return the id of a call as rows are found by it: a server may make one of any length."""
    return storable(call_id[:_LONGEST_ID])


def _of_part(part: Text | Document) -> str:
    return part.text if isinstance(part, Text) else (part.name or "")


def _text(block: JsonObject) -> str:
    if block["kind"] == "text":
        text: str = block["text"]
        return text
    return (
        ""
        if block["kind"] != "native"
        else _BETWEEN.join(part.text for part in _parts(block) if isinstance(part, Text))
    )


def _documents(block: JsonObject) -> int:
    if block["kind"] == "document":
        return 1
    if block["kind"] != "native":
        return 0
    return sum(isinstance(part, Document) for part in _parts(block))


def _parts(block: JsonObject) -> tuple[NeutralBlock, ...]:
    """Return what an API's block of a message holds: a whole message has parts of its own."""
    api, value = block["api"], block["value"]
    return parts_of(api, value) or (neutral_of(api, value),)


def _told(content: Any, stand_in: str) -> Any:
    """Return content with the JSON of APIs as it came, something in the place of each blob."""
    match content:
        case {"kind": "native", "value": value}:
            return {**content, "value": _whole(value, stand_in)}
        case list():
            return [_told(block, stand_in) for block in cast("list[Any]", content)]
        case _:
            return content


def _whole(value: Any, stand_in: str) -> Any:
    """Return JSON as it came, something in the place of each string that is in a blob."""
    stand_ins = {
        blob.sha256: stand_in.format(digest=blob.sha256).encode() for blob in referenced(value)
    }
    return restore(value, stand_ins)


# The words of a text, by one rule for what is searched and what is looked for.
#
# Databases divide texts each in its own way, so none of them is left to do it: they are given
# words with a blank between them. Letters count in whatever spelling Unicode holds equal (NFKC,
# case folded), accents count as they are. Scripts that set no blanks between words (Chinese,
# Japanese, Thai, Lao, Khmer, Burmese) are found by their characters: each is a word.

MOST_BYTES: Final = 256 * 1024
"""How much of an event's text is searched, in bytes of UTF-8; what comes behind is not found."""

_LONGEST_WORD: Final = 64
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
    if len(max(words, key=len, default="")) > _LONGEST_WORD:
        words = [word[:_LONGEST_WORD] for word in words]
    joined = " ".join(words)
    read = beginning(joined, MOST_BYTES)
    return words if len(read) == len(joined) else read.split(" ")[:-1]


@cache
def _word() -> re.Pattern[str]:
    """Return what matches a word: letters and digits, and the marks that belong to letters."""
    chars = map(chr, range(_BEHIND_MARKS))
    marks = (char for char in chars if unicodedata.category(char).startswith("M"))
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


# What a conversation may be called by: how its first prompt begins.

_LONGEST_TITLE: Final = 80
"""Characters of a title: what a line of a list has room for."""

_READ: Final = 1000
"""Characters of a text that are looked at for its first line: prompts may be megabytes."""


def title_of(text: str) -> str | None:
    """Return the first line of a text, cut at a word; None where it says nothing."""
    start = storable(text.lstrip()[:_READ])
    line = " ".join(start.splitlines()[0].split()) if start else ""
    if len(line) <= _LONGEST_TITLE:
        return line or None
    words = line[:_LONGEST_TITLE].rpartition(" ")[0]
    # Some words, and whole lines of some languages, are longer than any title.
    return f"{words if len(words) > _LONGEST_TITLE // 2 else line[: _LONGEST_TITLE - 1]}…"
