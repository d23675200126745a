"""Instructions and tools in Ollama's spelling."""

from __future__ import annotations

from typing import Any, cast

from onrecord.domain.content import Native, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.requests.builtin_tools import tools_for
from onrecord.projections.requests.foreign import instructions_told, tool_told, whole
from onrecord.projections.requests.ollama_draft import Draft
from onrecord.projections.requests.tool_schemas import OLLAMA, schema_for


def spell_instructions(draft: Draft) -> list[JsonObject]:
    """Return the messages that a conversation begins with."""
    instructions = draft.history.instructions
    match instructions.content if instructions else "":
        case str() as text:
            return _instructed(text)
        case Text(text=text):
            return _instructed(text)
        case Native(api="ollama") as native:
            held: Any = whole(native, draft.blobs).value.get("messages")
            listed = cast("list[Any]", held) if isinstance(held, list) else []
            return [cast("JsonObject", each) for each in listed if isinstance(each, dict)]
        case Native() as native:
            text, note = instructions_told(whole(native, draft.blobs))
            draft.notes.append(note)
            return _instructed(text)


def spell_tools(draft: Draft) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    spelled: list[JsonObject] = []
    for tool in tools_for(draft.history.tools, "ollama"):
        match tool:
            case ToolDefinition():
                spelled.append(_definition(draft, tool))
            case Native(api="ollama"):
                spelled.append(whole(tool, draft.blobs).value)
            case Native():
                neutral, note = tool_told(whole(tool, draft.blobs))
                draft.notes.append(note)
                spelled += [_definition(draft, neutral)] if neutral else []
    return spelled or None


def _instructed(text: str) -> list[JsonObject]:
    return [{"role": "system", "content": text}] if text.strip() else []


def _definition(draft: Draft, tool: ToolDefinition) -> JsonObject:
    told: JsonObject = {"name": draft.tool_name(tool.name, None)}
    if tool.description is not None:
        told["description"] = tool.description
    schema, done = schema_for(tool.input_schema, OLLAMA)
    if done:
        draft.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
    return {"type": "function", "function": {**told, "parameters": schema}}
