"""Which event records a block of Gemini's."""

from __future__ import annotations

from typing import assert_never

from onrecord.adapters.capture.gemini_parts import kind_of, object_in, text_in, type_of
from onrecord.adapters.capture.place import Place
from onrecord.domain.content import Native
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini.server_tools import called, gave


def event_of(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    """Return the event of a block; a call without a name is opaque, and a result of no call."""
    response, line = place.response, place.line
    match kind := kind_of(value):
        case "reasoning":
            return ReasoningRecorded(response=response, index=index, content=native, line=line)
        case "message":
            return MessageRecorded(
                role="assistant", content=(native,), response=response, index=index, line=line
            )
        case "call":
            return _call(index, value, native, place)
        case "server_call":
            return _server_call(index, value, native, place)
        case "server_result":
            return _server_result(index, value, native, place)
        case "opaque":
            return _opaque(index, value, native, place)
        case _:
            assert_never(kind)


def _call(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    call = object_in(value, "functionCall") or {}
    call_id, name = place.call or text_in(call, "id"), text_in(call, "name")
    if call_id is None or name is None:
        return _opaque(index, value, native, place)
    return ToolCallRecorded(
        response=place.response,
        index=index,
        call_id=call_id,
        name=name,
        content=native,
        awaited=place.awaited,
        line=place.line,
    )


def _server_call(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    asked = called(value)
    call_id = (asked.id if asked else "") or place.call
    if asked is None or call_id is None:
        return _opaque(index, value, native, place)
    return ServerToolCallRecorded(
        response=place.response,
        index=index,
        call_id=call_id,
        name=asked.name,
        content=native,
        line=place.line,
    )


def _server_result(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    given = gave(value)
    call_id = (given.call_id if given else "") or place.call
    if call_id is None:
        return _opaque(index, value, native, place)
    return ServerToolResultRecorded(
        response=place.response, index=index, call_id=call_id, content=native, line=place.line
    )


def _opaque(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    return OpaqueRecorded(
        response=place.response,
        index=index,
        type=type_of(value),
        content=native,
        line=place.line,
    )
