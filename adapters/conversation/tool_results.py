"""Results of tools as callers hand them over: any nesting of values, as texts and documents.

All is looked through and checked first, so that of a result that no record can hold nothing is
stored.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.adapters.conversation.found_documents import (
    FoundDocument,
    is_document,
    looked_through,
    unfolded,
)
from onrecord.adapters.conversation.tails import awaited_calls, names_in_force
from onrecord.adapters.inputs.arguments import text_given
from onrecord.adapters.inputs.document_inputs import Unstored, must_hold, stored
from onrecord.adapters.streams.lineage import backwards
from onrecord.adapters.streams.results import ResultDone, Unmatched, record_result
from onrecord.adapters.streams.stream import Stream, stored_again
from onrecord.adapters.tools.tool import Unfolded
from onrecord.domain import conversation, jsontext
from onrecord.domain.content import Document, Text
from onrecord.domain.documents import reference_to
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import (
    DocumentExtracted,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.domain.header import NO_METADATA
from onrecord.domain.log import Recorded

Part: TypeAlias = Text | Document

_WHAT: Final = "a tool's result"
_DEEPEST: Final = 100
"""How many types are read one out of the other."""


class Placed(NamedTuple):
    """A document of a result, and where it first stood in it (a JSON pointer, RFC 6901)."""

    document: Document
    path: str


class Stored(NamedTuple):
    """A result as it is recorded: its parts, and each document that is in it once.

    `is_json` says that the first part is the JSON of a value that is no text.
    """

    parts: tuple[Part, ...]
    documents: tuple[Placed, ...]
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A result that a record can hold; nothing of it is stored yet.

    `plain` is its JSON, in which each document has a place; `listed` says that it is a list of
    texts and documents, which keeps its order.
    """

    plain: Any
    documents: tuple[FoundDocument, ...]
    at: str
    listed: bool
    is_error: bool

    def stored(self, stream: Stream) -> Stored:
        """Store the documents, each once, and return the result with references in their place."""
        documents = _put_all(self.documents, stream)
        first: dict[Document, str] = {}
        for each, document in zip(self.documents, documents, strict=True):
            each.place.update(reference_to(document))
            first.setdefault(document, f"{self.at}{each.path}")
        placed = tuple(Placed(document, path) for document, path in first.items())
        if self.listed:
            at = {id(each.place): documents[place] for place, each in enumerate(self.documents)}
            return Stored(_in_order(self.plain, at), placed)
        if any(each.place is self.plain for each in self.documents):
            return Stored(tuple(first), placed)
        is_json = self.plain is not None and not isinstance(self.plain, str)
        return Stored((*_words(self.plain), *first), placed, is_json)


def tool_output(value: object) -> ToolOutput:
    """Return what a tool gave, looked through; InvalidContent where no record can hold it.

    A string is a text, None and an empty string are nothing; a list of texts and documents alone
    keeps its order, and so does what an MCP server gave. Anything else is told as JSON, with a
    reference in the place of each document: mappings, lists, dataclasses, pydantic's models,
    numbers, dates, UUIDs, enumerations. Paths and bytes are documents wherever they stand.
    """
    opened = _opened(value)
    items = _items(opened.value)
    listed = items is not None and _has_blocks_alone(items)
    looked = looked_through(opened.value if items is None else items)
    for each in looked.plain if listed else (looked.plain,):
        _check(each)
    return ToolOutput(looked.plain, looked.documents, opened.at, listed, opened.is_error)


def _check(value: Any) -> None:
    """Raise InvalidInput where a text cannot be sent, or JSON not be written."""
    if isinstance(value, str):
        text_given(_WHAT, value)
    else:
        jsontext.write(value)


def _opened(value: object) -> Unfolded:
    """Return what a typed result says; anything else as it is."""
    opened = value if isinstance(value, Unfolded) else Unfolded(value)
    for _ in range(_DEEPEST):
        inner = unfolded(opened.value)
        if inner is None:
            return opened
        opened = Unfolded(inner.value, opened.at + inner.at, opened.is_error or inner.is_error)
    raise InvalidContent("types of results are read as one another without an end")


def _items(value: object) -> Sequence[object] | None:
    """Return the items of a list, typed ones opened up to the first that is no text or document.

    Each is opened once, for some can be read once. None for what is no list.
    """
    if is_document(value) or not isinstance(value, Sequence) or isinstance(value, str):
        return None
    whole = cast("Sequence[object]", value)
    items: list[object] = []
    for item in whole:
        opened = _opened(item)
        if not _is_block(opened.value):
            items.append(item if opened.value is item else opened)
            break
        items.append(opened.value)
    if all(item is other for item, other in zip(items, whole, strict=False)):
        return whole  # It may be a range without an end.
    return [*items, *whole[len(items) :]]


def _has_blocks_alone(items: Sequence[object]) -> bool:
    """Whether a list holds texts and documents, and more than strings."""
    has_more = any(not (item is None or isinstance(item, str)) for item in items)
    return has_more and all(map(_is_block, items))


def _is_block(value: object) -> bool:
    return value is None or isinstance(value, str | Text) or is_document(value)


def _put_all(documents: Sequence[FoundDocument], stream: Stream) -> list[Document]:
    """Return the documents, stored; a file that stands there twice is read once."""
    must_hold(stream, (each.document for each in documents))
    stored_documents: dict[Document | Unstored, Document] = {}
    for each in documents:
        if each.document not in stored_documents:
            stored_documents[each.document] = stored(each.document, stream)
    return [stored_documents[each.document] for each in documents]


def _in_order(items: Sequence[Any], at: Mapping[int, Document]) -> tuple[Part, ...]:
    """Return the parts of a list; a document that was there before is told by its reference."""
    parts: list[Part] = []
    shown: set[Document] = set()
    for each in items:
        document = at.get(id(each))
        if document is not None and document not in shown:
            shown.add(document)
            parts.append(document)
        elif each:
            parts += _words(each)
    return tuple(parts)


def _words(value: Any) -> tuple[Text, ...]:
    if value is None or value == "":
        return ()
    return (Text(text=value if isinstance(value, str) else jsontext.write(value).decode()),)


# What a tool gave on its way into the log: its result, and the documents that were found in it.

logger = logging.getLogger("onrecord")

_CALL: Final = "tool_call.recorded"


def give_result(
    stream: Stream,
    call_id: str,
    content: object,
    *,
    is_error: bool = False,
    metadata: Mapping[str, str] = NO_METADATA,
) -> ResultDone:
    """Record what a tool gave, and the documents in it; `metadata` goes into the header.

    InvalidInput where no record can hold it: then nothing is stored.
    """
    output = tool_output(content)

    def record() -> ResultDone:
        result, extracted = stored_result(stream, call_id, output, is_error=is_error)
        done = record_result(stream, result, extracted, metadata=metadata)
        if isinstance(done, Recorded | Unmatched):
            summarise(call_id, extracted)
        return done

    return stored_again(record)


def stored_result(
    stream: Stream, call_id: str, output: ToolOutput, *, is_error: bool = False
) -> tuple[ToolResultRecorded, tuple[DocumentExtracted, ...]]:
    """Return what a tool gave as events, its documents stored."""
    is_error = is_error or output.is_error
    conversation.give_result(stream.known_head(), call_id, ())
    parts = output.stored(stream)
    (result,) = conversation.give_result(
        stream.known_head(), call_id, parts.parts, is_error=is_error, is_json=parts.is_json
    )
    return result, _extracted(stream, call_id, parts)


def _extracted(stream: Stream, call_id: str, result: Stored) -> tuple[DocumentExtracted, ...]:
    if not result.documents:
        return ()
    name = _called_name(stream, call_id)
    return tuple(
        DocumentExtracted(document=document, call_id=call_id, tool_name=name, path=path)
        for document, path in result.documents
    )


def _called_name(stream: Stream, call_id: str) -> str | None:
    """Return the caller's own name of the tool that a call is of; None where it is not known.

    Of the calls of an id it is the one that awaits its result, else the last of the conversation,
    or of what that was forked from.
    """
    head = stream.head()
    if head.version == 0:
        return None
    segments = stream.lineage(head.version, head)
    awaited = {call.id: call.name for call in awaited_calls(stream.backend, segments, head)}
    if call_id in awaited:
        return awaited[call_id]
    for recorded in backwards(stream.backend, stream.lineages().whole(head.version)):
        event = recorded.event() if recorded.type == _CALL else None
        if isinstance(event, ToolCallRecorded) and event.call_id == call_id:
            return names_in_force(stream.backend, segments).get(event.name, event.name)
    return None


def summarise(call_id: str, extracted: Sequence[DocumentExtracted]) -> None:
    """Log how many documents of which types a result held, if any."""
    if not extracted:
        return
    types = Counter(document.document.media_type for document in extracted)
    logger.info(
        "%d documents were found in the result of call %s: %s",
        len(extracted),
        call_id,
        ", ".join(f"{count} of {media_type}" for media_type, count in sorted(types.items())),
    )
