"""What a conversation's page shows of its events: frozen values that a template lays out; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, TypeAlias
from uuid import UUID

from onrecord.domain.documents import essence_of
from onrecord.domain.events import ConversationForked, RequestSent, ToolsDeclared
from onrecord.domain.log import RecordedEvent
from onrecord.domain.tools import ApprovalDecided, ApprovalRequested
from onrecord.projections.history.held_documents import HeldDocument
from onrecord.projections.history.side_branches import WHY
from onrecord.projections.history.timeline import Row
from onrecord.projections.history.timeline_text import Mark

Look: TypeAlias = Literal["said", "folded", "call", "result", "record", "other"]
"""How a row is laid out."""

MARKS: Final[Mapping[Mark, str]] = {
    "error": "error",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "opaque": "not understood, kept as it came",
    "unread": "of a type that this release does not know",
    "erased": "erased",
    "redacted": "redacted: left out of requests",
    "linked": "recorded off the wire too",
    "aside": "on a side branch: no history",
    "given up": "given up: the conversation went on elsewhere",
    "rejected": "rejected: beside the history",
    "interrupts": "interrupts",
}
"""What is out of the ordinary about a row, in words."""

_FOLDED: Final = frozenset({"thinking", "unfinished thinking", "instructions", "tools"})
_CALLS: Final = frozenset({"tool call", "server call"})
_OF_APPROVALS: Final = frozenset({"approval", "granted", "denied"})
_PICTURES: Final = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"}
)
_NO_DOCUMENTS: Final = frozenset({"text", *_FOLDED, *_CALLS, "result"})
_REQUEST: Final = "request.sent"
_FORK: Final = "conversation.forked"
_LONG: Final = 1_500
_LONGEST: Final = 100_000
_GLIMPSE: Final = 100


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document of an event: where its bytes are in the store, and whether it is a picture."""

    name: str
    media_type: str
    size: int
    sha256: str
    is_picture: bool


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of the timeline: how it is laid out, and where the other half of a call is.

    `name` is that of the tool of a call, and `text` then its arguments. `glimpse` is how a folded text
    begins. `call_at` is the version of the call that somebody is asked about, or decided. `detail` is the JSON of what
    is declared. `cut` counts the characters of the text that are not
    shown: a browser does not lay out a line of megabytes.
    """

    row: Row
    look: Look
    text: str
    name: str | None = None
    result_at: int | None = None
    call_at: int | None = None
    glimpse: str | None = None
    detail: object = None
    cut: int = 0

    @property
    def marks(self) -> tuple[str, ...]:
        """Return in words what is out of the ordinary."""
        return tuple(MARKS[mark] for mark in self.row.marks)


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event: its rows and documents, and what is said above it.

    `exchange` is its number where it begins one, `branch` why a side branch began, `summary` the version
    of the summary that stands for all above. `origin` is the conversation that it is a fork of. `silent`
    are the versions right before it that have no text, such as a message that only calls tools.
    """

    version: int
    recorded_at: int
    rows: tuple[ShownRow, ...]
    documents: tuple[ShownDocument, ...]
    exchange: int | None = None
    branch: str | None = None
    summary: int | None = None
    origin: tuple[UUID, int] | None = None
    silent: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary that counts: its version, and the last version that it stands for."""

    version: int
    until: int


def may_hold_documents(rows: Iterable[Row]) -> bool:
    """Return whether some row is of a document, as far as its kind tells."""
    return any(row.kind == "extracted" or _may_be_document(row) for row in rows)


def _may_be_document(row: Row) -> bool:
    return row.speaker != "record" and row.kind not in _NO_DOCUMENTS


def shown_events(
    recorded: Sequence[RecordedEvent],
    rows: Iterable[Row],
    *,
    after: int,
    documents: Iterable[HeldDocument],
    summary: Summary | None,
) -> tuple[ShownEvent, ...]:
    """Return the events after a version; those before it only tell what these go on from."""
    listed = list(rows)
    results = {row.answers: row.version for row in listed if row.answers}
    held: dict[int, list[ShownDocument]] = {}
    for each in documents:
        if each.blob is not None:
            held.setdefault(each.version, []).append(_document(each))
    events = {event.version: event for event in recorded}
    branches = dict(_branches(recorded))
    shown = list[ShownEvent]()
    exchange: int | None = None
    line: UUID | None = None
    before: int | None = None
    for version, grouped in groupby(listed, key=lambda row: row.version):
        group = list(grouped)
        first, event = group[0], events[version]
        side = first.line if {"aside", "given up"} & {*first.marks} else None
        ends = summary is not None and before is not None and before <= summary.until < version
        if version > after:
            shown.append(
                ShownEvent(
                    version=version,
                    recorded_at=first.recorded_at,
                    rows=tuple(_row(each, event, results) for each in group),
                    documents=tuple(held.get(version, ())),
                    exchange=first.exchange if first.exchange != (exchange or 0) else None,
                    branch=_branch(side, branches) if side != line and side is not None else None,
                    summary=summary.version if ends and summary is not None else None,
                    origin=_origin(event),
                    silent=tuple(range(max(before or version, after) + 1, version)),
                )
            )
        exchange, line, before = first.exchange, side, version
    return tuple(shown)


def changed_events(
    before: Iterable[ShownEvent], now: Iterable[ShownEvent]
) -> tuple[ShownEvent, ...]:
    """Return the events that are told otherwise now; those that were not there before not."""
    known = {event.version: event for event in before}
    return tuple(event for event in now if known.get(event.version, event) != event)


def _row(row: Row, event: RecordedEvent, results: Mapping[int, int]) -> ShownRow:
    look = _look(row)
    name, text = None, row.text
    if row.kind in _CALLS:
        name, _, text = row.text.partition(" ")
    return ShownRow(
        row=row,
        look=look,
        text=text[:_LONGEST],
        name=name,
        result_at=results.get(row.version) if row.kind in _CALLS else None,
        call_at=_call_at(event) if row.kind in _OF_APPROVALS else None,
        glimpse=_glimpse(text) if look == "folded" else None,
        detail=_detail(event) if row.kind == "tools" else None,
        cut=max(0, len(text) - _LONGEST),
    )


def _look(row: Row) -> Look:
    if row.kind in _FOLDED or (len(row.text) > _LONG and row.kind not in ("text", "compacted")):
        return "folded"
    if row.kind in _CALLS:
        return "call"
    if row.kind == "result":
        return "result"
    if row.speaker == "record":
        return "record"
    return "said" if row.kind == "text" else "other"


def _glimpse(text: str) -> str:
    flat = " ".join(text[: 4 * _GLIMPSE].split())
    return flat if len(flat) <= _GLIMPSE and len(text) <= _GLIMPSE else f"{flat[:_GLIMPSE]}…"


def _call_at(event: RecordedEvent) -> int | None:
    """Return the version of the call that an approval is of; None where another conversation has the call."""
    happened = event.event()
    if not isinstance(happened, ApprovalRequested | ApprovalDecided):
        return None
    return happened.call or None


def _detail(event: RecordedEvent) -> object:
    happened = event.event()
    if not isinstance(happened, ToolsDeclared):
        return None
    return [tool.model_dump(mode="json", exclude_defaults=True) for tool in happened.tools]


def _document(held: HeldDocument) -> ShownDocument:
    blob, document = held.blob, held.document
    assert blob is not None
    return ShownDocument(
        name=document.name or held.short_id or "document",
        media_type=document.media_type,
        size=blob.size,
        sha256=blob.sha256,
        is_picture=essence_of(document.media_type) in _PICTURES,
    )


def _branches(recorded: Iterable[RecordedEvent]) -> Iterator[tuple[UUID, str]]:
    """Yield the side branches that begin here, and why."""
    for each in recorded:
        # To read a body takes long: only those of requests are read.
        happened = each.event() if each.type == _REQUEST else None
        if isinstance(happened, RequestSent) and happened.line == each.event_id:
            yield each.event_id, WHY[happened.relation]


def _branch(line: UUID, branches: Mapping[UUID, str]) -> str:
    why = branches.get(line)
    return "Side branch" if why is None else f"Side branch: {why}"


def _origin(event: RecordedEvent) -> tuple[UUID, int] | None:
    if event.type != _FORK:
        return None
    happened = event.event()
    if not isinstance(happened, ConversationForked):
        return None
    return happened.origin, happened.version
