"""Conversations in which a model asks for tools, for tests."""

from collections.abc import Iterator
from typing import Any

import onrecord
from onrecord.domain.content import Document, Text, ToolCall, ToolResult
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded


def asked(talk: onrecord.Talk, *calls: tuple[str, Any]) -> onrecord.Talk:
    """The conversation, after its user said something and its model called tools.

    Each call is a name and its arguments; their ids are `call_1` and so on.
    """
    talk.user("Where is my parcel?")
    first = len(list(results(talk))) + len(talk.open_calls()) + 1
    for number, (name, arguments) in enumerate(calls, first):
        call = ToolCall(id=f"call_{number}", name=name, arguments=arguments)
        talk.log.append(ToolCallRecorded(call_id=call.id, name=name, content=call))
    return talk


def again(talk: onrecord.Talk, name: str) -> None:
    """The model calls another tool, without a prompt between."""
    if not talk.head().version:
        talk.user("Where is it?")
    call = ToolCall(id=f"id_{name}", name=name, arguments={})
    talk.log.append(ToolCallRecorded(call_id=call.id, name=name, content=call))


def results(talk: onrecord.Talk) -> Iterator[ToolResultRecorded]:
    """The results that are recorded, in the order of the log."""
    for recorded in talk.log.read():
        event = recorded.event()
        if isinstance(event, ToolResultRecorded):
            yield event


def told(talk: onrecord.Talk) -> list[tuple[str, str, bool]]:
    """Of each result the call's id, its text, and whether it is an error."""
    return [(event.call_id, text_of(event), event.is_error) for event in results(talk)]


def text_of(event: ToolResultRecorded) -> str:
    assert isinstance(event.content, ToolResult)
    return "".join(said(block) for block in event.content.content)


def said(block: Text | Document) -> str:
    return block.text if isinstance(block, Text) else f"<{block.media_type}>"


def kept(talk: onrecord.Talk) -> list[dict[str, str]]:
    """The metadata in the header of each result."""
    return [
        dict(recorded.client_header().metadata)
        for recorded in talk.log.read()
        if recorded.type == "tool_result.recorded"
    ]
