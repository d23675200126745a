"""Blocks of Bedrock's Converse API in neutral form: for other APIs, and for showing.

A block is an object of one member, which names its kind. What only its maker can read (signatures,
redacted reasoning, the places that citations point at) stays behind. Shapes: docs.aws.amazon.com,
"ContentBlock".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from onrecord.domain import jsontext
from onrecord.domain.content import (
    Document,
    NeutralBlock,
    Opaque,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
    Url,
)
from onrecord.domain.documents import UNKNOWN
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.members import members, members_of, nonempty_text, objects, texts

# Documents, pictures and pages of Bedrock's Converse API in neutral form.
#
# Bytes that stand in a block as base64 become a `data:` URL (RFC 2397); what lies in S3 keeps its
# address, which only Bedrock can read. Shapes: docs.aws.amazon.com, "DocumentBlock",
# "ImageBlock".

Part = Text | Document
"""What a result or a message may hold beside calls."""

DOCUMENTS: Final[Mapping[str, str]] = {
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
"""Format of a document to its media type."""

VIDEOS: Final[Mapping[str, str]] = {
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "mkv": "video/x-matroska",
    "webm": "video/webm",
    "flv": "video/x-flv",
    "mpeg": "video/mpeg",
    "wmv": "video/x-ms-wmv",
    "three_gp": "video/3gpp",
}
"""Format of a video to its media type; `mpg` is another word for `mpeg`."""

_MEDIA: Final = ("image", "document", "video", "audio")
_MEDIA_TYPES: Final[Mapping[str, Mapping[str, str]]] = {"document": DOCUMENTS, "video": VIDEOS}


def document(value: JsonObject) -> Part | None:
    """Return a text, a document, a picture or a page; None for a block of another kind."""
    match value:
        case {"text": str(text)} | {"guardContent": {"text": {"text": str(text)}}}:
            return Text(text=text)
        case {"guardContent": {"image": dict()}}:
            return _medium("image", value["guardContent"]["image"])
        case {"searchResult": dict()}:
            page: JsonObject = value["searchResult"]
            lines = texts(page.get("title"), page.get("source"), texts_in(page.get("content")))
            return Text(text="\n".join(line.text for line in lines))
        case {"document": dict()} if (words := _text_in(value["document"])) is not None:
            name = nonempty_text(value["document"].get("name"))
            return Text(text=f"{name}\n{words}" if name else words)
        case {"image": dict()} | {"document": dict()} | {"video": dict()} | {"audio": dict()}:
            kind = next(kind for kind in _MEDIA if kind in value)
            return _medium(kind, value[kind])
        case _:
            return None


def parts(value: JsonObject) -> tuple[Part, ...]:
    """Return what a part of a result says."""
    if "json" in value:
        return (Text(text=jsontext.write(value["json"]).decode()),)
    part = document(value)
    return () if part is None else (part,)


def texts_in(content: Any) -> str:
    """Return the texts of a list of blocks, one behind the other."""
    entries = [text.text for item in objects(content) for text in texts(item.get("text"))]
    return "".join(entries)


def _text_in(fields: JsonObject) -> str | None:
    match fields.get("source"):
        case {"text": str(text)}:
            return text
        case {"content": list()}:
            return texts_in(fields["source"]["content"])
        case _:
            return None


def _medium(kind: str, fields: JsonObject) -> Document | None:
    form = nonempty_text(fields.get("format")) or ""
    media_type = _MEDIA_TYPES[kind].get(form, UNKNOWN) if kind in _MEDIA_TYPES else f"{kind}/{form}"
    name = nonempty_text(fields.get("name"))
    match fields.get("source"):
        case {"bytes": str(data)}:
            return Document(
                media_type=media_type, name=name, url=f"data:{media_type};base64,{data}"
            )
        case {"s3Location": {"uri": str(uri)}}:
            return Document(media_type=media_type, name=name, url=uri)
        case _:
            return None


# What tools that Bedrock runs were asked and what they gave, in the form that all APIs share.
#
# They are `toolUse` and `toolResult` blocks of an answer; a call has `type: server_tool_use`.
# Shapes: docs.aws.amazon.com, "ToolUseBlock", "ToolResultBlock", "System tools".

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
            arguments = cast("JsonObject", value["toolUse"]).get("input", {})
            return ServerToolCall(id=call, name=NAMES.get(name, name), arguments=arguments)
        case _:
            return None


def gave(value: JsonObject) -> ServerToolResult | None:
    """Return what a tool gave, of a `toolResult` that stands in an answer; None for other blocks.

    The name is that of its call where the type of the result tells it, else empty.
    """
    match value:
        case {"toolResult": {"toolUseId": str(call)}}:
            fields = cast("JsonObject", value["toolResult"])
            kind = nonempty_text(fields.get("type")) or ""
            name = kind.removesuffix(_RESULT)
            return ServerToolResult(
                call_id=call,
                name=NAMES.get(name, name),
                content=tuple(part for it in objects(fields.get("content")) for part in _parts(it)),
                is_error=fields.get("status") == "error",
                metadata=members(fields, "status"),
            )
        case _:
            return None


def _parts(value: JsonObject) -> tuple[_Found, ...]:
    page = value.get("searchResult")
    return _page(cast("JsonObject", page)) if isinstance(page, dict) else parts(value)


def _page(value: JsonObject) -> tuple[_Found, ...]:
    """Return the page that a search found, then what it says."""
    source, title = nonempty_text(value.get("source")), nonempty_text(value.get("title"))
    page = (Url(url=source, title=title),) if source else ()
    return (*page, *texts(*(part.get("text") for part in objects(value.get("content")))))


NAME: Final = "bedrock-converse"

_KINDS: Final = frozenset(
    {
        *("text", "image", "document", "video", "audio", "searchResult", "citationsContent"),
        *("toolUse", "toolResult", "toolAddition", "toolRemoval"),
        *("reasoningContent", "guardContent", "cachePoint"),
    }
)


def block(value: JsonObject) -> NeutralBlock:
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
    entries = [document(block) for block in objects(value.get("system", [value]))]
    return "\n\n".join(part.text for part in entries if isinstance(part, Text) and part.text)


def tool(value: JsonObject) -> ToolDefinition | None:
    """Return the definition of a tool of the caller; None for one that Bedrock runs."""
    match value:
        case {"toolSpec": {"name": str(name), "inputSchema": {"json": dict()}}}:
            definition = held(value)
            return ToolDefinition(
                name=name,
                description=nonempty_text(definition.get("description")),
                input_schema=definition["inputSchema"]["json"],
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
    content: Any = value.get(kind_of(value))
    return members_of(content)


def _opaque(value: JsonObject) -> Opaque:
    return Opaque(api=NAME, type=kind_of(value))
