"""What a model saw, for showing: the request at a version, block by block, and what is not in it; pure."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, cast
from uuid import UUID

from onrecord.adapters.page.requests.document_view import (
    DocumentView,
    document_view,
    reason_of,
    sources_of,
)
from onrecord.domain.log import RecordedEvent
from onrecord.projections.api import known_api
from onrecord.projections.apis.request import Request
from onrecord.projections.history.held_documents import HeldDocument
from onrecord.projections.history.history import Note
from onrecord.projections.history.responses import Place
from onrecord.projections.history.timeline import Timeline
from onrecord.projections.matching.message_pieces import Piece, id_of, message_pieces
from onrecord.projections.matching.request_diff import RequestContent
from onrecord.projections.matching.request_origins import Origin, origins

_LONGEST: Final = 20_000
_LONGEST_LINE: Final = 200
_LONGEST_MEMBER: Final = 400
_MOST_LINES: Final = 50

_SYSTEM: Final = ("system", "instructions", "systemInstruction")

_SAYING: Final = frozenset(
    {
        *("message.recorded", "reasoning.recorded", "tool_call.recorded", "tool_result.recorded"),
        *("tool_result.rejected", "signal.received", "server_tool_call.recorded"),
        *("server_tool_result.recorded", "compaction.recorded", "opaque.recorded"),
        *("history.compacted", "item.recorded"),
    }
)
"""The events that say something to a model."""


@dataclass(frozen=True, slots=True)
class OriginView:
    """The event that something came from; `is_own` is False where a fork's origin has it."""

    version: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class NoteView:
    """A note of the report, and the event that it is about.

    `version` is None where it is about the whole. `origin` is None too where a fork and its origin both
    have an event of that version: a report names no conversation.
    """

    deed: str
    why: str
    rule: str
    version: int | None
    origin: OriginView | None


@dataclass(frozen=True, slots=True)
class PieceView:
    """A block of a message: what it is, what it says, and the events that it came from.

    `cut` counts the characters of the text that are not shown. `notes` are what the report says of
    these events.
    """

    kind: str
    title: str
    text: str
    cut: int
    origins: tuple[OriginView, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message of a request."""

    role: str
    pieces: tuple[PieceView, ...]


@dataclass(frozen=True, slots=True)
class ToolView:
    """A tool that a request offers, as the API has it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class AbsentEvents:
    """Events in a row that are not in the request for the same reason.

    `texts` has the version of each, what it is and what it says; of many, the last ones alone.
    """

    first: int
    last: int
    is_own: bool
    count: int
    why: str
    notes: tuple[Note, ...]
    texts: tuple[tuple[int, str, str], ...]


@dataclass(frozen=True, slots=True)
class RequestView:
    """The request at a version, as a page shows it."""

    api: str
    at: int
    size: int
    system: str
    tools: tuple[ToolView, ...]
    messages: tuple[MessageView, ...]
    notes: tuple[NoteView, ...]
    documents: tuple[DocumentView, ...]
    absent: tuple[AbsentEvents, ...]
    own_members: tuple[tuple[str, str], ...]

    @property
    def blocks(self) -> int:
        """How many blocks the messages have."""
        return sum(len(message.pieces) for message in self.messages)


def request_view(
    request: Request,
    content: RequestContent,
    recorded: Iterable[RecordedEvent] = (),
    documents: Iterable[HeldDocument] = (),
) -> RequestView:
    """Return what a request shows.

    `content` is what it is made of, `recorded` the events up to its version, a fork's origin's too;
    `documents` are all that the conversation has, later ones too.
    """
    body, api = dict(request.body), known_api(request.api)
    by_place: dict[Place, RecordedEvent] = {
        (event.conversation_id, event.version): event for event in recorded
    }
    present = content.blocks()
    sources = sources_of(by_place, present)
    return RequestView(
        api=request.api,
        at=content.version,
        size=sum(map(len, request.body_parts().values())),
        system="\n\n".join(_texts(next((body[name] for name in _SYSTEM if name in body), ""))),
        tools=tuple(_tools(body.get("tools") or body.get("toolConfig", {}).get("tools") or ())),
        messages=tuple(_messages(request, content, present)),
        notes=tuple(_notes(content, by_place or present)),
        documents=tuple(document_view(each, sources, content) for each in documents),
        absent=tuple(_absent(by_place, present, content)),
        own_members=tuple(
            (name, _json(value))
            for name, value in body.items()
            if name not in {*_SYSTEM, "tools", "toolConfig", api.messages}
        ),
    )


# What goes.


def _messages(
    request: Request, content: RequestContent, present: Iterable[Place]
) -> Iterator[MessageView]:
    pieces = message_pieces(request.body[known_api(request.api).messages])
    found = origins(pieces, content.history)
    notes = content.notes(present)
    for _, group in groupby(found, lambda origin: origin.piece.message):
        of_message = list(group)
        shown = (_piece(origin, content.conversation, notes) for origin in of_message)
        yield MessageView(of_message[0].piece.role, tuple(shown))


def _piece(
    origin: Origin, conversation: UUID, notes: Mapping[Place, tuple[Note, ...]]
) -> PieceView:
    text = _text_of(origin.piece)
    said = (note for place in origin.places for note in notes.get(place, ()))
    return PieceView(
        kind=origin.piece.kind,
        title=_title(origin.piece),
        text=text[:_LONGEST],
        cut=max(0, len(text) - _LONGEST),
        origins=tuple(_origin(place, conversation) for place in origin.places),
        notes=tuple(dict.fromkeys(said)),
    )


def _origin(place: Place, conversation: UUID) -> OriginView:
    return OriginView(place[1], place[0] in (None, conversation))


def _title(piece: Piece) -> str:
    """Return the name of the tool that a call is of, or the id of the call that a result answers."""
    if piece.kind == "call":
        return next(_names(piece.value), "")
    return id_of(piece.value) or "" if piece.kind == "result" else ""


def _text_of(piece: Piece) -> str:
    match piece.value:
        case str() as text if piece.kind != "document":
            return text
        case {"text": str() as text} if piece.kind in ("text", "reasoning"):
            return text
        case {"thinking": str() as text}:
            return text
        case _:
            return _json(piece.value)


def _tools(tools: Iterable[Any]) -> Iterator[ToolView]:
    for tool in tools:
        names = list(_names(tool)) or [str(next(iter(tool.values()), ""))]
        yield ToolView(", ".join(dict.fromkeys(names)), _json(tool))


def _names(value: Any) -> Iterator[str]:
    """Yield the names in an object, the outermost ones only."""
    match value:
        case {"name": str() as text}:
            yield text
        case dict():
            for item in cast("dict[str, Any]", value).values():
                yield from _names(item)
        case list():
            for item in cast("list[Any]", value):
                yield from _names(item)
        case _:
            return


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str() if value:
            yield value
        case {"text": str() as text}:
            yield text
        case {"parts": parts}:
            yield from _texts(parts)
        case list():
            for part in cast("list[Any]", value):
                yield from _texts(part)
        case _:
            return


def _json(value: Any) -> str:
    """Return JSON with its long strings shortened, such as the bytes of documents."""
    return json.dumps(_shortened(value), indent=2, ensure_ascii=False)


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > _LONGEST_MEMBER and value.isascii() and " " not in value[:200]:
            return f"{value[:48]}… ({len(value):,} characters)"
        case dict():
            members = cast("dict[str, Any]", value).items()
            return {name: _shortened(member) for name, member in members}
        case list():
            return [_shortened(item) for item in cast("list[Any]", value)]
        case bytes():
            return f"{len(value):,} bytes"
        case _:
            return value


def _notes(content: RequestContent, places: Iterable[Place]) -> Iterator[NoteView]:
    by_place = content.notes(places)
    found = {note: place for place, notes in by_place.items() for note in notes}
    for note in content.report:
        place = found.get(note)
        origin = None if place is None else _origin(place, content.conversation)
        yield NoteView(note.deed, note.why, note.rule, note.version, origin)


# What does not go.


def _absent(
    recorded: Mapping[Place, RecordedEvent], present: Container[Place], content: RequestContent
) -> Iterator[AbsentEvents]:
    notes = content.notes(recorded)
    absent = (
        (event, place[0], reason_of(event, content), notes.get(place, ()))
        for place, event in recorded.items()
        if event.type in _SAYING and place not in present
    )
    for (conversation, why, said), group in groupby(absent, lambda each: each[1:]):
        events = [event for event, *_ in group]
        yield AbsentEvents(
            first=events[0].version,
            last=events[-1].version,
            is_own=conversation == content.conversation,
            count=len(events),
            why=why,
            notes=said,
            texts=tuple((event.version, *line_of(event)) for event in events[-_MOST_LINES:]),
        )


def line_of(event: RecordedEvent) -> tuple[str, str]:
    """Return what an event is, and what it says in a line."""
    rows = list(Timeline(side_lines=True).rows(event))
    text = " ".join("; ".join(row.text for row in rows).split())
    shown = text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"
    return (rows[0].kind if rows else event.type), shown
