"""Blocks of Anthropic's Messages API in neutral form: for other APIs, and for showing.

What only Anthropic can read (signatures, encrypted content, citations' indexes) stays behind. The
values taken here are whole: strings that were moved to blobs are back in their place
(domain/blobs.py). Shapes: platform.claude.com, "Messages".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.domain.content import (
    Document,
    HeldFile,
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
from onrecord.domain.documents import UNKNOWN, media_type_of
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Replay
from onrecord.projections.members import (
    list_of,
    members,
    members_of,
    nonempty_text,
    objects,
    texts,
)

# Documents and images of Anthropic's Messages API in neutral form.
#
# Bytes that stand in a block as base64 become a `data:` URL (RFC 2397); a text becomes text; a
# file that only its id names says so, for nobody else can read it.

Part = Text | Document
"""What a result or a message may hold beside calls."""

_DEFAULTS: Final[Mapping[str, str]] = {"image": "image/*", "document": "application/pdf"}
"""The media type of what is given by URL alone and whose name tells nothing."""


def parts(content: Any) -> tuple[Part, ...]:
    """Return what a result's content says: a string, one block or a list of them, or nothing."""
    match content:
        case str():
            return (Text(text=content),)
        case dict():
            part = _part(cast("JsonObject", content))
            return () if part is None else (part,)
        case list():
            return tuple(part for item in cast("list[Any]", content) for part in parts(item))
        case _:
            return ()


def document(value: JsonObject) -> Part | None:
    """Return an image, a document or a search result; None where its shape is not known."""
    match value:
        case {"type": "search_result"}:
            return _found(value)
        case {"source": {"type": "text", "data": str(text)}}:
            return _titled(value, text)
        case {"source": {"type": "content", "content": content}}:
            return _titled(value, _text_of(parts(content)))
        case {"source": {"type": "base64", "media_type": str(media_type), "data": str(data)}}:
            return _document(value, media_type, f"data:{media_type};base64,{data}")
        case {"type": str(kind), "source": {"type": "url", "url": str(url)}}:
            return _document(value, _media_type(url, kind), url)
        case {"type": str(kind), "source": {"type": "file", "file_id": str(file_id)}}:
            return Text(text=f"[{kind} held by the provider as {file_id}]")
        case _:
            return None


def _part(block: JsonObject) -> Part | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "tool_reference", "tool_name": str(name)}:
            return Text(text=name)
        case _:
            return document(block)


def _document(value: JsonObject, media_type: str, url: str) -> Document:
    title = value.get("title")
    return Document(media_type=media_type, name=title if isinstance(title, str) else None, url=url)


def _media_type(url: str, kind: str) -> str:
    guessed = media_type_of(b"", url.partition("?")[0])
    return _DEFAULTS.get(kind, UNKNOWN) if guessed == UNKNOWN else guessed


def _titled(value: JsonObject, text: str) -> Text:
    title = value.get("title")
    return Text(text=f"{title}\n{text}" if isinstance(title, str) and title else text)


def _found(value: JsonObject) -> Text:
    """Return a search result as its title, its source and its text, a line each."""
    entries = [value.get("title"), value.get("source"), _text_of(parts(value.get("content")))]
    return Text(text="\n".join(line for line in entries if isinstance(line, str) and line))


def _text_of(content: tuple[Part, ...]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, Text))


# What Anthropic's own tools were asked and what they gave, in the form that all APIs share.
#
# Shapes: platform.claude.com, "Web search tool", "Web fetch tool", "Code execution tool", "Tool
# search tool", "MCP connector", "Advisor tool".

NAMES: Final[Mapping[str, str]] = {
    "bash_code_execution": "code_execution",
    "text_editor_code_execution": "code_execution",
    "tool_search_tool_regex": "tool_search",
    "tool_search_tool_bm25": "tool_search",
}
"""Names of Anthropic's server tools to the names that all APIs share, where they differ."""

_RESULT: Final = "_tool_result"

_Found: TypeAlias = Text | Url | Document | HeldFile


class _Gave(NamedTuple):
    content: tuple[_Found, ...]
    metadata: JsonObject


def called(value: JsonObject) -> ServerToolCall | None:
    """Return what one of Anthropic's tools was asked; None for any other block.

    A call of an MCP server's tool is one of the tool `mcp`, which takes the server, the name of
    that tool and its arguments.
    """
    match value:
        case {"type": "server_tool_use", "id": str(call), "name": str(name)}:
            arguments = value.get("input", {})
            return ServerToolCall(id=call, name=NAMES.get(name, name), arguments=arguments)
        case {"type": "mcp_tool_use", "id": str(call), "name": str(name)}:
            server = nonempty_text(value.get("server_name"))
            extra = {} if server is None else {"server": server}
            arguments = {**extra, "tool": name, "arguments": value.get("input", {})}
            return ServerToolCall(id=call, name="mcp", arguments=arguments)
        case _:
            return None


def gave(value: JsonObject) -> ServerToolResult | None:
    """Return what one of Anthropic's tools gave; None for any other block."""
    match value:
        case {"type": str(kind), "tool_use_id": str(call)} if is_result(kind):
            name = kind.removesuffix(_RESULT)
            content = _gave(name, value.get("content"))
            return ServerToolResult(
                call_id=call,
                name=NAMES.get(name, name),
                content=content.content,
                is_error=_is_error(value),
                metadata=content.metadata,
            )
        case _:
            return None


def is_result(kind: str) -> bool:
    """Whether blocks of a type hold what one of Anthropic's own tools gave."""
    return kind.endswith(_RESULT)


def _is_error(result: JsonObject) -> bool:
    match result:
        case {"is_error": True} | {"content": {"error_code": _}}:
            return True
        case {"content": {"return_code": int(code)}}:
            return code != 0
        case _:
            return False


def _gave(name: str, content: Any) -> _Gave:
    match content:
        case dict():
            return _one(cast("JsonObject", content))
        case [*hits] if name == "web_search" or any(_is_hit(hit) for hit in hits):
            pages = tuple(page for hit in hits for page in _hit(hit))
            return _Gave(pages, {"count": len(hits)})
        case None if name == "web_search":
            return _Gave((), {"count": 0})
        case _:
            return _Gave(parts(content), {})


def _one(value: JsonObject) -> _Gave:
    match value:
        case {"error_code": code}:
            return _failure(value, str(code))
        case {"type": "web_fetch_result"}:
            return _page(value)
        case {"return_code": _}:
            return _run(value)
        case {"type": str(kind)} if kind.startswith("text_editor_"):
            return _edit(value)
        case {"tool_references": list()}:
            references = parts(value["tool_references"])
            return _Gave(references, {"count": len(references)})
        case {"type": "advisor_result", "text": str(text)}:
            return _Gave(texts(text), members(value, "stop_reason"))
        case {"type": "advisor_redacted_result"}:
            return _Gave((), {"encrypted": True, **members(value, "stop_reason")})
        case _:
            return _Gave((*_hit(value), *_file(value)) or parts(value), {})


def _failure(value: JsonObject, code: str) -> _Gave:
    kind, message = str(value.get("type", "error")), value.get("error_message")
    metadata: JsonObject = {"error": True, "error_code": code, "type": kind}
    text = f"{kind}: {code}"
    if not isinstance(message, str) or not message:
        return _Gave(texts(text), metadata)
    return _Gave(texts(f"{text}: {message}"), {**metadata, "error_message": message})


def _page(value: JsonObject) -> _Gave:
    """Return the page that was fetched, then its text or its bytes."""
    url, document = nonempty_text(value.get("url")), value.get("content")
    about = members_of(document)
    page = (Url(url=url, title=nonempty_text(about.get("title"))),) if url else ()
    metadata = {**members(value, "retrieved_at"), **members(about, "title")}
    return _Gave((*page, *parts(document)), metadata)


def _run(value: JsonObject) -> _Gave:
    """Return what a program wrote and the files that it left, and how it ended."""
    files = tuple(file for output in objects(value.get("content")) for file in _file(output))
    metadata: JsonObject = {"return_code": value["return_code"]}
    if "encrypted_stdout" in value:
        metadata["encrypted"] = True
    return _Gave((*texts(value.get("stdout"), value.get("stderr")), *files), metadata)


def _edit(value: JsonObject) -> _Gave:
    """Return what the text editor showed, or what became of the file."""
    match value:
        case {"content": content}:
            about = members(value, "file_type", "num_lines", "start_line", "total_lines")
            return _Gave(parts(content), about)
        case {"lines": lines}:
            listed = list_of(lines)
            text = "\n".join(line for line in listed if isinstance(line, str))
            about = members(value, "new_lines", "new_start", "old_lines", "old_start")
            return _Gave(texts(text), about)
        case _:
            return _Gave((), members(value, "is_file_update"))


def _is_hit(value: Any) -> bool:
    match value:
        case {"type": "web_search_result"}:
            return True
        case _:
            return False


def _hit(value: Any) -> tuple[Url, ...]:
    match value:
        case {"type": "web_search_result", "url": str(url)} if url:
            title = nonempty_text(value.get("title"))
            return (Url(url=url, title=title, about=members(value, "page_age")),)
        case _:
            return ()


def _file(value: JsonObject) -> tuple[HeldFile, ...]:
    match value:
        case {"type": str(kind), "file_id": str(file_id)} if kind.endswith("_output"):
            return (HeldFile(file_id=file_id),)
        case _:
            return ()


NAME: Final = "anthropic-messages"


def block(value: JsonObject) -> NeutralBlock:
    """Return a block in neutral form; Opaque where its kind says nothing to other APIs."""
    match value:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "thinking", "thinking": str(text)}:
            return Reasoning(text=text)
        case {"type": "redacted_thinking"}:
            return Reasoning(text="")
        case {"type": "compaction", "content": str(text)}:
            return Text(text=text)
        case {"type": "tool_use", "id": str(call), "name": str(name)}:
            return ToolCall(id=call, name=name, arguments=value.get("input", {}))
        case {"type": "tool_result", "tool_use_id": str(call)}:
            return ToolResult(
                call_id=call,
                content=parts(value.get("content")),
                is_error=value.get("is_error") is True,
            )
        case {"type": "image" | "document" | "search_result"}:
            return document(value) or _opaque(value)
        case _:
            return called(value) or gave(value) or _opaque(value)


def instructions(value: JsonObject) -> str:
    """Return the text of what stands under `system`: `{"system": ...}`, or one block of it."""
    entries = parts(value.get("system", value))
    return "\n\n".join(part.text for part in entries if isinstance(part, Text) and part.text)


def tool(value: JsonObject) -> ToolDefinition | None:
    """Return the definition of a tool of the caller; None for a tool of Anthropic's."""
    match value:
        case {"type": str(kind)} if kind != "custom":
            return None
        case {"name": str(name), "input_schema": dict()}:
            description = value.get("description")
            return ToolDefinition(
                name=name,
                description=description if isinstance(description, str) else None,
                input_schema=value["input_schema"],
            )
        case _:
            return None


def replay(value: JsonObject) -> Replay:
    """Return how a block of an answer goes back.

    A file that code left in its container is told of and never taken back in an assistant's message;
    in a user's it is taken (providers' own SDK types allow both).
    """
    return "record" if value.get("type") == "container_upload" else "verbatim"


def _opaque(value: JsonObject) -> Opaque:
    kind: Any = value.get("type")
    return Opaque(api=NAME, type=kind if isinstance(kind, str) else "")


def partial(part: Unfinished) -> JsonObject | None:
    """Return the block of text that came in part; None where nothing of it may stay."""
    begun = part.value.get("text")
    if part.value.get("type") != "text" or not isinstance(begun, str):
        return None
    text = begun + part.partial
    return {**part.value, "text": text} if text.strip() else None
