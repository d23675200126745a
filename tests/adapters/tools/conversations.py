"""Conversations in which a model asks for tools, for tests."""

from collections.abc import Iterator
from typing import Any

import onrecord
from onrecord.domain.content import Document, Text, ToolCall, ToolResult
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded

KEY = "support/4711"


class Payments:
    """A tool that must not act by itself, and what it did."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def pay(self, amount: int) -> str:
        """Pay it."""
        self.made.append(amount)
        return f"paid {amount}"

    def runner(self, chat: onrecord.Conversation) -> onrecord.ToolRunner:
        return onrecord.ToolRunner(chat, [onrecord.tool(self.pay, needs_approval=True)])


def call_tools(chat: onrecord.Conversation, *calls: tuple[str, Any]) -> onrecord.Conversation:
    """The conversation, after its user said something and its model called tools.

    Each call is a name and its arguments; their ids are `call_1` and so on.
    """
    chat.user("Where is my parcel?")
    first = len(list(results(chat))) + len(chat.open_calls()) + 1
    for number, (name, arguments) in enumerate(calls, first):
        call = ToolCall(id=f"call_{number}", name=name, arguments=arguments)
        chat.log.append(ToolCallRecorded(call_id=call.id, name=name, content=call))
    return chat


def call_again(chat: onrecord.Conversation, name: str) -> None:
    """The model calls another tool, without a prompt between."""
    if not chat.head().version:
        chat.user("Where is it?")
    call = ToolCall(id=f"id_{name}", name=name, arguments={})
    chat.log.append(ToolCallRecorded(call_id=call.id, name=name, content=call))


def results(chat: onrecord.Conversation) -> Iterator[ToolResultRecorded]:
    """The results that are recorded, in the order of the log."""
    for recorded in chat.log.read():
        event = recorded.event()
        if isinstance(event, ToolResultRecorded):
            yield event


def recorded_results(chat: onrecord.Conversation) -> list[tuple[str, str, bool]]:
    """Of each result the call's id, its text, and whether it is an error."""
    return [(event.call_id, text_of(event), event.is_error) for event in results(chat)]


def text_of(event: ToolResultRecorded) -> str:
    assert isinstance(event.content, ToolResult)
    return "".join(said(block) for block in event.content.content)


def said(block: Text | Document) -> str:
    return block.text if isinstance(block, Text) else f"<{block.media_type}>"


def kept(chat: onrecord.Conversation) -> list[dict[str, str]]:
    """The metadata in the header of each result."""
    return [
        dict(recorded.client_header().metadata)
        for recorded in chat.log.read()
        if recorded.type == "tool_result.recorded"
    ]
