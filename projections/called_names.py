"""Names of tools as their callers gave them, where models were told of them under others.

A name that an API refuses goes to it spelled anew (projections/requests/tool_names.py), so that is
the name that the model calls. Which tool it means is told by the tools in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onrecord.domain.content import Native
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.neutral import tool_of
from onrecord.projections.requests.tool_names import LENGTHS, name_for, name_for_gemini


def given_names(defined: ToolsDeclared | None) -> Mapping[str, str]:
    """Return the caller's own name of each tool that goes under another one, by that."""
    given = set(_names(defined)) if defined else set[str]()
    spelled = {(name_for(name, longest), name) for name in given for longest in LENGTHS}
    spelled |= {(name_for_gemini(name), name) for name in given}
    return {other: name for other, name in sorted(spelled) if other not in given}


def _names(defined: ToolsDeclared) -> Iterable[str]:
    for tool in defined.tools:
        told = tool_of(tool) if isinstance(tool, Native) else tool
        if isinstance(told, ToolDefinition):
            yield told.name
