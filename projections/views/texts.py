"""What events say, in words: of the plain members of their bodies, as far as these hold it.

Strings that were moved to blobs are not there: views are folded from the log alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

from onrecord.domain import jsontext
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import (
    Block,
    Document,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections import wording
from onrecord.projections.neutral import neutral_of, parts_of
from onrecord.projections.plain import plain_of
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
    if event.body is not None and _IN_BLOBS in event.body and "content" in plain:
        return {**plain, "content": _told(plain["content"], stand_in)}
    return plain


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


def compact(value: Any) -> str:
    """Return a value as compact JSON; a lone surrogate is its escape."""
    return jsontext.write(value).decode()


def given(content: JsonObject) -> str:
    """Return what a result of a call says, its documents by their names."""
    if content["kind"] == "native":
        return gave(neutral_of(content["api"], content["value"]))
    parts: list[JsonObject] = content["content"]
    return _BETWEEN.join(filter(None, (said(parts), *names_in(parts))))


def gave(read: Block | None) -> str:
    """Return what a result in neutral form says; empty for anything else."""
    match read:
        case ServerToolResult():
            return wording.gave(read) if read.content or read.metadata else ""
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


def _parts(block: JsonObject) -> tuple[Block, ...]:
    """Return what an API's block of a message holds: a whole message has parts of its own."""
    api, value = block["api"], block["value"]
    return parts_of(api, value) or (neutral_of(api, value),)


def _told(content: Any, stand_in: str) -> Any:
    """Return content with the JSON of APIs as it came, something in the place of each blob."""
    match content:
        case {"kind": "native", "value": value}:
            held = {
                blob.sha256: stand_in.format(digest=blob.sha256).encode()
                for blob in referenced(value)
            }
            return {**content, "value": restore(value, held)}
        case list():
            return [_told(block, stand_in) for block in cast("list[Any]", content)]
        case _:
            return content
