"""An answer as the events that record it, whatever its API."""

from __future__ import annotations

from typing import overload
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.capture.answer import Answer
from onrecord.adapters.capture.place import Conclusion, Place, Recording, recorded
from onrecord.adapters.capture.raw_bytes import Content, reference_to
from onrecord.adapters.capture.wires import WIRES
from onrecord.domain.content import Blob
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted


@overload
def events_of(
    answer: Answer,
    *,
    response: UUID,
    request: UUID | None = None,
    request_id: str | None = None,
    line: UUID | None = None,
    raw: bytes | None = None,
) -> Recording: ...


@overload
def events_of(
    answer: Answer,
    *,
    response: UUID,
    request: UUID | None = None,
    request_id: str | None = None,
    line: UUID | None = None,
    raw: Content | None,
) -> Conclusion: ...


def events_of(
    answer: Answer,
    *,
    response: UUID,
    request: UUID | None = None,
    request_id: str | None = None,
    line: UUID | None = None,
    raw: Content | None = None,
) -> Conclusion:
    """Return the events of an answer, each block's first, the closing one last.

    `raw` is what to keep of the wire: give it where `answer.needs_raw`. Results are awaited only
    of an answer that awaits them. Each alternative follows, on a line of its own: history holds one
    of them, and which one only a later request can tell.
    """
    place = Place(answer.api, response, line, awaited=answer.awaits_results, ran=answer.ran)
    events, blobs = recorded(answer.blocks, place, WIRES[answer.api].event_of)
    spilled: dict[str, Content] = {**blobs}
    kept = None
    if raw is not None:
        kept = reference_to(raw)
        spilled[kept.sha256] = raw
    told = (*events, _closing(answer, place, request, request_id, kept))
    for alternative in answer.alternatives:
        others, more = events_of(alternative, response=uuid7(), request=request, line=uuid7())
        told = (*told, *others)
        spilled.update(more)
    return told, spilled


def _closing(
    answer: Answer, place: Place, request: UUID | None, request_id: str | None, raw: Blob | None
) -> ResponseCompleted | ResponseInterrupted:
    if answer.interruption is None:
        return ResponseCompleted(
            response=place.response,
            request=request,
            api=answer.api,
            provider_id=answer.provider_id or answer.text("id"),
            model=answer.model or answer.text("model"),
            stop_reason=answer.stop_reason,
            envelope=answer.envelope,
            unfinished=answer.unfinished,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            request_id=request_id,
            raw=raw,
            line=place.line,
        )
    return ResponseInterrupted(
        response=place.response,
        request=request,
        api=answer.api,
        reason=answer.interruption,
        detail=answer.detail,
        provider_id=answer.provider_id or answer.text("id"),
        model=answer.model or answer.text("model"),
        envelope=answer.envelope,
        unfinished=answer.unfinished,
        error=answer.error,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        request_id=request_id,
        raw=raw,
        line=place.line,
    )
