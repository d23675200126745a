"""Where documents go: where they stand, in the user's message behind a result, or in words.

What an API and a model take is data (projections/apis/capabilities.py); that a document of a kind they
take cannot be spelled after all (a TIFF among images, bytes that are no text) its API tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final, Literal, TypeVar, cast

from onrecord.domain.content import Blob, Document
from onrecord.domain.documents import Modality, modality_of
from onrecord.domain.errors import UnsupportedDocument
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.new_events import blobs_of
from onrecord.projections.apis.capabilities import Capabilities, capabilities_of
from onrecord.projections.apis.request import Options, Route, Where
from onrecord.projections.history.held_documents import is_remote
from onrecord.projections.history.history import Block, History
from onrecord.projections.history.responses import Place

EncodedT = TypeVar("EncodedT")

LARGEST: Final = 100 * 1024 * 1024
"""No API takes a larger document within a request, in bytes; it is not even read."""

_Holder = Literal["message", "result"]


class Router:
    """Decides for the documents of one request, and keeps what it decided."""

    def __init__(self, history: History, options: Options) -> None:
        """Decide for the model that is to read a history."""
        self.routes: list[Route] = []
        self._history = history
        self._options = options

    @cached_property
    def model(self) -> str | None:
        """The model that is to read the request; None: nobody told."""
        return model_read_by(self._history, self._options)

    @cached_property
    def _takes(self) -> Capabilities:
        return takes_of(self._history, self._options)

    @cached_property
    def _unanswered(self) -> frozenset[Place]:
        return _unanswered(self._history)

    def reads(self, modality: Modality) -> bool:
        """Whether a user's message may hold documents of a modality."""
        return modality in self._takes.user

    def reads_in_results(self, modality: Modality) -> bool:
        """Whether a tool's result may hold documents of a modality."""
        return modality in self._takes.tool_result

    def in_result(
        self,
        block: Block,
        document: Document,
        encode: Callable[[Document], EncodedT | None],
        encode_behind: Callable[[Document], EncodedT | None] | None = None,
    ) -> tuple[Where, EncodedT | None]:
        """Return where a document of a result goes, and its spelling; None where it goes in words.

        `inline` is in the result itself, `behind` in the user's message that follows its round.
        `encode_behind` is given where that is another spelling: what cannot be spelled in the result
        may go behind it.
        """
        modality = modality_of(document.media_type)
        inline, behind = modality in self._takes.tool_result, modality in self._takes.user
        why = _objection(self._takes, document) if inline or behind else "is not taken"
        if why is None:
            why = "cannot be spelled"
            if inline and (encoded := encode(document)) is not None:
                self._note(block, document, "result", "inline", "is taken")
                return "inline", encoded
            if not inline or encode_behind is not None:
                encoded = (encode_behind or encode)(document) if behind else None
                if encoded is not None:
                    self._note(block, document, "result", "behind", "is taken")
                    return "behind", encoded
        self._note(block, document, "result", "words", why)
        return "words", None

    def in_message(
        self, block: Block, document: Document, encode: Callable[[Document], EncodedT | None]
    ) -> EncodedT | None:
        """Return the spelling of a document in a message; None where it goes in words.

        UnsupportedDocument where a document that was given to the record cannot go and nobody
        answered yet: the model would be asked about what it does not see. What a model has answered
        goes in words, and so does what was recorded on another API's wire: it can go on anywhere.
        """
        modality = modality_of(document.media_type)
        holder: _Holder = "message" if block.call_id is None else "result"
        why = _objection(self._takes, document) if self.reads(modality) else "is not taken"
        encoded = encode(document) if why is None else None
        if encoded is not None:
            self._note(block, document, holder, "inline", "is taken")
            return encoded
        why = why or "cannot be spelled"
        if self._is_asked_about(block):
            raise self._unsupported(block, document, why)
        self._note(block, document, holder, "words", why)
        return None

    def _unsupported(self, block: Block, document: Document, why: str) -> UnsupportedDocument:
        return UnsupportedDocument(
            self._options.api,
            self.model,
            modality_of(document.media_type),
            document.media_type,
            tuple(sorted(self._takes.user)),
            block.version,
            why,
        )

    def _is_asked_about(self, block: Block) -> bool:
        """Whether the user, or a signal, shows a document that nobody has seen yet.

        What a tool gave is none of these, also where it goes as the user's, late or on its own.
        """
        is_given = block.plain["kind"] == "document" and block.made_by is None
        return is_given and block.call_id is None and block.place in self._unanswered

    def _note(
        self, block: Block, document: Document, holder: _Holder, where: Where, why: str
    ) -> None:
        self.routes.append(
            Route(
                version=block.version,
                media_type=document.media_type,
                modality=modality_of(document.media_type),
                holder=holder,
                where=where,
                why=why,
                row=self._takes.row,
            )
        )


def model_read_by(history: History, options: Options) -> str | None:
    """Return the model that is to read a request; None: nobody told.

    It is the one that is wished, or that answered last through the API, or was asked last.
    """
    responses, api = history.responses, options.api
    return options.model or responses.last_model(api) or responses.last_asked(api)


def takes_of(history: History, options: Options) -> Capabilities:
    """Return what the model takes that is to read a request."""
    return capabilities_of(options.api, model_read_by(history, options), options)


def is_read(takes: Capabilities, media_type: str, size: int) -> bool:
    """Whether a document of some bytes goes to a model at all; if not, nobody needs its bytes."""
    modality = modality_of(media_type)
    return modality in takes.user | takes.tool_result and size <= largest(takes, modality)


def largest(takes: Capabilities, modality: Modality) -> int:
    """Return the size, in bytes, of the largest document of a modality that goes."""
    return min(takes.largest(modality) or LARGEST, LARGEST)


def size_of(document: Document) -> int | None:
    """Return how many bytes a document has that go with the request; None where a server has it."""
    if document.blob is not None:
        return document.blob.size
    if is_remote(document) or document.url is None:
        return None
    return len(document.url) * 3 // 4


def _objection(takes: Capabilities, document: Document) -> str | None:
    """Return why a document of a modality that is taken does not go, for its size."""
    size = size_of(document)
    most = largest(takes, modality_of(document.media_type))
    if size is None or size <= most:
        return None
    return f"has {size:,} bytes, and {most:,} are taken at most"


def _unanswered(history: History) -> frozenset[Place]:
    """Return what stands behind the last answer."""
    places: set[Place] = set()
    for turn in reversed(history.turns):
        if turn.role == "assistant":
            break
        places.update(block.place for block in turn.blocks)
    return frozenset(places)


# Which blobs a request needs.

_WITH_DOCUMENTS: Final = frozenset({"document", "tool_result"})


def needed_blobs(history: History, options: Options) -> tuple[Blob, ...]:
    """Return the blobs that rendering a history reads, each once.

    Not those of documents that the model does not take, or not of that size: they go in words.
    """
    blobs = {
        blob: None
        for event in (history.instructions, history.tools)
        if event is not None
        for blob in blobs_of(event)
    }
    documents: dict[tuple[str, Blob], None] = {}
    for turn in history.turns:
        for block in turn.blocks:
            plain = block.plain
            if plain["kind"] in _WITH_DOCUMENTS:
                documents.update(dict.fromkeys(_documents(plain)))
            elif block.spilled and plain["kind"] == "native":
                blobs.update(dict.fromkeys(_spilled(plain["value"])))
    if documents:
        takes = takes_of(history, options)
        read = (blob for kind, blob in documents if is_read(takes, kind, blob.size))
        blobs.update(dict.fromkeys(read))
    return tuple(blobs)


def _documents(content: JsonObject) -> Iterator[tuple[str, Blob]]:
    """Yield the media types and the blobs of a document, or of those in a result."""
    match content:
        case {
            "kind": "document",
            "media_type": str() as kind,
            "blob": {"sha256": str() as digest, "size": int() as size},
        }:
            yield kind, Blob(sha256=digest, size=size)
        case {"kind": "tool_result", "content": parts}:
            for part in cast("list[JsonObject]", parts):
                if part["kind"] == "document":
                    yield from _documents(part)
        case _:
            return


def _spilled(value: Any) -> Iterator[Blob]:
    match value:
        case {"$onrecord.blob": str() as digest, "size": int() as size}:
            yield Blob(sha256=digest, size=size)
        case dict():
            for member in cast("dict[str, Any]", value).values():
                yield from _spilled(member)
        case list():
            for member in cast("list[Any]", value):
                yield from _spilled(member)
        case _:
            return
