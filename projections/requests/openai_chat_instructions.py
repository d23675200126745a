"""Instructions and tools in the spelling of Chat Completions."""

from __future__ import annotations

from typing import Any

from onrecord.domain.content import Native, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.neutral_openai_chat_parts import objects_in
from onrecord.projections.requests.builtin_tools import tools_for
from onrecord.projections.requests.foreign import instructions_told, tool_told, whole
from onrecord.projections.requests.openai_chat_draft import Draft
from onrecord.projections.requests.tool_schemas import OPENAI, schema_for


def spell_instructions(draft: Draft) -> list[JsonObject]:
    """Return the messages that a conversation begins with, each in a role that the model takes."""
    instructions = draft.history.instructions
    match instructions.content if instructions else "":
        case str() as text:
            return _instructed(draft, text)
        case Text(text=text):
            return _instructed(draft, text)
        case Native(api="openai-chat") as native:
            held: Any = whole(native, draft.blobs).value.get("messages")
            return [_in_role(draft, message) for message in objects_in(held)]
        case Native() as native:
            text, note = instructions_told(whole(native, draft.blobs))
            draft.notes.append(note)
            return _instructed(draft, text)


def spell_tools(draft: Draft) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    spelled: list[JsonObject] = []
    for tool in tools_for(draft.history.tools, "openai-chat"):
        match tool:
            case ToolDefinition():
                spelled.append(_definition(draft, tool))
            case Native(api="openai-chat"):
                spelled.append(_own_definition(draft, whole(tool, draft.blobs).value))
            case Native():
                neutral, note = tool_told(whole(tool, draft.blobs))
                draft.notes.append(note)
                spelled += [_definition(draft, neutral)] if neutral else []
    return spelled or None


def _instructed(draft: Draft, text: str) -> list[JsonObject]:
    if not text.strip():
        return []
    return [_in_role(draft, {"role": "system", "content": text})]


def _in_role(draft: Draft, message: JsonObject) -> JsonObject:
    role: Any = message.get("role")
    speaks = draft.reader.role(role) if isinstance(role, str) else role
    if speaks == role:
        return message
    draft.note("translated", "C6", None, f"the model takes no message of role {role}")
    return {**message, "role": speaks}


def _own_definition(draft: Draft, value: JsonObject) -> JsonObject:
    """Return a definition as it came; only OpenAI's own service is known to be strict on names."""
    match value:
        case {"function": {"name": str(name)}} if draft.reader.is_openai:
            function: JsonObject = value["function"]
            taken = draft.tool_name(name, None)
            return value if taken == name else {**value, "function": {**function, "name": taken}}
        case _:
            return value


def _definition(draft: Draft, tool: ToolDefinition) -> JsonObject:
    told: JsonObject = {"name": draft.tool_name(tool.name, None)}
    if tool.description is not None:
        told["description"] = tool.description
    schema, done = schema_for(tool.input_schema, OPENAI)
    if done:
        draft.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
    return {"type": "function", "function": {**told, "parameters": schema}}
