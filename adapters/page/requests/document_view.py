"""Whether a request has a document, and why or why not; pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from onrecord.adapters.page.requests.absent_events import reason_of
from onrecord.domain.documents import Modality
from onrecord.domain.errors import counted
from onrecord.domain.events import DocumentExtracted, ToolResultRecorded
from onrecord.domain.log import RecordedEvent
from onrecord.projections.apis.request import Route
from onrecord.projections.history.held_documents import HeldDocument
from onrecord.projections.history.responses import Place
from onrecord.projections.matching.request_diff import RequestContent

_KINDS: Final[Mapping[Modality, str]] = {
    "text": "texts",
    "image": "pictures",
    "document": "documents",
    "audio": "sound",
    "video": "videos",
}
_PDF: Final = "application/pdf"
_NOT_TAKEN: Final = "is not taken"
_SENT: Final = "Sent "


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document of the conversation: whether it is in the request, and why or why not.

    `rule` names the entry of the capabilities that decided. `is_later` says that the document was
    recorded after what the request is made of.
    """

    version: int
    is_own: bool
    name: str
    media_type: str
    is_seen: bool
    why: str
    rule: str
    is_later: bool = False

    @property
    def reason(self) -> str:
        """Why or why not, of a request that was not sent but would be."""
        return f"Would be s{self.why[1:]}" if self.why.startswith(_SENT) else self.why


@dataclass(frozen=True, slots=True)
class DocumentSources:
    """Where documents may come from: the events up to a request, those that it has, and results by call."""

    recorded: Mapping[Place, RecordedEvent]
    present: Container[Place]
    results: Mapping[tuple[UUID, str], Sequence[int]]


def sources_of(
    recorded: Mapping[Place, RecordedEvent], present: Container[Place]
) -> DocumentSources:
    """Return where documents may come from: `recorded` are the events, `present` those that a request has."""
    results: dict[tuple[UUID, str], list[int]] = {}
    for event in recorded.values():
        result = event.event() if event.type == "tool_result.recorded" else None
        if isinstance(result, ToolResultRecorded):
            results.setdefault((event.conversation_id, result.call_id), []).append(event.version)
    return DocumentSources(recorded, present, results)


def document_view(
    held: HeldDocument, sources: DocumentSources, content: RequestContent
) -> DocumentView:
    """Return where a document is in a request, or why it is not there."""
    is_seen, why, rule = _whereabouts(held, sources, content)
    return DocumentView(
        version=held.version,
        is_own=held.conversation_id == content.conversation,
        name=held.document.name or held.short_id or "",
        media_type=held.document.media_type,
        is_seen=is_seen,
        why=why,
        rule=rule,
        is_later=_is_later(held, content),
    )


def _is_later(held: HeldDocument, content: RequestContent) -> bool:
    return held.conversation_id == content.conversation and held.version > content.version


def _is_of(route: Route, held: HeldDocument, place: Place) -> bool:
    return (route.version, route.media_type) == (place[1], held.document.media_type)


def _holder(held: HeldDocument, sources: DocumentSources) -> Place:
    """Return where the event is that a request has a document from, such as the result it was found in."""
    place = (held.conversation_id, held.version)
    event = sources.recorded.get(place)
    extracted = None if event is None else event.event()
    if not isinstance(extracted, DocumentExtracted):
        return place
    if extracted.version is not None:
        return held.conversation_id, extracted.version
    versions = sources.results.get((held.conversation_id, held.call_id or ""), ())
    before = (version for version in versions if version < held.version)
    return held.conversation_id, max(before, default=held.version)


def _whereabouts(
    held: HeldDocument, sources: DocumentSources, content: RequestContent
) -> tuple[bool, str, str]:
    """Return whether a document goes, why, and the entry of the capabilities that decided."""
    if _is_later(held, content):
        later = counted(held.version - content.version, "version")
        return False, f"Recorded later: {later} after the request.", ""
    place = _holder(held, sources)
    if place not in sources.present:
        event = sources.recorded.get(place)
        return False, "Not read." if event is None else reason_of(event, content), ""
    routes = [each for each in content.report.routes if _is_of(each, held, place)]
    if not routes:
        return True, "Sent as it is.", ""
    route = routes[0]
    api, _, entry = route.row.partition(" ")
    rule = f"rule of {api if entry in ('', '*') else entry}"
    return route.where != "words", _way(route, api), rule


def _way(route: Route, api: str) -> str:
    """Return where a document goes, and why, in words."""
    kind = "PDFs" if route.media_type == _PDF else _KINDS[route.modality]
    if route.where == "inline":
        return f"Sent as it is: {api} takes {kind}."
    if route.where == "behind":
        return f"Sent behind the result that it came in: {api} takes {kind} in a user's message."
    why = f"{api} takes no {kind}" if route.why == _NOT_TAKEN else f"It {route.why}"
    return f"{why}; a sentence stands in its place."
