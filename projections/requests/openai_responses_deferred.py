"""Tools that are loaded when a search finds them, in a request to OpenAI's Responses API (O18).

"Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search."
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.requests.openai_responses_draft import Draft

_DEFERRED: Final = "defer_loading"


def load_what_none_searches(draft: Draft, tools: list[JsonObject]) -> list[JsonObject]:
    """Return the tools, none deferred where there is no search among them."""
    if any(tool.get("type") == "tool_search" for tool in tools):
        return tools
    return [_loaded(draft, tool) for tool in tools]


def _loaded(draft: Draft, tool: JsonObject) -> JsonObject:
    """Return a tool, or a namespace of tools, without deferral."""
    if tool.get(_DEFERRED):
        why = f"{tool.get('name')} is not deferred: no search for tools goes along"
        draft.note("repaired", "O18", None, why)
        tool = {name: held for name, held in tool.items() if name != _DEFERRED}
    held: Any = tool.get("tools")
    if not isinstance(held, list) or tool.get("type") != "namespace":
        return tool
    members = [
        _loaded(draft, cast("JsonObject", member)) if isinstance(member, dict) else member
        for member in cast("list[Any]", held)
    ]
    return tool if members == held else {**tool, "tools": members}
