"""The audit view: who did what and when, with which model or tool; a row an event.

What was said is not in it, so it may be shown to people who must not read that. A redacted or
erased event keeps its row, without the model and the tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from onrecord.domain.events import (
    ContentRedacted,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
    ServerToolCallRecorded,
    ToolCallRecorded,
)
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.view import Changes, Passage, Row, storable


@dataclass(frozen=True, slots=True)
class Audit:
    """The view `audit`: one row an event, by conversation and version."""

    name: str = "audit"
    revision: int = 1
    strict: bool = True
    types: frozenset[str] = frozenset()

    def wanted(self, passage: Passage) -> list[Row]:
        """Return the rows of events that a passage redacts."""
        return [_key(passage, version) for version in _redacted(passage.events)]

    def fold(self, passage: Passage, known: Sequence[Row]) -> Changes:
        """Return a row an event."""
        put = {row["version"]: {**row, **_NOT_TOLD} for row in known}
        for event in passage.events:
            put[event.version] = {**_row(passage, event), **_told(event)}
            for version in _redacted((event,)):
                if version in put:
                    put[version] |= _NOT_TOLD
        return Changes(put=tuple(put.values()))


AUDIT: Final = Audit()


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was done: an event, without what was said in it.

    `actor` is the keyed digest of who did it, as `backend.digest` gives it, in hex. `api` and
    `model` are of requests and responses, `tool` of calls. Times are in microseconds since
    1970-01-01 UTC.
    """

    conversation_id: UUID
    version: int
    position: int
    recorded_at: int
    occurred_at: int
    actor: str | None
    type: str
    api: str | None
    model: str | None
    tool: str | None


def deed(row: Row) -> Deed:
    """Return what was done, of a row of a page."""
    told: dict[str, Any] = {name: row[name] for name in Deed.__dataclass_fields__}
    told["conversation_id"] = UUID(row["conversation_id"])
    return Deed(**told)


_TELLING: Final = frozenset(
    (
        *("request.sent", "response.completed", "response.interrupted"),
        *("tool_call.recorded", "server_tool_call.recorded"),
    )
)
_NOT_TOLD: Final[Row] = {"api": None, "model": None, "tool": None}


def _redacted(events: Iterable[RecordedEvent]) -> Iterator[int]:
    """Yield the versions of events that are redacted; what is still to come never is."""
    for event in events:
        happened = event.event() if event.type == "content.redacted" else None
        if isinstance(happened, ContentRedacted) and 0 < happened.version < event.version:
            yield happened.version


def _key(passage: Passage, version: int) -> Row:
    return {"conversation_id": str(passage.conversation_id), "version": version}


def _row(passage: Passage, event: RecordedEvent) -> Row:
    header = event.client_header()
    return {
        "tenant": str(passage.tenant),
        **_key(passage, event.version),
        "shard": event.shard,
        "position": event.position,
        "recorded_at": event.recorded_at,
        "occurred_at": header.occurred_at,
        "actor": header.actor,
        "type": event.type,
        **_NOT_TOLD,
    }


def _told(recorded: RecordedEvent) -> Row:
    """Return what an event says of its model or tool; few types do, and only those are read."""
    if recorded.type not in _TELLING:
        return {}
    match recorded.event():
        case RequestSent() | ResponseCompleted() | ResponseInterrupted() as of:
            return {"api": storable(of.api), "model": _storable(of.model)}
        case ToolCallRecorded() | ServerToolCallRecorded() as of:
            return {"tool": storable(of.name)}
        case _:
            return {}


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)
