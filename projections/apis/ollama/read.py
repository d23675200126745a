"""Blocks of Ollama's chat API in neutral form.

A block is what a model thought, a message without that and without its calls, or one of the calls.
Shapes: Ollama's `api/types.go`, "Message" and "ToolCall"; tools are OpenAI's functions.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final, Literal, cast

from onrecord.domain.content import (
    Document,
    NeutralBlock,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.documents import media_type_of
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.members import list_of

NAME: Final = "ollama"

Kind = Literal["message", "thinking", "call"]
"""What a block is; a call is one element of `tool_calls`."""

_HEAD: Final = 64
"""How much of a picture's base64 tells its kind."""


def kind_of(value: JsonObject) -> Kind:
    """Return what a block is; what has no mark of another kind is a message."""
    if "role" in value:
        return "message"
    if value.keys() == {"thinking"}:
        return "thinking"
    return "call" if "function" in value else "message"


def block(value: JsonObject) -> NeutralBlock:
    """Return a block in neutral form; Opaque where its kind says nothing to other APIs."""
    match value:
        case {"role": "tool"}:
            call = value.get("tool_call_id")
            return ToolResult(call_id=call if isinstance(call, str) else "", content=_text(value))
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"role": str()} | {"content": str()}:
            return Text(text="".join(text.text for text in _text(value)))
        case {"thinking": str(thought)}:
            return Reasoning(text=thought)
        case {"function": {"name": str(name), **rest}}:
            call = value.get("id")
            arguments: Any = rest.get("arguments")
            return ToolCall(
                id=call if isinstance(call, str) else "",
                name=name,
                arguments={} if arguments is None else arguments,
            )
        case _:
            return Opaque(api=NAME, type=next(iter(value), ""))


def user_message(value: JsonObject) -> tuple[Text | Document, ...]:
    """Return what a message of the user's holds, pictures first; none for any other block."""
    if value.get("role") != "user":
        return ()
    return (*pictures(value), *_text(value))


def pictures(value: JsonObject) -> tuple[Document, ...]:
    """Return the pictures of a message, which it has in base64."""
    images: Any = value.get("images")
    listed = list_of(images)
    return tuple(_picture(image) for image in listed if isinstance(image, str))


def instructions(value: JsonObject) -> str:
    """Return the text of the messages that a conversation begins with: `{"messages": [...]}`."""
    content: Any = value.get("messages", [value])
    listed = list_of(content)
    messages = [cast("JsonObject", each) for each in listed if isinstance(each, dict)]
    return "\n\n".join(text.text for message in messages for text in _text(message) if text.text)


def partial(part: Unfinished) -> JsonObject | None:
    """Return a message that came in part and says something; of thinking nothing stays."""
    content = part.value.get("content")
    return part.value if isinstance(content, str) and content.strip() else None


def _text(value: JsonObject) -> tuple[Text, ...]:
    content = value.get("content")
    return (Text(text=content),) if isinstance(content, str) else ()


def _picture(image: str) -> Document:
    try:
        head = b64decode(image[:_HEAD])
    except ValueError:
        head = b""
    kind = media_type_of(head)
    return Document(
        media_type=kind if kind.startswith("image/") else "image/*",
        url=f"data:{kind};base64,{image}",
    )
