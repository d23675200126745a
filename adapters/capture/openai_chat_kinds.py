"""Which event records a block of OpenAI's Chat Completions API."""

from __future__ import annotations

from onrecord.adapters.capture.openai_chat_blocks import called, is_call, is_reasoning, kind_of_call
from onrecord.adapters.capture.place import Place
from onrecord.domain.content import Native
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ToolCallRecorded,
)
from onrecord.domain.jsontext import JsonObject


def event_of(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    """Return the event of a block; a call that lacks what its event needs is opaque.

    So is a `function_call`, which has no id: nobody could give its result.
    """
    response, line = place.response, place.line
    if is_reasoning(value):
        return ReasoningRecorded(response=response, index=index, content=native, line=line)
    if not is_call(value):
        return MessageRecorded(
            role="assistant", content=(native,), response=response, index=index, line=line
        )
    call = called(value)
    if call is None:
        return OpaqueRecorded(
            response=response, index=index, type=kind_of_call(value), content=native, line=line
        )
    return ToolCallRecorded(
        response=response,
        index=index,
        call_id=call.id,
        name=call.name,
        content=native,
        awaited=place.awaited,
        line=line,
    )
