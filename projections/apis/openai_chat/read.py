"""Blocks of OpenAI's Chat Completions API in neutral form, compatible servers' own among them.

A block is a message without its reasoning and its calls, one of these, or a part of what a caller
said. Shapes: platform.openai.com, "Chat Completions"; what compatible servers add is named where
it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

from onrecord.domain import jsontext
from onrecord.domain.content import (
    Document,
    NeutralBlock,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.documents import UNKNOWN, media_type_of
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.tools import custom_tool
from onrecord.projections.members import objects, says, text

# Parts of a Chat Completions message in neutral form: texts, images, files and sounds.
#
# Shapes: platform.openai.com, "Chat Completions", request messages. What stands in a part as
# bytes becomes a `data:` URL (RFC 2397); a file that only its id names says so.

Part = Text | Document
"""What a message or a result may hold beside calls."""

SOUNDS: Final[Mapping[str, str]] = {"wav": "audio/wav", "mp3": "audio/mpeg"}
"""What `input_audio` calls a format, and its media type."""

_INLINE: Final = "data:"


def parts(content: Any) -> tuple[Part, ...]:
    """Return what `content` says: a string, a list of parts, or nothing."""
    match content:
        case str():
            return (Text(text=content),)
        case list():
            read = (part(item) for item in cast("list[Any]", content))
            return tuple(each for each in read if each is not None)
        case _:
            return ()


def part(value: Any) -> Part | None:
    """Return what one part says; None where its shape is not known."""
    match value:
        case str():
            return Text(text=value)
        case {"type": "text" | "refusal" as kind}:
            text = value.get(kind)
            return Text(text=text) if isinstance(text, str) else None
        case {"type": "image_url", "image_url": str(url) | {"url": str(url)}}:
            return _document(url, "image/*", None)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            media_type = SOUNDS.get(kind, f"audio/{kind}")
            return Document(media_type=media_type, url=f"data:{media_type};base64,{data}")
        case {"type": "file", "file": dict()}:
            return _file(cast("JsonObject", value["file"]))
        case _:
            return None


def kind_of_part(value: JsonObject) -> str:
    """Return the type of a part; one that has none is a text."""
    kind = value.get("type")
    return kind if isinstance(kind, str) else "text"


def text_of(content: Any) -> str:
    """Return the texts of `content`, joined; empty where it has none."""
    return "".join(each.text for each in parts(content) if isinstance(each, Text))


def _file(value: JsonObject) -> Part | None:
    named = value.get("filename")
    name = named if isinstance(named, str) else None
    match value:
        case {"file_data": str(data)}:
            media_type = media_type_of(b"", name)
            is_url = data.startswith((_INLINE, "https:", "http:"))
            url = data if is_url else f"data:{media_type};base64,{data}"
            return _document(url, media_type, name)
        case {"file_id": str(file_id)}:
            return Text(text=f"[file held by the provider as {file_id}]")
        case _:
            return None


def _document(url: str, guess: str, name: str | None) -> Document:
    if not url.startswith(_INLINE):
        named = media_type_of(b"", url.partition("?")[0])
        return Document(media_type=guess if named == UNKNOWN else named, name=name, url=url)
    stated = url[len(_INLINE) :].partition(",")[0].partition(";")[0]
    return Document(media_type=stated or guess, name=name, url=url)


NAME: Final = "openai-chat"

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


def block(value: JsonObject) -> NeutralBlock:
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


def user_message(value: JsonObject) -> tuple[Part, ...]:
    """Return what a message of the user's holds, with the name of who says it before its text.

    None for any other block.
    """
    if value.get("role") != "user":
        return ()
    contents, name = parts(value.get("content")), value.get("name")
    if not isinstance(name, str) or not name:
        return contents
    if contents and isinstance(contents[0], Text):
        return (Text(text=f"{name}: {contents[0].text}"), *contents[1:])
    return (Text(text=f"{name}:"), *contents)


def instructions(value: JsonObject) -> str:
    """Return the text of the messages that a conversation begins with: `{"messages": [...]}`."""
    content: Any = value.get("messages", [value])
    texts = (text_of(message.get("content")) for message in objects(content))
    return "\n\n".join(text for text in texts if text)


def tool(value: JsonObject) -> ToolDefinition | None:
    """Return the definition of a function; None for a tool of another kind.

    A function without `parameters` takes none. A custom tool takes one free text: others call it
    with that text under `arguments`.
    """
    match value:
        case {"type": "custom", "custom": {"name": str(name), **rest}}:
            return custom_tool(name, rest.get("description"))
        case {"type": "function", "function": {"name": str(name), **rest}}:
            description: Any = rest.get("description")
            schema: Any = rest.get("parameters")
            return ToolDefinition(
                name=name,
                description=description if isinstance(description, str) else None,
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


def _message(value: JsonObject) -> NeutralBlock:
    match value:
        case {"role": "tool"}:
            return ToolResult(
                call_id=text(value.get("tool_call_id")), content=parts(value.get("content"))
            )
        case {"role": "function", "name": str(name)}:
            return ToolResult(call_id=name, content=parts(value.get("content")))
        case _ if _SPEAKS.isdisjoint(value):
            return _opaque(value)
        case _:
            return Text(text=_message_text(value))


def _message_text(value: JsonObject) -> str:
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


def _call(value: JsonObject) -> NeutralBlock:
    if not isinstance(value.get("id"), str | None):
        return _opaque(value)
    call = text(value.get("id"))  # Empty where a server gave none: what is recorded has its own.
    match value:
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
    texts: list[str] = []
    for detail in details:
        match detail:
            case {"text": str(text)} | {"summary": str(text)}:
                texts.append(text)
            case _:
                continue
    return "".join(texts)


def _opaque(value: JsonObject) -> Opaque:
    kind: Any = value.get("type")
    if not isinstance(kind, str):
        kind = next(iter(value), "")
    return Opaque(api=NAME, type=kind)


def partial(part: Unfinished) -> JsonObject | None:
    """Return a message that came in part and says something; of calls and reasoning nothing stays."""
    value = part.value
    has_words = says(value.get("content"), "text") or says(value.get("refusal"), "")
    return value if has_words else None
