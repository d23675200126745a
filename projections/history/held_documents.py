"""The documents of a conversation: where each comes from, what it is, and which event holds it.

The events hold them as they came; this is read from them, so it gets better with each release.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Literal, TypeAlias
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import (
    Blob,
    Document,
    Native,
    NeutralBlock,
    ServerToolResult,
    ToolResult,
)
from onrecord.domain.documents import document_id, modality_of, short_id
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import Event
from onrecord.domain.log import Told
from onrecord.projections.api import neutral_of, outcome_of, parts_of
from onrecord.projections.history.amendments import amended
from onrecord.projections.history.tool_names import given_names

# The bytes of a document, wherever they are held.

INLINE: Final = "data:"


def is_remote(document: Document) -> bool:
    """Whether a document is given by the address of a server."""
    return document.url is not None and not document.url.startswith(INLINE)


def bytes_of(document: Document, blobs: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a document that is not remote; none where its URL holds none in base64.

    Raises CorruptRecord where they are not among `blobs`.
    """
    if document.url is not None:
        return _bytes_in(document.url)
    digest = document.blob.sha256 if document.blob else ""
    if digest not in blobs:
        raise CorruptRecord("the bytes of a document are missing")
    return blobs[digest]


def is_base64(text: str) -> bool:
    """Whether a text is standard base64 (RFC 4648), and nothing else."""
    try:
        b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def text_of(data: bytes) -> str | None:
    """Return the text that bytes hold; None where they are none, or blank."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.strip() else None


def told_in(document: Document, blobs: Mapping[str, bytes]) -> str | None:
    """Return the text of a document that is one, under its name; None for any other, or blank.

    Raises CorruptRecord where its bytes are not among `blobs`.
    """
    if is_remote(document) or modality_of(document.media_type) != "text":
        return None
    text = text_of(bytes_of(document, blobs))
    return f"{document.name}\n{text}" if text and document.name else text


def _bytes_in(url: str) -> bytes:
    """Return the bytes that a `data:` URL holds in base64 (RFC 2397); none where it does not."""
    about, _, data = url.partition(",")
    try:
        return b64decode(data) if about.endswith(";base64") else b""
    except ValueError:
        return b""


Origin: TypeAlias = Literal["user", "operator", "signal", "tool", "rejected", "provider"]
"""Whose document it is.

`tool` is a tool of the caller's, `rejected` a result that came when its call had one already;
`provider` is the model, or a tool that its provider runs.
"""

Whole: TypeAlias = Callable[[Native], Native]
"""Returns a block with the strings that were moved to blobs."""


@dataclass(frozen=True, slots=True)
class HeldDocument:
    """A document of a conversation; `version` is that of the event to redact to take it out.

    It counts in the conversation `conversation_id`: of what a fork goes on from, that is its origin.
    Of a tool's, `call_id` and `tool_name` say which call gave it, and `path` where in the result it
    was found (a JSON pointer, RFC 6901). `blob` is its digest and size; None at an address.
    """

    conversation_id: UUID
    version: int
    origin: Origin
    document: Document
    blob: Blob | None
    call_id: str | None = None
    tool_name: str | None = None
    path: str | None = None

    @property
    def short_id(self) -> str | None:
        """The id that requests and results show of it; None for one at an address."""
        return None if self.blob is None else short_id(document_id(self.blob.sha256))


def documents(recorded: Iterable[Told], whole: Whole) -> tuple[HeldDocument, ...]:
    """Return the documents of a main branch, from its events in order; none that was redacted."""
    items = list(recorded)
    hidden = amended(items).redactions
    fold = _Found(whole)
    for item in items:
        event = item.event() if item.type in _HOLDING else None
        if event is None or isinstance(event, Erased | Unrecognised) or event.line is not None:
            continue
        is_hidden = (item.conversation_id, item.version) in hidden
        fold.take(item, event, is_hidden=is_hidden)
    return tuple(fold.documents)


_HOLDING: Final = frozenset(
    {
        "tools.declared",
        "message.recorded",
        "signal.received",
        "tool_call.recorded",
        "tool_result.recorded",
        "tool_result.rejected",
        "server_tool_call.recorded",
        "server_tool_result.recorded",
        "document.extracted",
    }
)


class _Found:
    """The documents so far, and what names the tools that gave them."""

    def __init__(self, whole: Whole) -> None:
        self.documents: list[HeldDocument] = []
        self._whole = whole
        self._names: Mapping[str, str] = {}
        self._tools: dict[str, str] = {}
        # Where the documents of the last result begin, and the first that no event placed yet.
        self._result = self._next = 0

    def take(self, item: Told, event: Event, *, is_hidden: bool) -> None:
        """Take in an event; what was redacted names tools, but has no documents."""
        match event:
            case events.ToolsDeclared():
                self._names = given_names(event)
            case events.ToolCallRecorded() | events.ServerToolCallRecorded():
                self._tools[event.call_id] = self._names.get(event.name, event.name)
            case _:
                pass
        if isinstance(event, events.DocumentExtracted) and event.path is not None:
            self._place(item.version, event, is_hidden=is_hidden)
            return
        if isinstance(event, events.ToolResultRecorded):
            self._result = self._next = len(self.documents)
        if not is_hidden:
            self.documents += self._held(item, event)

    def _held(self, item: Told, event: Event) -> Iterator[HeldDocument]:
        origin, content, call_id = _told(event)
        name = event.tool_name if isinstance(event, events.DocumentExtracted) else None
        name = name or self._tools.get(call_id or "")
        within = (each for block in content for each in _within(block, self._whole))
        for document in dict.fromkeys(within) if call_id else within:
            if origin != "provider" or not _is_picture(document):
                yield HeldDocument(
                    conversation_id=item.conversation_id,
                    version=item.version,
                    origin=origin,
                    document=document,
                    blob=_blob_of(document),
                    call_id=call_id,
                    tool_name=name,
                )

    def _place(self, version: int, event: events.DocumentExtracted, *, is_hidden: bool) -> None:
        """Say of a document of the last result where it was found there, or take it out."""
        # As recorded here, they come in the order in which they stand in the result.
        in_order = range(self._next, len(self.documents))
        for at in chain(in_order, range(self._result, self._next)):
            document = self.documents[at]
            if document.document == event.document and document.path is None:
                name = event.tool_name or document.tool_name
                placed = replace(document, version=version, path=event.path, tool_name=name)
                self.documents[at : at + 1] = () if is_hidden else (placed,)
                self._next = at if is_hidden else at + 1
                return


def document_blobs(event: Event, whole: Whole) -> Iterator[Blob]:
    """Yield digest and size of the documents that an event holds; those at an address have none."""
    _, content, _ = _told(event)
    for block in content:
        for document in _within(block, whole):
            blob = _blob_of(document)
            if blob is not None:
                yield blob


def _within(block: NeutralBlock | Native, whole: Whole) -> Iterator[Document]:
    """Yield the documents of a block, or in it."""
    match block:
        case Document():
            yield block
        case ToolResult() | ServerToolResult():
            yield from (part for part in block.content if isinstance(part, Document))
        case Native():
            for read in _read(whole(block)):
                yield from _within(read, whole)
        case _:
            return


def _told(event: Event) -> tuple[Origin, tuple[NeutralBlock | Native, ...], str | None]:
    """Return whose documents an event may hold, the blocks that may hold them, and of which call."""
    match event:
        case events.MessageRecorded(role="assistant"):
            return "provider", event.content, None
        case events.MessageRecorded():
            return "user" if event.role == "user" else "operator", event.content, None
        case events.SignalReceived():
            return "signal", event.content, None
        case events.ToolResultRecorded():
            return "tool", (event.content,), event.call_id
        case events.ToolResultRejected():
            return "rejected", (event.content,), event.call_id
        case events.ServerToolCallRecorded() | events.ServerToolResultRecorded():
            return "provider", (event.content,), event.call_id
        case events.DocumentExtracted(api=None):
            return "tool" if event.call_id else "user", (event.document,), event.call_id
        case events.DocumentExtracted():
            return "provider", (event.document,), event.call_id
        case _:
            return "user", (), None


def _read(native: Native) -> Iterator[NeutralBlock]:
    """Yield what an API's JSON says, in neutral form."""
    parts = parts_of(native.api, native.value)
    yield from parts or (neutral_of(native.api, native.value),)
    outcome = outcome_of(native.api, native.value)
    if outcome is not None:
        yield outcome


def _is_picture(document: Document) -> bool:
    """Whether a document of a provider's own block is recorded by an event of its own as well."""
    return (document.url or "").startswith("data:image/")


def _blob_of(document: Document) -> Blob | None:
    if document.url is None:
        return document.blob
    data = b"" if is_remote(document) else bytes_of(document, {})
    return blob_of(data) if data else None
