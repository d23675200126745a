"""What tools that Bedrock runs were asked and what they gave, in the form that all APIs share.

They are `toolUse` and `toolResult` blocks of an answer; a call has `type: server_tool_use`. Shapes:
docs.aws.amazon.com, "ToolUseBlock", "ToolResultBlock", "System tools".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, cast

from onrecord.domain.content import Document, ServerToolCall, ServerToolResult, Text, Url
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.native_members import members, objects, text_or_none, texts
from onrecord.projections.neutral_bedrock_documents import parts

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
    found = held.get("searchResult")
    return _page(cast("JsonObject", found)) if isinstance(found, dict) else parts(held)


def _page(found: JsonObject) -> tuple[_Found, ...]:
    """Return the page that a search found, then what it says."""
    source, title = text_or_none(found.get("source")), text_or_none(found.get("title"))
    page = (Url(url=source, title=title),) if source else ()
    return (*page, *texts(*(part.get("text") for part in objects(found.get("content")))))
