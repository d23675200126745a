"""Instructions and tools in the spelling of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Text
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.neutral_openai_responses import API
from onrecord.projections.requests.builtin_tools import tools_for
from onrecord.projections.requests.foreign import instructions_told, tool_told, whole
from onrecord.projections.requests.openai_responses_deferred import load_what_none_searches
from onrecord.projections.requests.openai_responses_draft import Draft
from onrecord.projections.requests.tool_names import OPENAI, name_for, renamed
from onrecord.projections.requests.tool_schemas import OPENAI as WANTS
from onrecord.projections.requests.tool_schemas import schema_for


def spell_instructions(
    draft: Draft, instructions: InstructionsSet | None, blobs: Mapping[str, bytes]
) -> tuple[str | None, list[JsonObject]]:
    """Return what stands under `instructions`, and the items that lead the input."""
    match instructions.content if instructions else "":
        case str() as text:
            return text if text.strip() else None, []
        case Text(text=text):
            return text if text.strip() else None, []
        case Native(api="openai-responses") as native:
            return _own(restore(native.value, blobs))
        case Native() as native:
            text, note = instructions_told(whole(native, blobs))
            draft.notes.append(note)
            return text or None, []


def spell_tools(
    draft: Draft, tools: ToolsDeclared | None, blobs: Mapping[str, bytes]
) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    spelled: list[JsonObject] = []
    for tool in tools_for(tools, API):
        if isinstance(tool, Native) and tool.api == API:
            spelled.append(restore(tool.value, blobs))
            continue
        if isinstance(tool, Native):
            told, note = tool_told(whole(tool, blobs))
            draft.notes.append(note)
        else:
            told = tool
        if told is not None:
            spelled.append(_definition(draft, told))
    return load_what_none_searches(draft, spelled) or None


def _own(value: JsonObject) -> tuple[str | None, list[JsonObject]]:
    told: Any = value.get("instructions")
    leading: Any = value.get("input")
    items = cast("list[Any]", leading) if isinstance(leading, list) else []
    return told if isinstance(told, str) and told.strip() else None, items


def _definition(draft: Draft, tool: ToolDefinition) -> JsonObject:
    """Return a function's definition; `strict` would refuse most schemas, and is on by default."""
    name = name_for(tool.name, OPENAI)
    if name != tool.name:
        draft.note("translated", "O7", None, renamed(tool.name, name))
    told: JsonObject = {"type": "function", "name": name}
    if tool.description is not None:
        told["description"] = tool.description
    schema, done = schema_for(tool.input_schema, WANTS)
    if done:
        draft.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
    return {**told, "parameters": schema, "strict": False}
