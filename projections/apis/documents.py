"""The documents of a request: where they go, and the words before them, or in place of them.

What stands before a document has one of the two forms of Camunda's agent connectors: `short-id` as
first described, `doc-reference` as released. Attributes have a fixed order; what is blank or not
known is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from html import escape
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, cast

from onrecord.domain.content import Blob, Document
from onrecord.domain.documents import Modality, document_id, modality_of, short_id
from onrecord.domain.errors import UnsupportedDocument
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.new_events import blobs_of
from onrecord.projections.apis.capabilities import Capabilities, capabilities_of
from onrecord.projections.apis.request import Options, Route, Where
from onrecord.projections.history.held_documents import is_remote
from onrecord.projections.history.history import Block, History
from onrecord.projections.history.responses import Place

Form: TypeAlias = Literal["short-id", "doc-reference"]
"""The name of a form of tags."""

PREAMBLE: Final = "Documents extracted from tool call results:"
_PREAMBLES: Final = {
    "short-id": PREAMBLE,
    "doc-reference": "Documents extracted from tool calls (<doc /> tag + content pair):",
}
_OF_SIGNALS: Final = "Documents extracted from event data (<doc /> tag + content pair):"

_WEB: Final = ("https://", "http://")
_STORE: Final = "onrecord"

# What XML 1.0 has no place for (W3C, "Extensible Markup Language", production 2).
_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def preamble(form: Form) -> str:
    """Return what stands before the documents of a round's results."""
    return _PREAMBLES[form]


def preamble_of_signal(form: Form) -> str | None:
    """Return what stands before the documents of a signal, if anything does."""
    return _OF_SIGNALS if form == "doc-reference" else None


def tag_of(block: Block, document: Document, form: Form = "short-id") -> str:
    """Return the tag that stands before a document: the tool, its call, which document it is."""
    if form == "short-id":
        return _tag("document", _short(block, document))
    return _tag("doc", _reference(block, document))


def texts_before(
    block: Block, document: Document, form: Form, before: Block | None = None
) -> list[str]:
    """Return the texts that stand before a document that is a block of its own.

    `before` is the block that comes before it: only the first document of a signal has a preamble.
    """
    tag = tag_of(block, document, form)
    if before is not None and before.mark == "document" and before.place == block.place:
        return [tag]
    opening = preamble_of_signal(form) if block.signal else preamble(form)
    return [opening, tag] if opening and (block.signal or block.call_id) else [tag]


def words_for(document: Document) -> str:
    """Return what is said in place of a document that cannot go.

    An address of the web is told: a tool of the model's may read it, and a result may hold no more.
    """
    name = f" {document.name}" if document.name else ""
    url = document.url or ""
    place = f" at {url}" if url.lower().startswith(_WEB) else ""
    return f"[The document{name} ({document.media_type}){place} cannot be shown here.]"


def _short(block: Block, document: Document) -> dict[str, str | None]:
    blob = document.blob
    return {
        "tool-name": block.name,
        "tool-call-id": block.call_id,
        "document-short-id": short_id(document_id(blob.sha256)) if blob else None,
        "filename": document.name,
    }


def _reference(block: Block, document: Document) -> dict[str, str | None]:
    """Return the attributes of the later form; of what another server holds, its address."""
    call = {"toolName": block.name, "toolCallId": block.call_id}
    if document.blob is not None:
        stored = {"documentId": document_id(document.blob.sha256), "storeId": _STORE}
        return {**call, **stored, "contentType": document.media_type, "fileName": document.name}
    if is_remote(document):
        return {**call, "url": document.url, "name": document.name}
    return dict(call)


def _tag(name: str, attributes: dict[str, str | None]) -> str:
    pairs = (
        f'{attribute}="{_escaped(value)}" '
        for attribute, value in attributes.items()
        if value and value.strip()
    )
    return f"<{name} {''.join(pairs)}/>"


def _escaped(value: str) -> str:
    """Return a value as XML has it in quotes; the ampersand goes first, or it would go twice."""
    return escape(_ILLEGAL.sub("", value)).replace("&#x27;", "&apos;")


# The documents of a round's results that follow them, behind a preamble, each behind its tag.

PartT = TypeVar("PartT")


class Behind(Generic[PartT]):
    """What follows the results of one round; add its documents in the order of the calls.

    `parts` is all of it, as the API spells texts and documents; empty where nothing follows.
    `blocks` are the results that they are of, one a part.
    """

    def __init__(
        self, form: Form, text: Callable[[str], PartT], as_sent: Callable[[Block], Block]
    ) -> None:
        """Collect for one round; `text` makes a part of a text, `as_sent` is the draft's."""
        self.parts: list[PartT] = []
        self.blocks: list[Block] = []
        self._form: Form = form
        self._text = text
        self._as_sent = as_sent

    def add(self, block: Block, document: Document, part: PartT) -> str:
        """Add a document of a result; return its tag, which stands in its place there."""
        tag = tag_of(self._as_sent(block), document, self._form)
        before = [tag] if self.parts else [preamble(self._form), tag]
        self.parts += [*map(self._text, before), part]
        self.blocks += [block] * (len(before) + 1)
        return tag


# Where documents go: where they stand, in the user's message behind a result, or in words.
#
# What an API and a model take is data (projections/apis/capabilities.py); that a document of a
# kind they take cannot be spelled after all (a TIFF among images, bytes that are no text) its API
# tells.

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
            why = _unspelled(document)
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
        why = why or _unspelled(document)
        if self._is_asked_about(block):
            raise self._unsupported(block, document, why)
        self._note(block, document, holder, "words", why)
        return None

    def _unsupported(self, block: Block, document: Document, why: str) -> UnsupportedDocument:
        api, able = self._options.api, tuple(sorted(self._takes.user))
        kind = modality_of(document.media_type)
        details = (api, self.model, kind, document.media_type, able, block.version, why)
        has_address = is_remote(document)
        return UnsupportedDocument(*details, name=document.name, is_remote=has_address)

    def _is_asked_about(self, block: Block) -> bool:
        """Whether the user, or a signal, shows a document that nobody has seen yet.

        What a tool gave is none of these, also where it goes as the user's, late or on its own.
        """
        is_document = block.plain["kind"] == "document" and block.made_by is None
        return is_document and block.call_id is None and block.place in self._unanswered

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


def _unspelled(document: Document) -> str:
    if is_remote(document):
        return "is given by an address, and only its bytes are taken"
    return "cannot be spelled"


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
