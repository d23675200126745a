"""What Anthropic's own tools were asked and what they gave, in the form that all APIs share.

Shapes: platform.claude.com, "Web search tool", "Web fetch tool", "Code execution tool", "Tool
search tool", "MCP connector", "Advisor tool".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.domain.content import Document, HeldFile, ServerToolCall, ServerToolResult, Text, Url
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.native_members import members, objects, text_or_none, texts
from onrecord.projections.neutral_anthropic_documents import parts

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
            server = text_or_none(value.get("server_name"))
            asked = {} if server is None else {"server": server}
            arguments = {**asked, "tool": name, "arguments": value.get("input", {})}
            return ServerToolCall(id=call, name="mcp", arguments=arguments)
        case _:
            return None


def gave(value: JsonObject) -> ServerToolResult | None:
    """Return what one of Anthropic's tools gave; None for any other block."""
    match value:
        case {"type": str(kind), "tool_use_id": str(call)} if is_result(kind):
            name = kind.removesuffix(_RESULT)
            held = _gave(name, value.get("content"))
            return ServerToolResult(
                call_id=call,
                name=NAMES.get(name, name),
                content=held.content,
                is_error=_is_error(value),
                metadata=held.metadata,
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


def _one(held: JsonObject) -> _Gave:
    match held:
        case {"error_code": code}:
            return _failure(held, str(code))
        case {"type": "web_fetch_result"}:
            return _page(held)
        case {"return_code": _}:
            return _run(held)
        case {"type": str(kind)} if kind.startswith("text_editor_"):
            return _edit(held)
        case {"tool_references": list()}:
            found = parts(held["tool_references"])
            return _Gave(found, {"count": len(found)})
        case {"type": "advisor_result", "text": str(text)}:
            return _Gave(texts(text), members(held, "stop_reason"))
        case {"type": "advisor_redacted_result"}:
            return _Gave((), {"encrypted": True, **members(held, "stop_reason")})
        case _:
            return _Gave((*_hit(held), *_file(held)) or parts(held), {})


def _failure(held: JsonObject, code: str) -> _Gave:
    kind, message = str(held.get("type", "error")), held.get("error_message")
    metadata: JsonObject = {"error": True, "error_code": code, "type": kind}
    told = f"{kind}: {code}"
    if not isinstance(message, str) or not message:
        return _Gave(texts(told), metadata)
    return _Gave(texts(f"{told}: {message}"), {**metadata, "error_message": message})


def _page(held: JsonObject) -> _Gave:
    """Return the page that was fetched, then its text or its bytes."""
    url, document = text_or_none(held.get("url")), held.get("content")
    about = cast("JsonObject", document) if isinstance(document, dict) else {}
    page = (Url(url=url, title=text_or_none(about.get("title"))),) if url else ()
    metadata = {**members(held, "retrieved_at"), **members(about, "title")}
    return _Gave((*page, *parts(document)), metadata)


def _run(held: JsonObject) -> _Gave:
    """Return what a program wrote and the files that it left, and how it ended."""
    files = tuple(file for output in objects(held.get("content")) for file in _file(output))
    metadata: JsonObject = {"return_code": held["return_code"]}
    if "encrypted_stdout" in held:
        metadata["encrypted"] = True
    return _Gave((*texts(held.get("stdout"), held.get("stderr")), *files), metadata)


def _edit(held: JsonObject) -> _Gave:
    """Return what the text editor showed, or what became of the file."""
    match held:
        case {"content": content}:
            about = members(held, "file_type", "num_lines", "start_line", "total_lines")
            return _Gave(parts(content), about)
        case {"lines": lines}:
            listed = cast("list[Any]", lines) if isinstance(lines, list) else []
            text = "\n".join(line for line in listed if isinstance(line, str))
            about = members(held, "new_lines", "new_start", "old_lines", "old_start")
            return _Gave(texts(text), about)
        case _:
            return _Gave((), members(held, "is_file_update"))


def _is_hit(held: Any) -> bool:
    match held:
        case {"type": "web_search_result"}:
            return True
        case _:
            return False


def _hit(held: Any) -> tuple[Url, ...]:
    match held:
        case {"type": "web_search_result", "url": str(url)} if url:
            title = text_or_none(held.get("title"))
            return (Url(url=url, title=title, about=members(held, "page_age")),)
        case _:
            return ()


def _file(held: JsonObject) -> tuple[HeldFile, ...]:
    match held:
        case {"type": str(kind), "file_id": str(file_id)} if kind.endswith("_output"):
            return (HeldFile(file_id=file_id),)
        case _:
            return ()
