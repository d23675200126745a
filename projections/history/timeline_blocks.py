"""What blocks are in a timeline that say more than a text: calls of tools with what they gave, items of frameworks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, assert_never, cast
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import (
    Document,
    Native,
    Opaque,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.errors import counted
from onrecord.domain.items import ItemRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of, outcome_of, parts_of
from onrecord.projections.frameworks.item_messages import Speaker
from onrecord.projections.frameworks.registry import framework_of
from onrecord.projections.history import timeline_text
from onrecord.projections.history.timeline_text import Mark, Told, aside


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is open: its version, and the name of its tool."""

    version: int
    name: str


Calls: TypeAlias = dict[str, Call]
"""The open calls by their ids."""


CallEvent: TypeAlias = (
    events.ToolCallRecorded
    | events.ToolResultRecorded
    | events.ToolResultRejected
    | events.ServerToolCallRecorded
    | events.ServerToolResultRecorded
)
"""A call of a tool, or what one gave."""


def call_rows(event: CallEvent, version: int, calls: Calls) -> Iterator[Told]:
    """Yield the rows of a call, or of a result with its call."""
    match event:
        case events.ToolCallRecorded():
            calls[event.call_id] = Call(version, event.name)
            yield _call(event)
        case events.ToolResultRecorded():
            yield from _result(event, calls.pop(event.call_id, None))
        case events.ToolResultRejected(call_id=call_id, content=content, is_error=is_error):
            result = events.ToolResultRecorded(call_id=call_id, content=content, is_error=is_error)
            for entry in _result(result, calls.get(call_id)):
                yield replace(entry, marks=("rejected",))
        case events.ServerToolCallRecorded():
            yield from _server_call(event, version, calls)
        case events.ServerToolResultRecorded():
            yield _server_result(event, calls.pop(event.call_id, None))
        case _:
            assert_never(event)


def _call(event: events.ToolCallRecorded | events.ServerToolCallRecorded) -> Told:
    text = f"{event.name} {timeline_text.compact(_arguments(event.content))}"
    if isinstance(event, events.ServerToolCallRecorded):
        return Told("assistant", "server call", text)
    return Told("assistant", "tool call", text, () if event.awaited else ("interrupted",))


def _arguments(content: ToolCall | Native) -> Any:
    match content:
        case ToolCall():
            return content.arguments
        case Native(api=api, value=value):
            read = neutral_of(api, value)
            if isinstance(read, ToolCall | ServerToolCall):
                return read.arguments
            return value.get("input", value)


def _result(event: events.ToolResultRecorded, call: Call | None) -> Iterator[Told]:
    failed: tuple[Mark, ...] = ("error",) if event.is_error and not event.cancelled else ()
    marks: tuple[Mark, ...] = ("cancelled",) if event.cancelled else failed
    entry = Told("tool", "result", "", marks, call.version if call else None)
    match event.content:
        case ToolResult(content=content):
            texts = [block.text for block in content if isinstance(block, Text)]
            documents = [block for block in content if isinstance(block, Document)]
        case Native():
            texts, documents = [timeline_text.result(event.content)], []
    if texts or not documents:
        yield replace(entry, text=_given(call, " ".join(texts) or "nothing"))
    for document in documents:
        yield replace(entry, text=_given(call, timeline_text.document(document)))


def _server_call(
    event: events.ServerToolCallRecorded, version: int, calls: Calls
) -> Iterator[Told]:
    """Tell of a call, and of what it gave where its block says so."""
    calls[event.call_id] = Call(version, event.name)
    yield _call(event)
    outcome = outcome_of(event.content.api, event.content.value)
    if outcome is not None and (outcome.content or outcome.is_error):
        yield _gave(calls.pop(event.call_id), outcome)


def _server_result(event: events.ServerToolResultRecorded, call: Call | None) -> Told:
    read = neutral_of(event.content.api, event.content.value)
    if isinstance(read, ServerToolResult):
        return _gave(call, read)
    text = _given(call, timeline_text.result(event.content))
    return Told("provider", "result", text, answers=call.version if call else None)


def _gave(call: Call | None, result: ServerToolResult) -> Told:
    """Tell of what a tool of the provider's gave."""
    marks: tuple[Mark, ...] = ("error",) if result.is_error else ()
    text = _given(call, timeline_text.gave(result))
    return Told("provider", "result", text, marks, call.version if call else None)


def _given(call: Call | None, text: str) -> str:
    return f"{call.name}: {text}" if call else text


# What items of frameworks are: each block as if it had been recorded by itself.

_NO_RESPONSE: Final = UUID(int=0)


def item_rows(event: ItemRecorded, version: int, calls: Calls) -> Iterator[Told]:
    """Yield what an item says; what it is where it says nothing, its JSON where that is not known."""
    framework = framework_of(event.framework)
    contents = framework.read_item(_readable(event.item))
    if contents is None:
        about = framework.about(event.item)
        told = aside(event)
        yield replace(told, text=f"{_place(event)}{about}") if about else told
        return
    place = _place(event)
    for value in contents.blocks:
        native = Native(api=contents.api, value=value)
        for told in _block(native, contents.speaker_of(value), version, calls):
            yield replace(told, text=f"{place}{told.text}")


def _readable(item: JsonObject) -> JsonObject:
    """Return an item that says of each string that is in a blob how long it is."""
    sizes = {
        blob.sha256: f"{counted(blob.size, 'byte')}, held apart".encode()
        for blob in referenced(item)
    }
    return cast("JsonObject", restore(item, sizes)) if sizes else item


def _place(event: ItemRecorded) -> str:
    """Return what is to be said of an item that is not one of the session's main stream."""
    beside = "" if event.beside is None else f"beside version {event.beside}"
    place = " ".join(filter(None, (event.stream, beside)))
    return f"{place}: " if place else ""


def _block(native: Native, speaker: Speaker, version: int, calls: Calls) -> Iterator[Told]:
    match neutral_of(native.api, native.value):
        case ToolCall(id=call_id, name=name) as call:
            made = events.ToolCallRecorded(call_id=call_id, name=name, content=call)
            yield from call_rows(made, version, calls)
        case ToolResult(call_id=call_id, is_error=is_error) as result:
            given = events.ToolResultRecorded(call_id=call_id, content=result, is_error=is_error)
            yield from call_rows(given, version, calls)
        case ServerToolCall(id=call_id, name=name):
            asked = events.ServerToolCallRecorded(
                response=_NO_RESPONSE, index=0, call_id=call_id, name=name, content=native
            )
            yield from call_rows(asked, version, calls)
        case ServerToolResult(call_id=call_id) as result:
            yield _gave(calls.pop(call_id, None), result)
        case Reasoning(text=text):
            yield Told("assistant", "thinking", text or timeline_text.native(native))
        case Opaque(type=kind):
            yield Told(speaker, kind, timeline_text.native(native), ("opaque",))
        case part:
            parts = parts_of(native.api, native.value) or (part,)
            yield from (_part(each, speaker) for each in parts)


def _part(part: Text | Document, speaker: Speaker) -> Told:
    if isinstance(part, Document):
        return Told(speaker, "document", timeline_text.document(part))
    return Told(speaker, "text", part.text or timeline_text.NO_TEXT)
