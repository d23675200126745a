"""What OpenAI's own tools were asked and what they gave, in neutral form.

Most of its tools say both in one item, where other APIs have a block for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from hansard.domain import jsontext
from hansard.domain.content import Document, ServerToolCall, ServerToolResult, Text
from hansard.domain.errors import MalformedJson
from hansard.domain.jsontext import JsonObject
from hansard.projections.neutral_openai_responses_parts import Part

_NAMES: Final[Mapping[str, str]] = {
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_execution",
    "image_generation_call": "image_generation",
    "mcp_list_tools": "mcp_list_tools",
    "program": "program",
}
"""Types of items to the names that all APIs share for the tools that they are of."""

_IMAGES: Final[Mapping[Any, str]] = {
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "svg": "image/svg+xml",
}


def asked(value: JsonObject) -> ServerToolCall | None:
    """Return what one of the provider's tools was asked; None for any other item."""
    kind = value.get("type")
    call_id = value.get("call_id") or value.get("id")
    told = call_id if isinstance(call_id, str) else ""
    if kind == "mcp_call":
        name = str(value.get("name", ""))
        return ServerToolCall(id=told, name=name, arguments=_read(value.get("arguments")))
    if kind == "tool_search_call" and value.get("execution") != "client":
        return ServerToolCall(id=told, name="tool_search", arguments=value.get("arguments", {}))
    if kind == "shell_call" and _is_hosted(value.get("environment")):
        return ServerToolCall(id=told, name="shell", arguments=value.get("action", {}))
    if not isinstance(kind, str) or kind not in _NAMES:
        return None
    return ServerToolCall(id=told, name=_NAMES[kind], arguments=_request(kind, value))


def gave(value: JsonObject) -> ServerToolResult | None:
    """Return what the tool of an item gave; None where the item does not hold it."""
    kind, content = value.get("type"), _gave(value)
    is_error = bool(value.get("error")) or value.get("status") == "failed"
    if not content and not is_error:
        return None
    call_id, name = value.get("id"), value.get("name")
    return ServerToolResult(
        call_id=call_id if isinstance(call_id, str) else "",
        name=name if isinstance(name, str) else _NAMES.get(str(kind), str(kind)),
        content=content,
        is_error=is_error,
    )


def _request(kind: str, value: JsonObject) -> JsonObject:
    match kind:
        case "web_search_call":
            action = value.get("action")
            asked = cast("JsonObject", action) if isinstance(action, dict) else {}
            return {key: held for key, held in asked.items() if key != "sources"}
        case "image_generation_call":
            names = {"revised_prompt": "prompt", "prompt": "prompt"}
        case "mcp_list_tools":
            names = {"server_label": "server"}
        case _:
            names = {"queries": "queries", "code": "code"}
    return {name: value[key] for key, name in names.items() if value.get(key) is not None}


def _gave(value: JsonObject) -> tuple[Part, ...]:
    match value:
        case {"type": "web_search_call", "action": {"sources": sources}}:
            return _texts(sources, "url", "name")
        case {"type": "file_search_call", "results": results}:
            return _texts(results, "filename", "text")
        case {"type": "code_interpreter_call", "outputs": outputs}:
            return tuple(part for held in _objects(outputs) for part in _output(held))
        case {"type": "image_generation_call", "result": str(data)} if data:
            media_type = _IMAGES.get(value.get("output_format"), "image/png")
            return (Document(media_type=media_type, url=f"data:{media_type};base64,{data}"),)
        case {"type": "mcp_call"}:
            return _said(value.get("output"), value.get("error"))
        case {"type": "mcp_list_tools", "tools": tools}:
            return _texts(tools, "name")
        case _:
            return ()


def _objects(found: Any) -> list[JsonObject]:
    listed = cast("list[Any]", found) if isinstance(found, list) else []
    return [cast("JsonObject", held) for held in listed if isinstance(held, dict)]


def _output(held: JsonObject) -> tuple[Part, ...]:
    match held:
        case {"type": "logs", "logs": str(logs)} if logs:
            return (Text(text=logs),)
        case {"type": "image", "url": str(url)}:
            return (Document(media_type="image/png", url=url),)
        case _:
            return ()


def _said(output: Any, error: Any) -> tuple[Text, ...]:
    told = error if isinstance(error, str) or error is None else jsontext.write(error).decode()
    return tuple(Text(text=text) for text in (output, told) if isinstance(text, str) and text)


def _texts(found: Any, *members: str) -> tuple[Text, ...]:
    """Return a text for each object: those of its members that are texts, a line each."""
    told = (
        "\n".join(held for member in members if isinstance(held := item.get(member), str) and held)
        for item in _objects(found)
    )
    return tuple(Text(text=text) for text in told if text)


def _is_hosted(environment: Any) -> bool:
    """Whether commands run in a container of the provider's."""
    match environment:
        case {"type": str(kind)}:
            return kind.startswith("container")
        case _:
            return False


def _read(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments if arguments is not None else {}
    try:
        return jsontext.read(arguments) if arguments else {}
    except MalformedJson:
        return arguments
