"""The blocks of an assistant's message, and the events that record them."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast
from uuid import UUID

from onrecord.domain import content, jsontext
from onrecord.domain.blobs import blob_of, spill
from onrecord.domain.content import Blob, Document, Native, ServerToolResult
from onrecord.domain.events import (
    CompactionRecorded,
    DocumentExtracted,
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of, outcome_of


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """A whole block: its place in the response, and its JSON as it came.

    `call` is the id under which a call, or a result, is recorded where its JSON has none.
    """

    index: int
    value: JsonObject
    call: str | None = None


Recording: TypeAlias = tuple[tuple[Event, ...], dict[str, bytes]]
"""Events, and by digest the blobs that they refer to: store these first."""


@dataclass(frozen=True, slots=True)
class BlockContext:
    """A block of an assistant's message, and where it belongs; its methods are the events of it.

    `value` is its JSON as it came, `content` the native form of that. `awaited` says whether
    results of the message's calls are; `ran` are the ids of calls that the provider itself ran,
    though their own JSON does not say so. `call` is the id that the block is recorded under, as a
    call or a result, if its JSON has none.
    """

    value: JsonObject
    content: Native
    response: UUID
    index: int
    line: UUID | None = None
    awaited: bool = True
    ran: frozenset[str] = frozenset()
    call: str | None = None

    def message(self) -> MessageRecorded:
        """Return the event of what the model says."""
        return MessageRecorded(
            role="assistant",
            content=(self.content,),
            response=self.response,
            index=self.index,
            line=self.line,
        )

    def reasoning(self) -> ReasoningRecorded:
        """Return the event of what the model thought."""
        return ReasoningRecorded(
            response=self.response, index=self.index, content=self.content, line=self.line
        )

    def compaction(self) -> CompactionRecorded:
        """Return the event of a summary that takes the place of what was said before."""
        return CompactionRecorded(
            response=self.response, index=self.index, content=self.content, line=self.line
        )

    def tool_call(self, call_id: str, name: str) -> ToolCallRecorded:
        """Return the event of a call of the caller's tool."""
        return ToolCallRecorded(
            response=self.response,
            index=self.index,
            call_id=call_id,
            name=name,
            content=self.content,
            awaited=self.awaited and call_id not in self.ran,
            line=self.line,
        )

    def server_tool_call(self, call_id: str, name: str) -> ServerToolCallRecorded:
        """Return the event of a call of the provider's own tool."""
        return ServerToolCallRecorded(
            response=self.response,
            index=self.index,
            call_id=call_id,
            name=name,
            content=self.content,
            line=self.line,
        )

    def server_tool_result(self, call_id: str) -> ServerToolResultRecorded:
        """Return the event of what the provider's own tool gave."""
        return ServerToolResultRecorded(
            response=self.response,
            index=self.index,
            call_id=call_id,
            content=self.content,
            line=self.line,
        )

    def opaque(self, kind: object) -> OpaqueRecorded:
        """Return the event of a block that has no other; `kind` is its type, if it has one."""
        return OpaqueRecorded(
            response=self.response,
            index=self.index,
            type=kind if isinstance(kind, str) else "",
            content=self.content,
            line=self.line,
        )


def calls_of(message: JsonObject) -> list[JsonObject] | None:
    """Return the `tool_calls` of a message, none if there are none; None if they are no calls."""
    calls = message.get("tool_calls", [])
    if calls is None:
        return []
    if isinstance(calls, list) and all(isinstance(call, dict) for call in cast("list[Any]", calls)):
        return cast("list[JsonObject]", calls)
    return None


EventOf: TypeAlias = Callable[[BlockContext], Event]
"""Tells which event records a block."""


def recorded(
    blocks: Iterable[AnswerBlock],
    event_of: EventOf,
    api: str,
    response: UUID,
    line: UUID | None = None,
    *,
    awaited: bool = True,
    ran: frozenset[str] = frozenset(),
) -> Recording:
    """Return one event a block, its long strings moved to blobs; after it the pictures in it."""

    def record(
        block: AnswerBlock, pictured: Mapping[str, bytes] | None = None
    ) -> tuple[Event, dict[str, bytes]]:
        value, blobs = spill(block.value, pictured)
        content = Native(api=api, value=value)
        context = BlockContext(
            block.value, content, response, block.index, line, awaited, ran, block.call
        )
        return event_of(context), blobs

    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    pictures = Pictures(api)
    for block in blocks:
        event, blobs = record(block)
        if shown := pictures.of(event, block.value):
            event, blobs = record(block, decoded(shown))
            blobs.update((blob.sha256, data) for blob, data in map(_stored, shown))
        events += [event, *(picture.event for picture in shown)]
        spilled.update(blobs)
    return tuple(events), spilled


def _stored(picture: Picture) -> tuple[Blob, bytes]:
    return blob_of(picture.data), picture.data


# Pictures that a provider's own tool made: documents beside the block that holds them.
#
# Other APIs do not read that block; they read the picture.

_ENDINGS: Final[Mapping[str, str]] = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
}
"""Types of pictures to the endings of their names."""

_TELLING: Final = frozenset({"text", "content"})
"""Members of blocks that say something in words: they are no pictures."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: the event that records it, its bytes, and the base64 in which the block has it."""

    event: DocumentExtracted
    data: bytes
    encoded: str


@dataclass(slots=True)
class Pictures:
    """The pictures of one answer, numbered from 0: ask for those of each block in order."""

    api: str
    _count: int = 0
    _calls: dict[str, str] = field(default_factory=dict[str, str])

    def of(self, event: Event, value: JsonObject) -> list[Picture]:
        """Return the pictures of a block that `event` records; `value` is its JSON, whole.

        A picture that stands in the answer itself is of the last tool that was called there, or the
        model's own.
        """
        call: str | None
        match event:
            case ServerToolCallRecorded():
                call = event.call_id
                self._calls[call] = event.name
                documents = _documents(outcome_of(self.api, value))
            case ServerToolResultRecorded():
                call = event.call_id
                documents = _documents(neutral_of(self.api, value))
            case MessageRecorded() if _TELLING.isdisjoint(value):
                call = next(reversed(self._calls), None)
                documents = _documents(neutral_of(self.api, value))
            case _:
                return []
        pictures = (self._picture(each, call, event.line) for each in documents)
        return [picture for picture in pictures if picture is not None]

    def _picture(self, document: Document, call: str | None, line: UUID | None) -> Picture | None:
        encoded = _base64_of(document)
        data = None if encoded is None else _decoded(encoded)
        if encoded is None or not data:
            return None
        ending = _ENDINGS.get(document.media_type, "img")
        picture = Document(
            media_type=document.media_type,
            name=document.name or f"image_{self._count}.{ending}",
            blob=blob_of(data),
        )
        self._count += 1
        name = None if call is None else self._calls.get(call)
        event = DocumentExtracted(
            document=picture, call_id=call, tool_name=name, api=self.api, line=line
        )
        return Picture(event, data, encoded)


def decoded(pictures: Iterable[Picture]) -> dict[str, bytes]:
    """Return the bytes of those pictures whose base64 is the standard one, by that."""
    return {
        picture.encoded: picture.data
        for picture in pictures
        if base64.b64encode(picture.data).decode() == picture.encoded
    }


def _documents(block: content.NeutralBlock | None) -> list[Document]:
    match block:
        case Document():
            return [block]
        case ServerToolResult(content=parts):
            return [part for part in parts if isinstance(part, Document)]
        case _:
            return []


def _base64_of(document: Document) -> str | None:
    """Return the base64 of a picture that is given as a `data:` URL (RFC 2397)."""
    begin = f"data:{document.media_type};base64,"
    if not document.media_type.startswith("image/") or not (document.url or "").startswith(begin):
        return None
    return (document.url or "").removeprefix(begin)


def _decoded(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None


# Ids for the calls of one answer that have none on the wire, and the calls that results are of.
#
# Gemini's Developer API and Ollama name a call by its function alone; what is recorded needs an
# id. It is derived from the call, so that an answer and a later request that repeats it give the
# same one.

_DIGITS: Final = 12


class UnnamedCalls:
    """The calls that a model made in one turn, in order: one value a turn.

    An id is the function's name and 12 hex digits of the SHA-256 of name and arguments, as canonical
    JSON; the second call that is equal ends in `-2`, and so on. A result without an id is of the
    first call of its name that has no result yet.
    """

    __slots__ = ("_ids", "_open")

    def __init__(self) -> None:
        """Begin with no call."""
        self._ids: set[str] = set()
        self._open: dict[str, str] = {}

    def call(self, name: str, arguments: Any, own: str | None = None) -> str:
        """Return the id of the next call: its own, if the wire has one."""
        call_id = own or self._derived(name, arguments)
        self._ids.add(call_id)
        self._open[call_id] = name
        return call_id

    def result(self, name: str | None, own: str | None = None) -> str | None:
        """Return the id of the call that the next result is of; None where none awaits it.

        Without a name it is of the first call that has no result.
        """
        call_id = own or next(
            (open_id for open_id, open_name in self._open.items() if name in (None, open_name)),
            None,
        )
        if call_id is not None:
            self._open.pop(call_id, None)
        return call_id

    def _derived(self, name: str, arguments: Any) -> str:
        called = jsontext.write_canonical([name, {} if arguments is None else arguments])
        first = f"{name}-{hashlib.sha256(called).hexdigest()[:_DIGITS]}"
        call_id, count = first, 1
        while call_id in self._ids:
            count += 1
            call_id = f"{first}-{count}"
        return call_id
