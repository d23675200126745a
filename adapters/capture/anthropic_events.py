"""An answer of Anthropic's Messages API as the events that record it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from hansard.adapters.capture.answer import Answer, Block
from hansard.adapters.capture.anthropic_envelope import tokens
from hansard.domain.blobs import blob_of, spill
from hansard.domain.content import Blob, Native
from hansard.domain.events import (
    CompactionRecorded,
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ResponseCompleted,
    ResponseInterrupted,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
)
from hansard.domain.jsontext import JsonObject

Recording = tuple[tuple[Event, ...], dict[str, bytes]]
"""Events, and by digest the blobs that they refer to: store these first."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the blocks of one assistant message belong, and whether its calls are awaited."""

    api: str
    response: UUID
    line: UUID | None = None
    awaited: bool = True


def events_of(
    answer: Answer,
    *,
    response: UUID,
    request: UUID | None = None,
    request_id: str | None = None,
    line: UUID | None = None,
    raw: bytes | None = None,
) -> Recording:
    """Return the events of an answer, each block's first, the closing one last.

    `raw` is what to keep of the wire: give it where `answer.needs_raw`. Results are awaited only
    of a complete answer that stopped for its calls. Those of a turn that paused are not: it goes
    back as it is, to be continued, and a result after it would be refused.
    """
    place = Place(answer.api, response, line, awaited=_awaits(answer))
    events, spilled = recorded(answer.blocks, place)
    kept = None
    if raw is not None:
        kept = blob_of(raw)
        spilled[kept.sha256] = raw
    return (*events, _closing(answer, place, request, request_id, kept)), spilled


def recorded(blocks: Iterable[Block], place: Place) -> Recording:
    """Return one event a block, its long strings moved to blobs."""
    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    for block in blocks:
        value, blobs = spill(block.value)
        events.append(_event(block.index, block.value, Native(api=place.api, value=value), place))
        spilled.update(blobs)
    return tuple(events), spilled


def _event(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    """Return the event of a block; one that lacks what its event needs is opaque.

    A call without an id is such a block: nobody could give its result.
    """
    response, line = place.response, place.line
    match value:
        case {"type": "text"}:
            return MessageRecorded(
                role="assistant", content=(native,), response=response, index=index, line=line
            )
        case {"type": "thinking" | "redacted_thinking"}:
            return ReasoningRecorded(response=response, index=index, content=native, line=line)
        case {"type": "tool_use", "id": str(call), "name": str(name)} if call:
            return ToolCallRecorded(
                response=response,
                index=index,
                call_id=call,
                name=name,
                content=native,
                awaited=place.awaited,
                line=line,
            )
        case {
            "type": "server_tool_use" | "mcp_tool_use",
            "id": str(call),
            "name": str(name),
        } if call:
            return ServerToolCallRecorded(
                response=response, index=index, call_id=call, name=name, content=native, line=line
            )
        case {"type": str(kind), "tool_use_id": str(call)} if call and _is_result(kind):
            return ServerToolResultRecorded(
                response=response, index=index, call_id=call, content=native, line=line
            )
        case {"type": "compaction"}:
            return CompactionRecorded(response=response, index=index, content=native, line=line)
        case _:
            return OpaqueRecorded(
                response=response, index=index, type=_type_of(value), content=native, line=line
            )


def _is_result(kind: str) -> bool:
    return kind.endswith("_tool_result")


def _type_of(block: JsonObject) -> str:
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""


def _awaits(answer: Answer) -> bool:
    return answer.is_complete and answer.envelope.get("stop_reason") == "tool_use"


def _closing(
    answer: Answer, place: Place, request: UUID | None, request_id: str | None, raw: Blob | None
) -> ResponseCompleted | ResponseInterrupted:
    input_tokens, output_tokens = tokens(answer.envelope)
    if answer.interruption is None:
        return ResponseCompleted(
            response=place.response,
            request=request,
            api=answer.api,
            provider_id=answer.text("id"),
            model=answer.text("model"),
            stop_reason=answer.text("stop_reason"),
            envelope=answer.envelope,
            unfinished=answer.unfinished,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
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
        provider_id=answer.text("id"),
        model=answer.text("model"),
        envelope=answer.envelope,
        unfinished=answer.unfinished,
        error=answer.error,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        request_id=request_id,
        raw=raw,
        line=place.line,
    )
