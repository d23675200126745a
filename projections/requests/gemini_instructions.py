"""Instructions and tools in Gemini's spelling."""

from __future__ import annotations

from typing import Any

from onrecord.domain.content import Native, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.neutral_gemini import API
from onrecord.projections.neutral_gemini_parts import member, objects_in
from onrecord.projections.requests.builtin_tools import tools_for
from onrecord.projections.requests.foreign import instructions_told, tool_told, whole
from onrecord.projections.requests.gemini_draft import Draft
from onrecord.projections.requests.tool_schemas import GEMINI, schema_for

_DECLARED = "functionDeclarations"


def spell_instructions(draft: Draft) -> Any:
    """Return what stands under `systemInstruction`; None where nothing does."""
    instructions = draft.history.instructions
    match instructions.content if instructions else "":
        case str() as text:
            return _instruction(text)
        case Text(text=text):
            return _instruction(text)
        case Native() as native if native.api == API:
            return member(whole(native, draft.blobs).value, "systemInstruction")
        case Native() as native:
            text, note = instructions_told(whole(native, draft.blobs))
            draft.notes.append(note)
            return _instruction(text)


def spell_tools(draft: Draft) -> list[JsonObject] | None:
    """Return what stands under `tools`: all functions in one tool, the service's own one each.

    "Multiple tools are supported only when they are all search tools", so functions do not go as a
    tool each.
    """
    spelled: list[JsonObject] = []
    declared: list[JsonObject] = []
    for tool in _tools(draft):
        functions = objects_in(member(tool, _DECLARED))
        if not functions:
            spelled.append(tool)
            continue
        if not declared:
            spelled.append({_DECLARED: declared})
        declared += functions
    return spelled or None


def _tools(draft: Draft) -> list[JsonObject]:
    told: list[JsonObject] = []
    for tool in tools_for(draft.history.tools, API):
        if isinstance(tool, ToolDefinition):
            told.append(_definition(draft, tool))
        elif tool.api == API:
            told.append(whole(tool, draft.blobs).value)
        else:
            neutral, note = tool_told(whole(tool, draft.blobs))
            draft.notes.append(note)
            told += [_definition(draft, neutral)] if neutral else []
    return told


def _instruction(text: str) -> JsonObject | None:
    return {"parts": [{"text": text}]} if text.strip() else None


def _definition(draft: Draft, tool: ToolDefinition) -> JsonObject:
    """Return a tool of one function; its schema goes as JSON Schema, which loses nothing."""
    told: JsonObject = {"name": draft.tool_name(tool.name, None)}
    if tool.description is not None:
        told["description"] = tool.description
    schema, done = schema_for(tool.input_schema, GEMINI)
    if done:
        draft.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
    return {_DECLARED: [{**told, "parametersJsonSchema": schema}]}
