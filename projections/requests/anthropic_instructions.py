"""Instructions and tools in Anthropic's spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Text
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import MARK
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.requests.anthropic_draft import Draft
from onrecord.projections.requests.builtin_tools import tools_for
from onrecord.projections.requests.foreign import instructions_told, tool_told, whole
from onrecord.projections.requests.tool_names import ANTHROPIC, name_for, renamed
from onrecord.projections.requests.tool_schemas import ANTHROPIC as WANTS
from onrecord.projections.requests.tool_schemas import schema_for


def spell_instructions(
    draft: Draft, instructions: InstructionsSet | None, blobs: Mapping[str, bytes]
) -> str | list[JsonObject] | None:
    """Return what stands under `system`: a text, or the blocks that the caller gave."""
    match instructions.content if instructions else "":
        case str() as text:
            return text if text.strip() else None
        case Text(text=text):
            return text if text.strip() else None
        case Native(api="anthropic-messages") as native:
            blocks = _system_blocks(restore(native.value, blobs))
            told = [_unmarked(draft, block) for block in blocks if _is_told(block)]
            return told or None
        case Native() as native:
            text, note = instructions_told(whole(native, blobs))
            draft.notes.append(note)
            return text or None


def spell_tools(
    draft: Draft, tools: ToolsDeclared | None, blobs: Mapping[str, bytes]
) -> list[JsonObject] | None:
    """Return what stands under `tools`, in the order in which they were defined."""
    spelled: list[JsonObject] = []
    for tool in tools_for(tools, "anthropic-messages"):
        match tool:
            case ToolDefinition():
                spelled.append(_definition(draft, tool))
            case Native(api="anthropic-messages"):
                spelled.append(_unmarked(draft, restore(tool.value, blobs)))
            case Native():
                neutral, note = tool_told(whole(tool, blobs))
                draft.notes.append(note)
                spelled += [_definition(draft, neutral)] if neutral else []
    return spelled or None


def _system_blocks(value: JsonObject) -> list[JsonObject]:
    """Return the blocks of `system`, recorded as `{"system": [...]}` or as the one block."""
    held: Any = value.get("system", [value])
    if isinstance(held, str):
        return [{"type": "text", "text": held}]
    return cast("list[JsonObject]", held) if isinstance(held, list) else []


def _is_told(block: JsonObject) -> bool:
    """Whether a block says something; a blank text is refused, here too (R10)."""
    text = block.get("text")
    return block.get("type") != "text" or not isinstance(text, str) or bool(text.strip())


def _unmarked(draft: Draft, block: JsonObject) -> JsonObject:
    if MARK not in block:
        return block
    draft.note("repaired", "R16", None, "cache marks are placed anew")
    return {key: held for key, held in block.items() if key != MARK}


def _definition(draft: Draft, tool: ToolDefinition) -> JsonObject:
    name = name_for(tool.name, ANTHROPIC)
    if name != tool.name:
        draft.note("translated", "R15", None, renamed(tool.name, name))
    told: JsonObject = {"name": name}
    if tool.description is not None:
        told["description"] = tool.description
    schema, done = schema_for(tool.input_schema, WANTS)
    if done:
        draft.note("translated", "schema", None, f"the schema of {tool.name}: {done}")
    return {**told, "input_schema": schema}
