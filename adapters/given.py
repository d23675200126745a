"""What callers hand over (text, paths, bytes, plain JSON) as content blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from pydantic import ValidationError

from hansard.adapters.arguments import kind_of, several, text_given, text_if_given
from hansard.domain import jsontext
from hansard.domain.content import Blob, Document, Native, Text
from hansard.domain.documents import media_type_of
from hansard.domain.errors import InvalidContent
from hansard.domain.tools import BuiltinTool, ToolDefinition, ToolSource
from hansard.projections.apis import known_api

GivenDocument: TypeAlias = Path | bytes | Document
"""A document as callers give it: a file, its bytes, or one that is described already."""

GivenTool: TypeAlias = ToolDefinition | BuiltinTool | Native | Mapping[str, Any]
"""A tool as callers give it: a definition, a mapping of its fields, or one API's own JSON."""

_Tool: TypeAlias = ToolDefinition | BuiltinTool | Native

PutBlob: TypeAlias = Callable[[Iterable[bytes]], Blob]
"""Stores bytes and returns their reference."""

_PIECE: Final = 1024 * 1024


def prompt(text: object, documents: object, put: PutBlob) -> tuple[Text | Document, ...]:
    """Return what a user says, documents first; InvalidContent where no record can hold it.

    Nothing is stored of what is refused. Blank text alone is: no provider takes it.
    """
    said = text_if_given("a prompt's text", text)
    attached = tuple(_checked(given) for given in several("documents", documents))
    if said is not None and not said.strip() and not attached:
        raise InvalidContent("the prompt is blank: give it text or a document")
    stored = tuple(document(given, put) for given in attached)
    return stored if said is None else (*stored, Text(text=said))


def tools(given: object) -> tuple[_Tool, ...]:
    """Return tools as they are recorded; InvalidContent where one is no neutral definition.

    UnknownApi where the options of a provider's tool are for an API that is none of ours.
    """
    return tuple(_tool(each) for each in several("tools", given))


def sources(given: object) -> tuple[ToolSource, ...]:
    """Return where tools come from; InvalidContent where one is no `ToolSource`."""
    listed = tuple(several("sources", given))
    for each in listed:
        if not isinstance(each, ToolSource):
            raise InvalidContent(f"a source of tools is a hansard.ToolSource, not {kind_of(each)}")
    return cast("tuple[ToolSource, ...]", listed)


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
            return (Text(text=text_given("a tool's result", given)),)
        case Text():
            return (given,)
        case Path() | bytes() | Document():
            return (document(given, put),)
        case list() | tuple() if _has_blocks(cast("Sequence[object]", given)):
            parts = (result_content(item, put) for item in cast("Sequence[object]", given))
            return tuple(block for part in parts for block in part)
        case _:
            return (Text(text=jsontext.write(given).decode()),)


def _tool(given: object) -> _Tool:
    if isinstance(given, BuiltinTool):
        _check_builtin(given)
    if isinstance(given, _Tool):
        return given
    try:
        return ToolDefinition.model_validate(given)
    except ValidationError:
        # The cause would show the tool.
        raise InvalidContent(
            "a tool for any model has `name`, `input_schema` (a JSON Schema object) and perhaps "
            "`description`, nothing else; give a provider's own tool as "
            'hansard.BuiltinTool(name="web_search"), what only one API knows as '
            'hansard.Native(api="anthropic-messages", value={...})'
        ) from None


def _check_builtin(tool: BuiltinTool) -> None:
    """Raise InvalidContent where no API has such a tool, UnknownApi for options of none."""
    # What spells requests takes a while to import, and few callers declare such tools.
    from hansard.projections.requests.builtin_tools import SPELLINGS

    known = sorted({name for tools in SPELLINGS.values() for name in tools})
    if tool.name not in known:
        raise InvalidContent(
            f"no API runs a tool named {tool.name!r}: name one of {', '.join(known)}"
        )
    for api in tool.options:
        known_api(api)


def _checked(given: object) -> GivenDocument:
    if isinstance(given, Path | bytes | Document):
        return given
    raise InvalidContent(
        "a document is a pathlib.Path, bytes or a hansard.Document, "
        f"not {kind_of(given)}: for a file give pathlib.Path(...)"
    )


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
