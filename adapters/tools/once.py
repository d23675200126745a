"""Tools that give all they have the first time: called again in one exchange, they only say so.

Whether a call is the first is told from the log, so that every process, and every replay, tells the
same; in a conversation without a prompt each one is.
"""

from __future__ import annotations

from hansard.adapters.backwards import backwards
from hansard.adapters.reading import in_force
from hansard.adapters.talk import Talk
from hansard.adapters.tools.tool import Tool
from hansard.domain.events import ToolCallRecorded, ToolResultRecorded, ToolsDeclared
from hansard.domain.tools import ToolDefinition
from hansard.projections.called_names import given_names


def repeated(definition: ToolDefinition, advice: str) -> Tool:
    """Return what stands in for a tool that has given its result already."""
    told = (
        f"ALREADY LOADED. The body of '{definition.name}' was returned earlier in this turn "
        "\N{EM DASH} read it from your conversation history above. "
        f"Do not call this tool again.\n{advice}"
    )
    return Tool(definition, lambda _arguments, _context: told)


def given_in_exchange(talk: Talk) -> frozenset[str]:
    """Return the tools that gave a result, no error, since the last prompt of the main line."""
    head = talk.head()
    if not head.exchange:
        return frozenset()
    stretches = talk.stream.lineage(head.version, head)
    answered: set[str] = set()
    called: set[str] = set()
    for recorded in backwards(talk.backend, stretches):
        if recorded.exchange < head.exchange:
            break
        match recorded.event():
            case ToolResultRecorded(call_id=call_id, is_error=False):
                answered.add(call_id)
            case ToolCallRecorded(call_id=call_id, name=name) if call_id in answered:
                called.add(name)
            case _:
                continue
    if not called:
        return frozenset()
    declared = in_force(talk.backend, stretches, "tools")
    tools = declared.event() if declared else None
    names = given_names(tools if isinstance(tools, ToolsDeclared) else None)
    return frozenset(names.get(name, name) for name in called)
