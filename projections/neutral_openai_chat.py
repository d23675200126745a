"""Blocks of OpenAI's Chat Completions API in neutral form, compatible servers' own among them.

A block is a message without its reasoning and its calls, one of these, or a part of what a caller
said. Shapes: platform.openai.com, "Chat Completions"; what compatible servers add is named where
it is read.
"""

from __future__ import annotations

from typing import Any, Final, Literal, cast

from onrecord.domain import jsontext
from onrecord.domain.content import Block, Opaque, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.neutral_custom_tools import custom_tool
from onrecord.projections.neutral_openai_chat_parts import Part, objects_in, part, parts, text_of
from onrecord.projections.unfinished import says

API: Final = "openai-chat"

REASONING: Final = ("reasoning_content", "reasoning", "reasoning_details")
"""Members in which compatible servers tell what a model thought (DeepSeek, Groq, OpenRouter)."""

Kind = Literal["message", "reasoning", "call", "part"]
"""What a block is: `call` is one element of `tool_calls`, or the older `function_call`."""

_SPEAKS: Final = frozenset({"role", "content", "refusal", "audio"})


def kind_of(value: JsonObject) -> Kind:
    """Return what a block is; what has no mark of another kind is a message."""
    if "role" in value:
        return "message"
    if "function_call" in value or "function" in value or "custom" in value:
        return "call"
    if value and all(member in REASONING for member in value):
        return "reasoning"
    return "part" if "type" in value and "content" not in value else "message"


def neutral(value: JsonObject) -> Block:
    """Return a block in neutral form; Opaque where its kind says nothing to other APIs."""
    match kind_of(value):
        case "reasoning":
            return Reasoning(text=_thought(value))
        case "call":
            return _call(value)
        case "part":
            return part(value) or _opaque(value)
        case "message":
            return _message(value)


def said_by_the_user(value: JsonObject) -> tuple[Part, ...]:
    """Return what a message of the user's holds, with the name of who says it before its text.

    None for any other block.
    """
    if value.get("role") != "user":
        return ()
    told, name = parts(value.get("content")), value.get("name")
    if not isinstance(name, str) or not name:
        return told
    if told and isinstance(told[0], Text):
        return (Text(text=f"{name}: {told[0].text}"), *told[1:])
    return (Text(text=f"{name}:"), *told)


def instructions(value: JsonObject) -> str:
    """Return the text of the messages that a conversation begins with: `{"messages": [...]}`."""
    held: Any = value.get("messages", [value])
    told = (text_of(message.get("content")) for message in objects_in(held))
    return "\n\n".join(text for text in told if text)


def tool(value: JsonObject) -> ToolDefinition | None:
    """Return the definition of a function; None for a tool of another kind.

    A function without `parameters` takes none. A custom tool takes one free text: others call it
    with that text under `arguments`.
    """
    match value:
        case {"type": "custom", "custom": {"name": str(name), **rest}}:
            return custom_tool(name, rest.get("description"))
        case {"type": "function", "function": {"name": str(name), **rest}}:
            told: Any = rest.get("description")
            schema: Any = rest.get("parameters")
            return ToolDefinition(
                name=name,
                description=told if isinstance(told, str) else None,
                input_schema=cast("JsonObject", schema) if isinstance(schema, dict) else _NOTHING,
            )
        case _:
            return None


_NOTHING: Final[JsonObject] = {"type": "object", "properties": {}}


def arguments_in(text: Any) -> Any:
    """Return what the arguments of a call are: JSON that is read, or the string itself."""
    if not isinstance(text, str):
        return {} if text is None else text
    if not text.strip():
        return {}
    try:
        return jsontext.read(text)
    except MalformedJson:
        return text


def _message(value: JsonObject) -> Block:
    match value:
        case {"role": "tool", "tool_call_id": str(call)}:
            return ToolResult(call_id=call, content=parts(value.get("content")))
        case {"role": "function", "name": str(name)}:
            return ToolResult(call_id=name, content=parts(value.get("content")))
        case _ if _SPEAKS.isdisjoint(value):
            return _opaque(value)
        case _:
            return Text(text=_said(value))


def _said(value: JsonObject) -> str:
    """Return a message's text; else why there is none, or what its sound says."""
    if text := text_of(value.get("content")):
        return text
    match value:
        case {"refusal": str(text)} if text:
            return text
        case {"audio": {"transcript": str(text)}}:
            return text
        case _:
            return ""


def _call(value: JsonObject) -> Block:
    call = value.get("id")
    match value:
        case _ if not isinstance(call, str):
            return _opaque(value)
        case {"function": {"name": str(name), **rest}}:
            return ToolCall(id=call, name=name, arguments=arguments_in(rest.get("arguments")))
        case {"custom": {"name": str(name), **rest}}:
            return ToolCall(id=call, name=name, arguments=rest.get("input", ""))
        case _:
            return _opaque(value)


def _thought(value: JsonObject) -> str:
    for member in REASONING:
        match value.get(member):
            case str() as text if text:
                return text
            case list():
                return _details(cast("list[Any]", value[member]))
            case _:
                continue
    return ""


def _details(details: list[Any]) -> str:
    """Return what OpenRouter's `reasoning_details` show of a thought: texts and summaries."""
    shown: list[str] = []
    for detail in details:
        match detail:
            case {"text": str(text)} | {"summary": str(text)}:
                shown.append(text)
            case _:
                continue
    return "".join(shown)


def _opaque(value: JsonObject) -> Opaque:
    kind: Any = value.get("type")
    if not isinstance(kind, str):
        kind = next(iter(value), "")
    return Opaque(api=API, type=kind)


def partial(part: Unfinished) -> JsonObject | None:
    """Return a message that came in part and says something; of calls and reasoning nothing stays."""
    value = part.value
    said = says(value.get("content"), "text") or says(value.get("refusal"), "")
    return value if said else None
