"""What tools that Bedrock runs were asked and what they gave, in the form that all APIs share.

They are `toolUse` and `toolResult` blocks of an answer; a call has `type: server_tool_use`. Shapes:
docs.aws.amazon.com, "ToolUseBlock", "ToolResultBlock", "System tools".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from hansard.domain import jsontext
from hansard.domain.content import Document, ServerToolCall, ServerToolResult, Text, Url
from hansard.domain.jsontext import JsonObject
from hansard.projections.native_members import members, objects, text_or_none, texts

NAMES: Final[Mapping[str, str]] = {
    "nova_grounding": "web_search",
    "nova_code_interpreter": "code_execution",
}
"""Names of Bedrock's system tools to the names that all APIs share."""

_RESULT: Final = "_result"

_Found: TypeAlias = Text | Url | Document


def called(value: JsonObject) -> ServerToolCall | None:
    """Return what a tool that Bedrock runs was asked; None for any other block."""
    match value:
        case {"toolUse": {"type": "server_tool_use", "toolUseId": str(call), "name": str(name)}}:
            asked = cast("JsonObject", value["toolUse"]).get("input", {})
            return ServerToolCall(id=call, name=NAMES.get(name, name), arguments=asked)
        case _:
            return None


def gave(value: JsonObject) -> ServerToolResult | None:
    """Return what a tool gave, of a `toolResult` that stands in an answer; None for other blocks.

    The name is that of its call where the type of the result tells it, else empty.
    """
    match value:
        case {"toolResult": {"toolUseId": str(call)}}:
            held = cast("JsonObject", value["toolResult"])
            kind = text_or_none(held.get("type")) or ""
            name = kind.removesuffix(_RESULT)
            return ServerToolResult(
                call_id=call,
                name=NAMES.get(name, name),
                content=tuple(part for it in objects(held.get("content")) for part in _parts(it)),
                is_error=held.get("status") == "error",
                metadata=members(held, "status"),
            )
        case _:
            return None


def _parts(held: JsonObject) -> tuple[_Found, ...]:
    match held:
        case {"text": text}:
            return texts(text)
        case {"json": said}:
            return (Text(text=jsontext.write(said).decode()),)
        case {"image": {"format": str(kind), "source": {"bytes": str(data)}}}:
            return (_document(f"image/{kind}", None, data),)
        case {"document": {"source": {"text": str(text)}}}:
            return texts(text)
        case {"document": {"format": str(kind), "source": {"bytes": str(data)}} as about}:
            media_type = _DOCUMENTS.get(kind, "application/octet-stream")
            name = text_or_none(cast("JsonObject", about).get("name"))
            return (_document(media_type, name, data),)
        case {"searchResult": dict()}:
            return _page(cast("JsonObject", held["searchResult"]))
        case _:
            return ()


_DOCUMENTS: Final[Mapping[str, str]] = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def _document(media_type: str, name: str | None, data: Any) -> Document:
    return Document(media_type=media_type, name=name, url=f"data:{media_type};base64,{data}")


def _page(found: JsonObject) -> tuple[_Found, ...]:
    """Return the page that a search found, then what it says."""
    source, title = text_or_none(found.get("source")), text_or_none(found.get("title"))
    page = (Url(url=source, title=title),) if source else ()
    return (*page, *texts(*(part.get("text") for part in objects(found.get("content")))))
