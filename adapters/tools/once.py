"""Tools that give all they have the first time: called again in one exchange, they only say so.

Whether a call is the first is told from the log, so that every process, and every replay, tells the
same; in a conversation without a prompt each one is.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from onrecord.adapters.conversation.conversation import Talk
from onrecord.adapters.conversation.reading import in_force
from onrecord.adapters.tools.exchange import open_exchange
from onrecord.adapters.tools.tool import Tool
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tool_context import ToolCallContext
from onrecord.projections.history.tool_names import given_names


def unless_given(tool: Tool, given: AbstractSet[str]) -> Tool:
    """Return a tool that only says so where, by the time it is called, it has given its result."""
    told = (
        f"ALREADY LOADED. The body of '{tool.name}' was returned earlier in this turn "
        "\N{EM DASH} read it from your conversation history above. "
        f"Do not call this tool again.\n{tool.advice}"
    )

    def call(arguments: JsonObject, context: ToolCallContext) -> object:
        return told if tool.name in given else tool.call(arguments, context)

    return replace(tool, call=call)


def given_in_exchange(talk: Talk) -> frozenset[str]:
    """Return the tools that gave a result, no error, since the last prompt of the main line."""
    if not talk.head().exchange:
        return frozenset()
    answered: set[str] = set()
    called: set[str] = set()
    for event in open_exchange(talk):
        match event:
            case ToolResultRecorded(call_id=call_id, is_error=False):
                answered.add(call_id)
            case ToolCallRecorded(call_id=call_id, name=name) if call_id in answered:
                called.add(name)
            case _:
                continue
    if not called:
        return frozenset()
    head = talk.head()
    stretches = talk.stream.lineage(head.version, head)
    declared = in_force(talk.backend, stretches, "tools")
    tools = declared.event() if declared else None
    names = given_names(tools if isinstance(tools, ToolsDeclared) else None)
    return frozenset(names.get(name, name) for name in called)
