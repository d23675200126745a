"""The exchange that is open: what was said since the last prompt, from the last event back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from difflib import get_close_matches
from itertools import takewhile
from typing import Final, TypeGuard

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.tails import names_in_force
from onrecord.adapters.streams.lineage import Compaction, amendments, backwards
from onrecord.adapters.tools.tool import Tool
from onrecord.domain.content import Text, ToolResult
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    ResponseCompleted,
    ResponseInterrupted,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.domain.tool_context import ToolCallContext


def open_exchange(conversation: Conversation) -> Iterator[Event]:
    """Yield what models are told of the open exchange, and what they were asked, last first.

    That is nothing that was redacted, that a summary stands for, or that is on a line of its own.
    """
    head = conversation.head()
    if not head.version:
        return
    segments = stream_of(conversation).lineage(head.version, head)
    amending = amendments(stream_of(conversation).backend, segments)
    lines = {None, *(segment.line for segment in segments)}
    for recorded in backwards(stream_of(conversation).backend, segments):
        if recorded.exchange < head.exchange or _is_summarised(recorded, amending.compaction):
            return
        if (recorded.conversation_id, recorded.version) in amending.redacted:
            continue
        event = recorded.event()
        if not isinstance(event, Erased | Unrecognised) and event.line in lines:
            yield event


def _is_summarised(recorded: RecordedEvent, compaction: Compaction | None) -> bool:
    if compaction is None or compaction.recorded.conversation_id != recorded.conversation_id:
        return False
    return recorded.version <= compaction.event.until


def is_answered_since(conversation: Conversation, version: int) -> bool:
    """Return whether a model, or the program for it, said anything on the main branch after a version.

    That is no request, and no answer that a provider still makes in the background.
    """
    head = conversation.head()
    if head.version == version:
        return False
    stream = stream_of(conversation)
    lines = {None, *(segment.line for segment in stream.lineage(head.version, head))}
    events = (recorded.event() for recorded in stream.read(after=version))
    return any(_is_answer(event) and event.line in lines for event in events)


def _is_answer(event: Event | Erased | Unrecognised) -> TypeGuard[Event]:
    match event:
        case ResponseInterrupted(reason=reason):
            return reason != "deferred"
        case MessageRecorded(role=role):
            return role == "assistant"
        case _:
            return isinstance(event, ResponseCompleted | ToolCallRecorded)


# Tools that give all they have the first time: called again in one exchange, they only say so.
#
# Whether a call is the first is told from the log, so that every process, and every replay, tells
# the same; in a conversation without a prompt each one is.


def unless_given(tool: Tool, names_with_result: AbstractSet[str]) -> Tool:
    """Return a tool that only says so where, by the time it is called, it has given its result."""
    answer = (
        f"ALREADY LOADED. The body of '{tool.name}' was returned earlier in this turn "
        "\N{EM DASH} read it from your conversation history above. "
        f"Do not call this tool again.\n{tool.advice}"
    )

    def call(arguments: JsonObject, context: ToolCallContext) -> object:
        return answer if tool.name in names_with_result else tool.call(arguments, context)

    return replace(tool, call=call)


def given_in_exchange(conversation: Conversation) -> frozenset[str]:
    """Return the tools that gave a result, no error, since the last prompt of the main branch."""
    if not conversation.head().exchange:
        return frozenset()
    answered: set[str] = set()
    called: set[str] = set()
    for event in open_exchange(conversation):
        match event:
            case ToolResultRecorded(call_id=call_id, is_error=False):
                answered.add(call_id)
            case ToolCallRecorded(call_id=call_id, name=name) if call_id in answered:
                called.add(name)
            case _:
                continue
    if not called:
        return frozenset()
    head = conversation.head()
    segments = stream_of(conversation).lineage(head.version, head)
    names = names_in_force(stream_of(conversation).backend, segments)
    return frozenset(names.get(name, name) for name in called)


# Calls of tools that there are not: what the model is told, and how often it may be told.

MOST_IN_A_ROW: Final = 3
"""How many such calls, one behind the other, are one too many."""

_TOLD: Final = re.compile(r"Tool '.*' does not exist\. ", re.DOTALL)
_NEAR: Final = 3
_LONGEST_NAME: Final = 256
"""Characters of a name that may be meant for another: no API takes longer ones."""


def no_such_tool(name: str, tools: Sequence[str]) -> str:
    """Return what a model is told that calls a tool which is not there."""
    # To compare two long texts takes as long as the product of their lengths.
    near = get_close_matches(name, tools, n=_NEAR) if len(name) <= _LONGEST_NAME else []
    close = near or [tool for tool in tools if tool.casefold() == name.casefold()]
    match close:
        case []:
            meant = ""
        case [one]:
            meant = f" Did you mean '{one}'?"
        case _:
            meant = f" Possible matches: [{', '.join(close)}]."
    return (
        f"Tool '{name}' does not exist.{meant} Available tools: [{', '.join(tools)}]. "
        "Use the exact tool name from this list."
    )


def last_in_a_row(exchange: Iterable[Event]) -> int:
    """Return how many results of an exchange, the last one first, say that there is no such tool.

    Counted from the log, so that it is the same whichever process runs the tools.
    """
    results = (event for event in exchange if isinstance(event, ToolResultRecorded))
    return sum(1 for _ in takewhile(_says_so, results))


def _says_so(event: ToolResultRecorded) -> bool:
    content = event.content
    if not isinstance(content, ToolResult) or not event.is_error or len(content.content) != 1:
        return False
    (block,) = content.content
    return isinstance(block, Text) and _TOLD.match(block.text) is not None
