"""What callers hand over (text, paths, bytes, plain JSON) as content blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from hansard.domain import jsontext
from hansard.domain.content import Blob, Document, Text
from hansard.domain.documents import media_type_of
from hansard.domain.errors import InvalidContent
from hansard.domain.tools import ToolDefinition

GivenDocument: TypeAlias = Path | bytes | Document
"""A document as callers give it: a file, its bytes, or one that is described already."""

PutBlob: TypeAlias = Callable[[Iterable[bytes]], Blob]
"""Stores bytes and returns their reference."""

_PIECE: Final = 1024 * 1024


def document(given: GivenDocument, put: PutBlob) -> Document:
    """Return the document, its bytes stored as a blob; InvalidContent if it cannot be read."""
    match given:
        case Document():
            return given
        case bytes():
            return Document(media_type=media_type_of(given), blob=put((given,)))
        case Path():
            return _file(given, put)


def result_content(given: Any, put: PutBlob) -> tuple[Text | Document, ...]:
    """Return what a tool gave as blocks.

    A string is a text; None is nothing; a path, bytes or a Document is a document; a list of
    blocks and documents keeps its order; anything else is written as JSON.
    """
    match given:
        case None | "":
            return ()
        case str():
            return (Text(text=given),)
        case Text():
            return (given,)
        case Path() | bytes() | Document():
            return (document(given, put),)
        case list() | tuple() if _has_blocks(cast("Sequence[object]", given)):
            parts = (result_content(item, put) for item in cast("Sequence[object]", given))
            return tuple(block for part in parts for block in part)
        case _:
            return (Text(text=jsontext.write(given).decode()),)


def tool(given: ToolDefinition | Mapping[str, Any]) -> ToolDefinition:
    """Return a tool definition; InvalidContent if it lacks a name or a schema."""
    if isinstance(given, ToolDefinition):
        return given
    try:
        return ToolDefinition(
            name=given["name"],
            description=given.get("description"),
            input_schema=given["input_schema"],
        )
    except (KeyError, ValueError) as exc:
        raise InvalidContent(
            "a tool needs `name` and `input_schema` (a JSON Schema object), and may have "
            "`description`"
        ) from exc


def _has_blocks(items: Sequence[object]) -> bool:
    return any(isinstance(item, Text | Document | Path | bytes) for item in items)


def _file(path: Path, put: PutBlob) -> Document:
    try:
        with path.open("rb") as file:
            first = file.read(_PIECE)
        blob = put(_pieces(path))
    except OSError as exc:
        raise InvalidContent(f"the document cannot be read: {exc.strerror}") from exc
    return Document(media_type=media_type_of(first, path.name), name=path.name, blob=blob)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece
