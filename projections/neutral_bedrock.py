"""Blocks of Bedrock's Converse API in neutral form: for other APIs, and for showing.

A block is an object of one member, which names its kind. What only its maker can read (signatures,
redacted reasoning, the places that citations point at) stays behind. Shapes: docs.aws.amazon.com,
"ContentBlock".
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.domain.content import Block, Opaque, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.native_members import objects, text_or_none
from onrecord.projections.neutral_bedrock_documents import document, parts, texts_in
from onrecord.projections.server_tools_bedrock import called, gave

API: Final = "bedrock-converse"

_KINDS: Final = frozenset(
    {
        *("text", "image", "document", "video", "audio", "searchResult", "citationsContent"),
        *("toolUse", "toolResult", "toolAddition", "toolRemoval"),
        *("reasoningContent", "guardContent", "cachePoint"),
    }
)


def neutral(value: JsonObject) -> Block:
    """Return a block in neutral form; Opaque where its kind says nothing to other APIs.

    A result with a `type` is of a tool that Bedrock runs.
    """
    match value:
        case {"text": str(text)}:
            return Text(text=text)
        case {"citationsContent": {"content": content}}:
            return Text(text=texts_in(content))
        case {"reasoningContent": {"reasoningText": {"text": str(text)}}}:
            return Reasoning(text=text)
        case {"reasoningContent": dict()}:
            return Reasoning(text="")
        case {"toolUse": {"type": "server_tool_use"}} | {"toolResult": {"type": str()}}:
            return called(value) or gave(value) or _opaque(value)
        case {"toolUse": {"toolUseId": str(call), "name": str(name)}}:
            return ToolCall(id=call, name=name, arguments=held(value).get("input", {}))
        case {"toolResult": {"toolUseId": str(call)}}:
            gives = held(value)
            content = tuple(part for each in objects(gives.get("content")) for part in parts(each))
            return ToolResult(
                call_id=call, content=content, is_error=gives.get("status") == "error"
            )
        case _:
            return document(value) or _opaque(value)


def instructions(value: JsonObject) -> str:
    """Return the text of what stands under `system`: `{"system": [...]}`, or one block of it."""
    said = [document(block) for block in objects(value.get("system", [value]))]
    return "\n\n".join(part.text for part in said if isinstance(part, Text) and part.text)


def tool(value: JsonObject) -> ToolDefinition | None:
    """Return the definition of a tool of the caller; None for one that Bedrock runs."""
    match value:
        case {"toolSpec": {"name": str(name), "inputSchema": {"json": dict()}}}:
            told = held(value)
            return ToolDefinition(
                name=name,
                description=text_or_none(told.get("description")),
                input_schema=told["inputSchema"]["json"],
            )
        case _:
            return None


def partial(part: Unfinished) -> JsonObject | None:
    """Return the block of text that came in part; None where nothing of it may stay."""
    match part.value:
        case {"text": str(begun)}:
            text = begun + part.partial
            return {**part.value, "text": text} if text.strip() else None
        case {"citationsContent": {"content": [{"text": str(begun)}]}}:
            text = begun + part.partial
            cited = {**held(part.value), "content": [{"text": text}]}
            return {"citationsContent": cited} if text.strip() else None
        case _:
            return None


def kind_of(value: JsonObject) -> str:
    """Return the name of the member that a block is; its first, if none is known, or nothing."""
    return next((name for name in value if name in _KINDS), next(iter(value), ""))


def held(value: JsonObject) -> JsonObject:
    """Return what the member of a block holds; nothing if that is no object."""
    found: Any = value.get(kind_of(value))
    return cast("JsonObject", found) if isinstance(found, dict) else {}


def _opaque(value: JsonObject) -> Opaque:
    return Opaque(api=API, type=kind_of(value))
