"""What OpenAI's own tools were asked and what they gave, in the form that all APIs share.

Most of its tools say both in one item, where other APIs have a block for each. Shapes:
platform.openai.com, "Using tools"; the OpenAPI description of OpenAI's API, "ResponseOutputItem".
xAI has the same types, and says what was asked as JSON in `arguments`, as in a call of a function;
its search on X is a type of its own (docs.x.ai, "Tools").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.domain import jsontext
from onrecord.domain.content import Document, ServerToolCall, ServerToolResult, Text, Url
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.members import members, members_of, nonempty_text, objects, texts

NAMES: Final[Mapping[str, str]] = {
    "web_search_call": "web_search",
    "x_search_call": "x_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_execution",
    "image_generation_call": "image_generation",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcp",
    "tool_search_call": "tool_search",
    "shell_call": "shell",
    "local_shell_call": "shell",
    "computer_call": "computer",
    "apply_patch_call": "apply_patch",
    "program": "program",
}
"""Types of items to the names that all APIs share for the tools that they are of."""

_IMAGES: Final[Mapping[Any, str]] = {
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "svg": "image/svg+xml",
}

_Found: TypeAlias = Text | Url | Document


class _Gave(NamedTuple):
    content: tuple[_Found, ...]
    metadata: JsonObject


def name_of(item: JsonObject) -> str:
    """Return the name of the tool that an item is of; that of the item, if all APIs share none."""
    kind, name = item.get("type"), item.get("name")
    text = kind if isinstance(kind, str) else ""
    if text in NAMES:
        return NAMES[text]
    return name if isinstance(name, str) and name else text.removesuffix("_call")


def called(value: JsonObject) -> ServerToolCall | None:
    """Return what one of the provider's tools was asked; None for any other item.

    A call of an MCP server's tool is one of the tool `mcp`, which takes the server, the name of
    that tool and its arguments; without the name of a tool it asks for the list of them.
    """
    kind = value.get("type")
    if not isinstance(kind, str) or not _is_call(kind, value):
        return None
    call_id = value.get("call_id") or value.get("id")
    return ServerToolCall(
        id=call_id if isinstance(call_id, str) else "",
        name=NAMES[kind],
        arguments=_asked(kind, value),
    )


def gave(value: JsonObject) -> ServerToolResult | None:
    """Return what the tool of an item gave, as far as it says; None for other items.

    An item that says nothing of it has a result without content. None too for those whose result
    is another item: of a program, a shell, a search for tools.
    """
    content = _gave(value)
    if content is None:
        return None
    call_id = value.get("id")
    return ServerToolResult(
        call_id=call_id if isinstance(call_id, str) else "",
        name=name_of(value),
        content=content.content,
        is_error=bool(value.get("error")) or value.get("status") == "failed",
        metadata=content.metadata,
    )


def _is_call(kind: str, value: JsonObject) -> bool:
    match kind:
        case "tool_search_call":
            return value.get("execution") != "client"
        case "shell_call":
            return _is_hosted(value.get("environment"))
        case "local_shell_call" | "computer_call" | "apply_patch_call":
            return False
        case _:
            return kind in NAMES


def _asked(kind: str, value: JsonObject) -> Any:
    match kind:
        case "web_search_call":
            return {key: item for key, item in _action(value).items() if key != "sources"}
        case "x_search_call":
            return _read(value.get("arguments"))
        case "code_interpreter_call" if value.get("code") is None:
            return _read(value.get("arguments"))
        case "image_generation_call":
            return _renamed(value, revised_prompt="prompt", prompt="prompt")
        case "mcp_call":
            arguments = _renamed(value, server_label="server", name="tool")
            return {**arguments, "arguments": _read(value.get("arguments"))}
        case "mcp_list_tools":
            return _renamed(value, server_label="server")
        case "tool_search_call":
            return value.get("arguments", {})
        case "shell_call":
            return value.get("action", {})
        case _:
            return _renamed(value, queries="queries", code="code")


def _gave(value: JsonObject) -> _Gave | None:
    match value.get("type"):
        case "web_search_call":
            return _pages(value)
        case "x_search_call":
            named = {"action_type": name} if (name := nonempty_text(value.get("name"))) else {}
            return _Gave((), {**named, **members(value, "status")})
        case "file_search_call":
            return _files(value)
        case "code_interpreter_call":
            outputs = objects(value.get("outputs"))
            content = tuple(part for item in outputs for part in _output(item))
            return _Gave(content, members(value, "container_id", "status"))
        case "image_generation_call":
            about = {k: v for k, v in value.items() if k not in _NOT_ABOUT and v is not None}
            return _Gave(_picture(value), about)
        case "mcp_call":
            words = _output_and_error(value.get("output"), value.get("error"))
            return _Gave(words, members(value, "server_label", "status"))
        case "mcp_list_tools":
            names = _lines(value.get("tools"), "name")
            words = _output_and_error(None, value.get("error"))
            about = {**members(value, "server_label"), "count": len(names)}
            return _Gave((*names, *words), about)
        case _:
            return None


_NOT_ABOUT: Final = frozenset({"type", "id", "result", "status"})


def _pages(value: JsonObject) -> _Gave:
    """Return the pages that a search found, or the one that it opened."""
    action = _action(value)
    sources = action.get("sources") or [action]
    pages = tuple(page for source in objects(sources) for page in _page(source))
    kind = {"action_type": action["type"]} if isinstance(action.get("type"), str) else {}
    return _Gave(
        pages, {**kind, **members(value, "status"), **members(action, "queries", "pattern")}
    )


def _page(source: JsonObject) -> tuple[Text | Url, ...]:
    if url := nonempty_text(source.get("url")):
        return (Url(url=url, title=nonempty_text(source.get("title"))),)
    return texts(source.get("name"))


def _files(value: JsonObject) -> _Gave:
    """Return what was found in files; `files` of the metadata says in which."""
    results = objects(value.get("results"))
    entries = [members(item, "file_id", "filename", "score") for item in results]
    about = {**members(value, "status"), **({"files": entries} if entries else {})}
    return _Gave(_lines(results, "filename", "text"), about)


def _picture(value: JsonObject) -> tuple[Document, ...]:
    data = value.get("result")
    if not isinstance(data, str) or not data:
        return ()
    format_ = value.get("output_format")
    media_type = _IMAGES.get(format_, "image/png") if isinstance(format_, str) else "image/png"
    return (Document(media_type=media_type, url=f"data:{media_type};base64,{data}"),)


def _output(value: JsonObject) -> tuple[Text | Document, ...]:
    match value:
        case {"type": "logs", "logs": str(logs)} if logs:
            return (Text(text=logs),)
        case {"type": "image", "url": str(url)} if url:
            return (Document(media_type="image/png", url=url),)
        case _:
            return ()


def _action(value: JsonObject) -> JsonObject:
    """Return what a search did; xAI's says what it asked under `arguments`."""
    action, arguments = members_of(value.get("action")), _read(value.get("arguments"))
    if not isinstance(arguments, dict):
        return {**action, "arguments": arguments}
    return {**action, **cast("JsonObject", arguments)}


def _output_and_error(output: Any, error: Any) -> tuple[Text, ...]:
    text = error if isinstance(error, str) or error is None else jsontext.write(error).decode()
    return texts(output, text)


def _lines(value: Any, *names: str) -> tuple[Text, ...]:
    """Return a text for each object: those of its members that are texts, a line each."""
    lines = (
        filter(None, (nonempty_text(item.get(name)) for name in names)) for item in objects(value)
    )
    return texts(*map("\n".join, lines))


def _renamed(value: JsonObject, **names: str) -> JsonObject:
    """Return members under other names, without those that say nothing."""
    return {name: value[key] for key, name in names.items() if value.get(key) is not None}


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
