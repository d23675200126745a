"""What a conversation may be called by: how its first prompt begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Document, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.neutral import neutral_of, parts_of
from onrecord.projections.views.view import storable

_LONGEST: Final = 80
"""Characters of a title: what a line of a list has room for."""

_READ: Final = 1000
"""Characters of a text that are looked at for its first line: prompts may be megabytes."""


def prompt_parts(content: Iterable[JsonObject]) -> Iterator[Text | Document]:
    """Yield the texts and documents of a prompt's blocks, which are given as they are stored.

    What stands in an API's own JSON is read as well; strings of it that are in blobs are empty.
    """
    for block in content:
        match block["kind"]:
            case "text":
                yield Text(text=block["text"])
            case "document":
                yield Document.model_validate(block)
            case _:
                yield from _read(block["api"], block["value"])


def title_of(text: str) -> str | None:
    """Return the first line of a text, cut at a word; None where it says nothing."""
    start = storable(text.lstrip()[:_READ])
    line = " ".join(start.splitlines()[0].split()) if start else ""
    if len(line) <= _LONGEST:
        return line or None
    words = line[:_LONGEST].rpartition(" ")[0]
    # Some words, and whole lines of some languages, are longer than any title.
    return f"{words if len(words) > _LONGEST // 2 else line[: _LONGEST - 1]}…"


def _read(api: str, value: JsonObject) -> Iterator[Text | Document]:
    told: JsonObject = restore(value, {blob.sha256: b"" for blob in referenced(value)})
    for part in parts_of(api, told) or (neutral_of(api, told),):
        if isinstance(part, Text | Document):
            yield part
