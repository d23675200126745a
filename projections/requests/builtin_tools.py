"""How each API spells the tools that providers have themselves.

Sources: the types of the SDKs (anthropic 2.11, openai 3.52, google-genai 3.4, botocore 1.44).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from onrecord.domain.content import Native
from onrecord.domain.errors import UnsupportedTool
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import BuiltinTool, ToolDefinition

_Spelling: TypeAlias = Callable[[BuiltinTool, JsonObject], JsonObject]


def tools_for(defined: ToolsDeclared | None, api: str) -> Iterator[ToolDefinition | Native]:
    """Yield the tools in force, those of providers as an API spells them.

    Raises UnsupportedTool where the API has no such tool.
    """
    for tool in defined.tools if defined else ():
        yield spelled(tool, api) if isinstance(tool, BuiltinTool) else tool


def spelled(tool: BuiltinTool, api: str) -> Native:
    """Return a provider's tool as an API spells it; UnsupportedTool where it has none."""
    spelling = SPELLINGS.get(api, {}).get(tool.name)
    if spelling is None:
        able = tuple(name for name, tools in SPELLINGS.items() if tool.name in tools)
        raise UnsupportedTool(tool.name, api, able)
    return Native(api=api, value=spelling(tool, tool.options.get(api, {})))


def _dated(kind: str, version: str, name: str | None = None) -> _Spelling:
    """Return the spelling of a tool whose type ends with a date."""

    def spell(tool: BuiltinTool, options: JsonObject) -> JsonObject:
        typed = f"{kind}_{tool.version or version}"
        return {"type": typed, "name": name or kind, **options}

    return spell


def _typed(kind: str, **members: JsonObject) -> _Spelling:
    """Return the spelling of a tool that its type names."""
    return lambda _, options: {"type": kind, **members, **options}


def _member(name: str) -> _Spelling:
    """Return the spelling of a tool that is a member of its own."""
    return lambda _, options: {name: options}


def _system(name: str) -> _Spelling:
    """Return the spelling of a tool of Bedrock's."""
    return lambda _, options: {"systemTool": {"name": name, **options}}


SPELLINGS: Final[Mapping[str, Mapping[str, _Spelling]]] = {
    "anthropic-messages": {
        "web_search": _dated("web_search", "20250305"),
        "web_fetch": _dated("web_fetch", "20250910"),
        "code_execution": _dated("code_execution", "20250825"),
        "tool_search": _dated("tool_search_tool_bm25", "20251119"),
        "memory": _dated("memory", "20250818"),
        "computer": _dated("computer", "20250124"),
        "advisor": _dated("advisor", "20260301"),
        "mcp": _typed("mcp_toolset"),
    },
    "openai-responses": {
        "web_search": _typed("web_search"),
        "file_search": _typed("file_search"),
        "code_execution": _typed("code_interpreter", container={"type": "auto"}),
        "image_generation": _typed("image_generation"),
        "mcp": _typed("mcp"),
        "shell": _typed("shell"),
        "computer": _typed("computer"),
        "apply_patch": _typed("apply_patch"),
        "tool_search": _typed("tool_search"),
        "program": _typed("programmatic_tool_calling"),
    },
    "gemini": {
        "web_search": _member("googleSearch"),
        "web_fetch": _member("urlContext"),
        "code_execution": _member("codeExecution"),
        "file_search": _member("fileSearch"),
        "computer": _member("computerUse"),
    },
    "bedrock-converse": {
        "web_search": _system("nova_grounding"),
        "code_execution": _system("nova_code_interpreter"),
    },
}
"""API, then the name that all APIs share, to the spelling; others have no tools of their own.

Of the dated ones the version is the one that most models take; the newest ones take more.
"""
