"""Which event records a block of Bedrock's Converse API."""

from __future__ import annotations

from typing import Final

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
from onrecord.projections.apis.bedrock.read import called

_SPOKEN: Final = (
    *("text", "citationsContent", "image", "document", "video", "audio"),
    *("searchResult", "guardContent"),
)
"""The members of blocks by which a model speaks."""


def event_of(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    """Return the event of a block; one that lacks what its event needs is opaque.

    A block is a union: the member that it has says what it is (docs.aws.amazon.com,
    "ContentBlock"). A result in an answer is of a tool that Bedrock runs.
    """
    response, line = place.response, place.line
    match value:
        case {"toolUse": _} if (asked := called(value)) and asked.id:
            return ServerToolCallRecorded(
                response=response,
                index=index,
                call_id=asked.id,
                name=asked.name,
                content=native,
                line=line,
            )
        case {"toolUse": {"toolUseId": str(call), "name": str(name)}} if call:
            return ToolCallRecorded(
                response=response,
                index=index,
                call_id=call,
                name=name,
                content=native,
                awaited=place.awaited,
                line=line,
            )
        case {"toolResult": {"toolUseId": str(call)}} if call:
            return ServerToolResultRecorded(
                response=response, index=index, call_id=call, content=native, line=line
            )
        case {"reasoningContent": _}:
            return ReasoningRecorded(response=response, index=index, content=native, line=line)
        case _ if any(member in value for member in _SPOKEN):
            return MessageRecorded(
                role="assistant", content=(native,), response=response, index=index, line=line
            )
        case _:
            kind = next(iter(value), "")
            return OpaqueRecorded(
                response=response, index=index, type=kind, content=native, line=line
            )
