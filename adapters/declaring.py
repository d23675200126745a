"""Putting tools in force: what is in force already is not recorded again.

Programs declare what they have whenever they begin, and a list of tools may be megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from onrecord.adapters.amendments import amendments
from onrecord.adapters.reading import in_force
from onrecord.adapters.stream import Stream
from onrecord.adapters.writing import Done
from onrecord.domain import conversation
from onrecord.domain.content import Native
from onrecord.domain.events import Event, ToolsDeclared
from onrecord.domain.log import Duplicate
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource


def declare(
    talk: Stream,
    tools: Iterable[ToolDefinition | BuiltinTool | Native],
    sources: Iterable[ToolSource],
) -> Done:
    """Record that these tools are in force; where the conversation says so, nothing changes."""
    (event,) = conversation.declare_tools(talk.known_head(), tools, sources)
    return _said(talk, event) or talk.append(event)


def _said(talk: Stream, declared: Event) -> Duplicate | None:
    """Return where the conversation itself, not what it was forked from, put the same in force."""
    head = talk.head()
    if not head.tools:
        return None
    stretches = talk.lineage(head.version, head)
    redacted = amendments(talk.backend, stretches).redacted
    found = in_force(talk.backend, stretches, "tools", redacted)
    if found is None or found.conversation_id != talk.conversation_id:
        return None
    return Duplicate(found.version, found.version) if _is_same(found.event(), declared) else None


def _is_same(said: object, declared: Event) -> bool:
    match said, declared:
        case ToolsDeclared(), ToolsDeclared():
            # By digest, for of what was recorded long strings were moved to blobs.
            return (said.sha256, said.sources) == (declared.sha256, declared.sources)
        case _:
            return False
