"""What a model saw, for showing: the request at a version, and what is not in it; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, cast

from onrecord.adapters.page.requests.absent_events import AbsentEvents, absent_events
from onrecord.adapters.page.requests.block_views import (
    BlockStretch,
    OriginView,
    as_json,
    block_stretch,
    names_in,
    origin_view,
)
from onrecord.adapters.page.requests.document_view import (
    DocumentView,
    document_view,
    sources_of,
)
from onrecord.domain import jsontext
from onrecord.domain.log import RecordedEvent
from onrecord.projections.api import known_api
from onrecord.projections.apis.request import Request
from onrecord.projections.history.held_documents import HeldDocument
from onrecord.projections.history.responses import Place
from onrecord.projections.matching.request_diff import RequestContent

NOTES: Final = 200
"""The most notes of the report, and the most documents, that are shown."""

_SYSTEM: Final = ("system", "instructions", "systemInstruction")


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
class ToolView:
    """A tool that a request offers, as the API has it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Setters:
    """Where the instructions and the tools in force were declared; None where they were not."""

    instructions: Place | None = None
    tools: Place | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """What was read for a request.

    `recorded` are the events that were looked through for what is absent, `documents` those of the
    conversation, later ones too. `not_looked_through` counts the events before them. `is_end` says
    that only the end of the request was rendered. `redactions` are the versions at which events that
    the request may have were redacted later.
    """

    recorded: Iterable[RecordedEvent] = ()
    documents: Iterable[HeldDocument] = ()
    setters: Setters = Setters()
    not_looked_through: int = 0
    is_end: bool = False
    redactions: Mapping[Place, int] = field(default_factory=dict[Place, int])


@dataclass(frozen=True, slots=True)
class RequestView:
    """The request at a version, as a page shows it.

    `size` counts the bytes of the body as compact JSON, `sha256` is their digest. Where `is_end`, only the last exchanges were
    rendered, and all counts are of these. `not_looked_through` counts events in which nothing absent
    was looked for. `more_notes` and `more_documents` count what is not shown.
    """

    api: str
    at: int
    size: int
    sha256: str
    is_end: bool
    system: str
    system_origin: OriginView | None
    tools: tuple[ToolView, ...]
    tools_origin: OriginView | None
    blocks: BlockStretch
    notes: tuple[NoteView, ...]
    more_notes: int
    documents: tuple[DocumentView, ...]
    more_documents: int
    absent: tuple[AbsentEvents, ...]
    not_looked_through: int
    own_members: tuple[tuple[str, str], ...]

    @property
    def unseen(self) -> tuple[DocumentView, ...]:
        """The documents that were recorded when the request was made, and are not in it."""
        return tuple(each for each in self.documents if not (each.is_seen or each.is_later))

    @property
    def later(self) -> tuple[DocumentView, ...]:
        """The documents that were recorded after what the request is made of."""
        return tuple(each for each in self.documents if each.is_later)


def request_view(
    request: Request, content: RequestContent, read: Read, upto: int | None = None
) -> RequestView:
    """Return what a request shows, with its blocks up to a number.

    `content` is what it is made of.
    """
    body, api = dict(request.body), known_api(request.api)
    by_place: dict[Place, RecordedEvent] = {
        (event.conversation_id, event.version): event for event in read.recorded
    }
    present = content.blocks()
    sources = sources_of(by_place, present)
    notes = list(_notes(content, by_place or present, is_end=read.is_end))
    documents = [document_view(each, sources, content) for each in read.documents]
    return RequestView(
        api=request.api,
        at=content.version,
        size=len(jsontext.write(body)),
        sha256=digest_of(request),
        is_end=read.is_end,
        system="\n\n".join(_texts(next((body[name] for name in _SYSTEM if name in body), ""))),
        system_origin=_declared(read.setters.instructions, content, read),
        tools=tuple(_tools(body.get("tools") or body.get("toolConfig", {}).get("tools") or ())),
        tools_origin=_declared(read.setters.tools, content, read),
        blocks=block_stretch(request, content, content.notes(present), upto, read.redactions),
        notes=tuple(notes[-NOTES:]),
        more_notes=max(0, len(notes) - NOTES),
        documents=tuple(documents[-NOTES:]),
        more_documents=max(0, len(documents) - NOTES),
        absent=tuple(absent_events(by_place, present, content, read.redactions)),
        not_looked_through=read.not_looked_through,
        own_members=tuple(
            (name, as_json(value))
            for name, value in body.items()
            if name not in {*_SYSTEM, "tools", "toolConfig", api.messages}
        ),
    )


def digest_of(request: Request) -> str:
    """Return the SHA-256 of the body of a request as compact JSON."""
    return sha256(jsontext.write(dict(request.body))).hexdigest()


def _declared(place: Place | None, content: RequestContent, read: Read) -> OriginView | None:
    return None if place is None else origin_view(place, content.conversation, read.redactions)


def _tools(tools: Iterable[Any]) -> Iterator[ToolView]:
    for tool in tools:
        names = list(names_in(tool)) or [str(next(iter(tool.values()), ""))]
        yield ToolView(", ".join(dict.fromkeys(names)), as_json(tool))


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


def _notes(content: RequestContent, places: Iterable[Place], *, is_end: bool) -> Iterator[NoteView]:
    by_place = content.notes(places)
    place_of = {note: place for place, notes in by_place.items() for note in notes}
    for note in content.report:
        if is_end and note.rule == _WINDOW:
            continue
        place = place_of.get(note)
        origin = None if place is None else origin_view(place, content.conversation)
        yield NoteView(note.deed, note.why, note.rule, note.version, origin)


_WINDOW: Final = "window"
"""The rule of what a window leaves out: where only the end is rendered, the page says so itself."""
