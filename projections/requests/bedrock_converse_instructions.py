"""Instructions and tools in the spelling of Bedrock's Converse API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from onrecord.domain.content import Native, Text
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.native_members import objects
from onrecord.projections.requests.bedrock_converse_draft import MARK, Draft
from onrecord.projections.requests.builtin_tools import tools_for
from onrecord.projections.requests.foreign import instructions_told, tool_told, whole
from onrecord.projections.requests.tool_schemas import BEDROCK, schema_for

_OPEN: Final[JsonObject] = {"type": "object"}


def spell_instructions(draft: Draft) -> list[JsonObject]:
    """Return what stands under `system`: blocks, none of them blank."""
    instructions = draft.history.instructions
    match instructions.content if instructions else "":
        case str() as text:
            return _told([{"text": text}])
        case Text(text=text):
            return _told([{"text": text}])
        case Native(api="bedrock-converse") as native:
            value = whole(native, draft.blobs).value
            return _told(objects(value.get("system", [value])))
        case Native() as native:
            text, note = instructions_told(whole(native, draft.blobs))
            draft.notes.append(note)
            return _told([{"text": text}])


def spell_tools(draft: Draft) -> list[JsonObject]:
    """Return what stands under `toolConfig.tools`, in the order in which they were defined."""
    spelled: list[JsonObject] = []
    for tool in tools_for(draft.history.tools, draft.options.api):
        match tool:
            case ToolDefinition():
                spelled.append(_definition(draft, tool))
            case Native(api="bedrock-converse"):
                value = whole(tool, draft.blobs).value
                spelled += [] if MARK in value else [value]
            case Native():
                neutral, note = tool_told(whole(tool, draft.blobs))
                draft.notes.append(note)
                spelled += [_definition(draft, neutral)] if neutral else []
    return spelled


def declare_called(draft: Draft, ran: Iterable[str]) -> None:
    """Declare the tools that were called, or that the service `ran`, where none is in force (B3)."""
    own: list[JsonObject] = [{"systemTool": {"name": name}} for name in ran]
    if draft.tools or not (draft.called or own):
        return
    called = [{"toolSpec": {"name": name, "inputSchema": {"json": _OPEN}}} for name in draft.called]
    draft.tools = [*called, *own]
    why = "no tools are in force: those that were called are declared, with any input"
    draft.note("repaired", "B3", None, why)


def _told(blocks: list[JsonObject]) -> list[JsonObject]:
    """Return the blocks that say something (B4), without cache points (B13)."""
    return [block for block in blocks if MARK not in block and _says(block)]


def _says(block: JsonObject) -> bool:
    text = block.get("text")
    return not isinstance(text, str) or bool(text.strip())


def _definition(draft: Draft, tool: ToolDefinition) -> JsonObject:
    told: JsonObject = {"name": draft.tool_name(tool.name, None)}
    if tool.description and tool.description.strip():
        told["description"] = tool.description
    schema, done = schema_for(tool.input_schema, BEDROCK)
    if done:
        draft.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
    return {"toolSpec": {**told, "inputSchema": {"json": schema}}}
