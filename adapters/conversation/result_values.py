"""Results of tools as callers hand them over: any nesting of values, as texts and documents.

All is looked through and checked first, so that of a result that no record can hold nothing is
stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.adapters.conversation.arguments import text_given
from onrecord.adapters.conversation.documents import Shelf, Unstored, must_hold, stored
from onrecord.adapters.conversation.found_documents import Found, is_document, looked_through
from onrecord.adapters.tools.typed_results import unfolded
from onrecord.adapters.tools.unfolded import Unfolded
from onrecord.domain import jsontext
from onrecord.domain.content import Document, Text
from onrecord.domain.documents import reference_to

Part: TypeAlias = Text | Document

_WHAT: Final = "a tool's result"


class Placed(NamedTuple):
    """A document of a result, and where it first stood in it (a JSON pointer, RFC 6901)."""

    document: Document
    path: str


class Stored(NamedTuple):
    """A result as it is recorded: its parts, and each document that is in it once."""

    parts: tuple[Part, ...]
    documents: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class GivenResult:
    """A result that a record can hold; nothing of it is stored yet.

    `told` is its plain JSON, in which each document has a place; `listed` says that it is a list of
    texts and documents, which keeps its order.
    """

    told: Any
    found: tuple[Found, ...]
    at: str
    listed: bool
    is_error: bool

    def stored(self, shelf: Shelf) -> Stored:
        """Store the documents, each once, and return the result with references in their place."""
        kept = _put_all(self.found, shelf)
        first: dict[Document, str] = {}
        for found, document in zip(self.found, kept, strict=True):
            found.place.update(reference_to(document))
            first.setdefault(document, f"{self.at}{found.path}")
        placed = tuple(Placed(document, path) for document, path in first.items())
        if self.listed:
            at = {id(found.place): kept[place] for place, found in enumerate(self.found)}
            return Stored(_in_order(self.told, at), placed)
        is_alone = any(found.place is self.told for found in self.found)
        return Stored((*(() if is_alone else _words(self.told)), *first), placed)


def given_result(given: object) -> GivenResult:
    """Return what a tool gave, looked through; InvalidContent where no record can hold it.

    A string is a text, None and an empty string are nothing; a list of texts and documents alone
    keeps its order, and so does what an MCP server gave. Anything else is told as JSON, with a
    reference in the place of each document: mappings, lists, dataclasses, pydantic's models,
    numbers, dates, UUIDs, enumerations. Paths and bytes are documents wherever they stand.
    """
    opened = _opened(given)
    listed = _listed(opened.value)
    looked = looked_through(opened.value if listed is None else listed)
    for said in (looked.plain,) if listed is None else looked.plain:
        _check(said)
    return GivenResult(looked.plain, looked.found, opened.at, listed is not None, opened.is_error)


def _check(said: Any) -> None:
    """Raise InvalidInput where a text cannot be sent, or JSON not be written."""
    if isinstance(said, str):
        text_given(_WHAT, said)
    else:
        jsontext.write(said)


def _opened(given: object) -> Unfolded:
    """Return what a typed result says; anything else as it is."""
    opened = given if isinstance(given, Unfolded) else Unfolded(given)
    while (inner := unfolded(opened.value)) is not None:
        opened = Unfolded(inner.value, opened.at + inner.at, opened.is_error or inner.is_error)
    return opened


def _listed(value: object) -> Sequence[object] | None:
    """Return the texts and documents of a list that holds nothing else; None for anything else."""
    if is_document(value) or not isinstance(value, Sequence) or isinstance(value, str):
        return None
    items: list[object] = []
    for item in cast("Sequence[object]", value):
        opened = _opened(item).value
        if not (opened is None or isinstance(opened, str | Text) or is_document(opened)):
            return None
        items.append(opened)
    has_blocks = not all(item is None or isinstance(item, str) for item in items)
    return items if has_blocks else None


def _put_all(found: Sequence[Found], shelf: Shelf) -> list[Document]:
    """Return the documents, stored; a file that stands there twice is read once."""
    must_hold(shelf, (each.document for each in found))
    kept: dict[Document | Unstored, Document] = {}
    for each in found:
        if each.document not in kept:
            kept[each.document] = stored(each.document, shelf)
    return [kept[each.document] for each in found]


def _in_order(told: Sequence[Any], at: Mapping[int, Document]) -> tuple[Part, ...]:
    """Return the parts of a list; a document that was there before is told by its reference."""
    parts: list[Part] = []
    shown: set[Document] = set()
    for each in told:
        document = at.get(id(each))
        if document is not None and document not in shown:
            shown.add(document)
            parts.append(document)
        elif each:
            parts += _words(each)
    return tuple(parts)


def _words(told: Any) -> tuple[Text, ...]:
    if told is None or told == "":
        return ()
    return (Text(text=told if isinstance(told, str) else jsontext.write(told).decode()),)
