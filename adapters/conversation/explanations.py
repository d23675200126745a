"""Why an event is there, read from the log: its request, what was new to that, and what led to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.streams.event_reading import line_of
from onrecord.adapters.streams.lineage import Lineages, LineSegment, amendments, backwards
from onrecord.adapters.streams.stream import Stream
from onrecord.domain import events
from onrecord.domain.actors import name_of
from onrecord.domain.errors import CorruptRecord, InvalidContent
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history.causes import (
    Cause,
    ExplainedRequest,
    Explanation,
    actors_of,
    attributed_event_of,
    cause_of,
    doubt_of,
    kind_of,
    last_seen,
    request_id_of,
    text_of,
)
from onrecord.projections.history.responses import Place

_CAUSES: Final = frozenset({"message.recorded", "tool_result.recorded", "signal.received"})
_CALLS: Final = frozenset({"tool_call.recorded"})
_REQUEST: Final = "request.sent"

_NO_REQUEST: Final = (
    "the record has no request that this came from: it was imported, or the program said it itself"
)
_NO_CALL: Final = "the record has no call that this is the result of"
_ERASED: Final = "the request that this came from was erased, or is of a newer release"
_OTHER: Final = "this is no call, result or answer: nothing led to it but who recorded it"
_NOT_BEFORE: Final = "the request before it is not in the record: all on its branch counts as new"


class _Sent(NamedTuple):
    """A request and the event that it is."""

    recorded: RecordedEvent
    event: events.RequestSent


def explain(stream: Stream, version: int, *, to_start: bool) -> Explanation:
    """Return why the event at a version is there.

    InvalidContent where there is no such version. Reads from the event back to its request and to
    the one before; to the start, back to the beginning.
    """
    return _Explainer(stream).explain(version, to_start=to_start)


class _Explainer:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._log = stream.backend
        self._name_of = cache(partial(name_of, self._log.actors(), stream.tenant))

    def explain(self, version: int, *, to_start: bool) -> Explanation:
        recorded = next(self._stream.read(after=version - 1, until=version), None)
        if recorded is None:
            head = self._stream.head()
            raise InvalidContent(
                f"there is no version {version}: the conversation is at {head.version}"
            )
        event = recorded.event()
        kind = kind_of(event)
        explained = Explanation(
            recorded, *actors_of(recorded, self._name_of), text_of(recorded), kind
        )
        if kind == "other":
            return replace(explained, note=_OTHER)
        source = recorded
        if isinstance(event, events.ToolResultRecorded | events.ToolResultRejected):
            call = self._call_of(recorded, event)
            if call is None:
                return replace(explained, note=_NO_CALL)
            explained = replace(explained, call=attributed_event_of(call, self._name_of))
            source = call
        return self._from_request(explained, source, to_start=to_start)

    def _from_request(
        self, explained: Explanation, source: RecordedEvent, *, to_start: bool
    ) -> Explanation:
        request_id = request_id_of(source, source.event())
        found = None if request_id is None else self._event(source, request_id)
        if found is None or found.type != _REQUEST:
            return replace(explained, note=_NO_REQUEST)
        sent = _sent(found)
        if sent is None:
            return replace(explained, note=_ERASED)
        requests = list[ExplainedRequest]()
        while sent is not None:
            request, sent = self._explained(sent)
            requests.append(request)
            if not to_start:
                break
        return replace(explained, requests=tuple(requests))

    def _explained(self, sent: _Sent) -> tuple[ExplainedRequest, _Sent | None]:
        """Return a request with what was new to it, and the request before it on its branch."""
        segments = self._segments(sent)
        before, note = self._before(sent, segments), doubt_of(sent.event)
        if before is None and sent.event.parent is not None:
            note = _NOT_BEFORE
        known = () if before is None else self._segments(before)
        causes = tuple(self._causes(_without(segments, known), segments))
        attributed = attributed_event_of(sent.recorded, self._name_of)
        request = ExplainedRequest(
            attributed.event,
            attributed.actor,
            attributed.on_behalf_of,
            attributed.text,
            causes,
            not note,
            note,
        )
        return request, before

    def _segments(self, sent: _Sent) -> tuple[LineSegment, ...]:
        """Return what a request can have been made of: its branch, up to what it has seen."""
        recorded, event = sent
        lineages = Lineages(self._log, recorded.conversation_id)
        last = last_seen(recorded.version, event)
        if event.line is None:
            return tuple(_cut(lineages.at(recorded.version), recorded.conversation_id, last))
        left = () if event.after is None else lineages.up_to(event.after, event.as_of)
        first = event.begun or (event.after or 0) + 1
        own = LineSegment(recorded.conversation_id, last, after=first - 1, line=event.line)
        return (*left, own)

    def _before(self, sent: _Sent, segments: Iterable[LineSegment]) -> _Sent | None:
        """Return the request that one goes on from: the one that it names, else the last one there."""
        parent = sent.event.parent
        if parent is not None:
            found = self._event(sent.recorded, parent)
            return None if found is None else _sent(found)
        for segment in reversed(tuple(segments)):
            for recorded in backwards(self._log, (segment,)):
                if recorded.type == _REQUEST and line_of(recorded) == segment.line:
                    return _sent(recorded)
        return None

    def _causes(
        self, new: Iterable[LineSegment], segments: tuple[LineSegment, ...]
    ) -> Iterator[Cause]:
        redacted: frozenset[Place] = frozenset()
        if segments:
            redacted = amendments(self._log, segments).redacted
        for segment in new:
            read = self._log.read(segment.conversation_id, after=segment.after, until=segment.until)
            for recorded in read:
                place = recorded.conversation_id, recorded.version
                if recorded.type not in _CAUSES or place in redacted:
                    continue
                if line_of(recorded) != segment.line:
                    continue
                cause = cause_of(recorded, self._name_of)
                if cause is not None:
                    yield cause

    def _call_of(
        self,
        result: RecordedEvent,
        event: events.ToolResultRecorded | events.ToolResultRejected,
    ) -> RecordedEvent | None:
        """Return the call of a result: the one that it names by version, else the last of its id."""
        named = event.call if isinstance(event, events.ToolResultRecorded) else None
        for recorded in self._backwards(result):
            if recorded.type not in _CALLS or (named and recorded.version != named):
                continue
            call = recorded.event()
            if isinstance(call, events.ToolCallRecorded) and call.call_id == event.call_id:
                return recorded
        return None

    def _event(self, behind: RecordedEvent, event_id: UUID) -> RecordedEvent | None:
        """Return the event of an id, which is the one given, or came before it."""
        if behind.event_id == event_id:
            return behind
        found = (each for each in self._backwards(behind) if each.event_id == event_id)
        return next(found, None)

    def _backwards(self, behind: RecordedEvent) -> Iterator[RecordedEvent]:
        """Yield the events before one, on any line and in what it was forked from, the last first."""
        lineages = Lineages(self._log, behind.conversation_id)
        yield from backwards(self._log, lineages.whole(behind.version - 1))


def _sent(recorded: RecordedEvent) -> _Sent | None:
    """Return a request with what it says; None where it was erased, or cannot be read."""
    try:
        event = recorded.event()
    except CorruptRecord:
        return None
    return _Sent(recorded, event) if isinstance(event, events.RequestSent) else None


def _cut(
    segments: Iterable[LineSegment], conversation_id: UUID, last: int
) -> Iterator[LineSegment]:
    """Yield segments, those of a conversation up to a version."""
    for segment in segments:
        if segment.conversation_id != conversation_id or segment.until <= last:
            yield segment
        elif segment.after < last:
            yield segment.cut_at(last)


def _without(
    segments: Iterable[LineSegment], known: tuple[LineSegment, ...]
) -> Iterator[LineSegment]:
    """Yield what of segments is in none of those that are known; versions of a line are in order."""
    for segment in segments:
        rest = [segment]
        for other in known:
            if (other.conversation_id, other.line) == (segment.conversation_id, segment.line):
                rest = [part for whole in rest for part in _parts(whole, other)]
        yield from rest


def _parts(whole: LineSegment, known: LineSegment) -> Iterator[LineSegment]:
    """Yield what of a segment lies before and behind another of the same line."""
    if min(whole.until, known.after) > whole.after:
        yield replace(whole, until=min(whole.until, known.after), head=None)
    if max(whole.after, known.until) < whole.until:
        yield replace(whole, after=max(whole.after, known.until))
