"""Answers on their way into the log: where each is recorded.

A request may be overtaken while it is out: its stream is left unread, a second tab goes on. Then
its answer is kept on a side branch, else it is history. The log decides, so that threads and
processes agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.adapters.streams.lineage import last_pointed, lineage
from onrecord.adapters.streams.stream import Done, Stream, append_to
from onrecord.adapters.telemetry import names
from onrecord.adapters.telemetry.operations import operation
from onrecord.domain.encoding import Unrecognised, decode, encode
from onrecord.domain.errors import IdempotencyMismatch, VersionConflict
from onrecord.domain.head import effect_of
from onrecord.domain.log import Append, Log, NewEvent, RecordedEvent

if TYPE_CHECKING:
    from onrecord.adapters.recording.state import OpenRequest

_TRIES: Final = 16


def store_answer(stream: Stream, answer: Append, request: OpenRequest) -> Done:
    """Record what a request was answered, as `record_answer`; on its side branch if it is on one.

    One that expects a version is recorded there or not at all.
    """
    with operation(names.APPEND, stream.key) as observed:
        if request.line is None and answer.expected_version is None:
            done = record_answer(stream.backend, answer, request.request, request.version)
        else:
            done = append_to(stream.backend, answer)
        observed.at(done.last)
    return done


def record_answer(log: Log, answer: Append, request: UUID, version: int) -> Done:
    """Record what a request of the main branch was answered; on a side branch if it was overtaken.

    `version` is the last one of the conversation, as far as the caller knows. Others may append
    meanwhile; where they are quicker each time, the answer goes aside rather than missing. What
    was recorded before stays as it is. Raises IdempotencyMismatch, and what the log raises.
    """
    for _ in range(_TRIES):
        try:
            return append_to(log, answer._replace(expected_version=version))
        except VersionConflict as exc:
            version = exc.current
        except IdempotencyMismatch:
            break  # It may be aside already: the reply of the log was lost, and it is tried again.
        last = last_pointed(log, answer.conversation_id, "request", version)
        if last is None or last.event_id != request or _is_given_up(log, last, version):
            break
    beside = tuple(_on_line(event, request) for event in answer.events)
    return append_to(log, answer._replace(events=beside, expected_version=None))


def _is_given_up(log: Log, request: RecordedEvent, version: int) -> bool:
    """Whether the main branch went on from an earlier place, with no other request as yet."""
    own = request.conversation_id
    adopted = last_pointed(log, own, "adopted", version)
    if adopted is None or adopted.version < request.version:
        return False
    on_main = (s for s in lineage(log, own, version) if s.conversation_id == own and s.line is None)
    return not any(segment.has(request.version) for segment in on_main)


def _on_line(drafted: NewEvent, line: UUID) -> NewEvent:
    event = decode(drafted.type, drafted.schema_version, drafted.body)
    if isinstance(event, Unrecognised) or event.line is not None:
        return drafted
    aside = event.model_copy(update={"line": line})
    return drafted._replace(body=encode(aside), effect=effect_of(aside))
