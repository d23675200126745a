"""Items of OpenAI's Responses API in neutral form: for other APIs, and for showing.

What only OpenAI can read (encrypted content, ids of items, fingerprints) stays behind. The values
taken here are whole: strings that were moved to blobs are back in their place (domain/blobs.py).
Shapes: platform.openai.com, "Responses"; input items and output items alike.
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.domain import jsontext
from onrecord.domain.content import (
    Document,
    NeutralBlock,
    Opaque,
    Reasoning,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.documents import UNKNOWN, media_type_of
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import Replay
from onrecord.projections.apis.openai_responses.server_tools import called
from onrecord.projections.apis.tools import custom_tool
from onrecord.projections.members import list_of, member, says

# Parts of a message or of a result of OpenAI's Responses API in neutral form.
#
# Bytes stand in a part as a `data:` URL (RFC 2397) and stay one; a file that only its id names
# says so, for nobody else can read it. Shapes: platform.openai.com, "Images and vision", "File
# inputs".

Part = Text | Document
"""What a message or a result may hold beside calls."""

_TEXTS: Final = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_INLINE: Final = "data:"


def parts(content: Any) -> tuple[Part, ...]:
    """Return what content says: a string, a part or a list of them, or nothing."""
    match content:
        case str():
            return (Text(text=content),)
        case dict():
            part = part_of(cast("JsonObject", content))
            return () if part is None else (part,)
        case list():
            return tuple(part for item in cast("list[Any]", content) for part in parts(item))
        case _:
            return ()


def text_of(content: Any) -> str:
    """Return the texts of content, with an empty line between them."""
    return "\n\n".join(part.text for part in parts(content) if isinstance(part, Text))


def part_of(value: JsonObject) -> Part | None:
    """Return a text, an image, a file, or what a shell wrote; None for any other shape."""
    match value:
        case {"type": str(kind), "text": str(text)} if kind in _TEXTS:
            return Text(text=text)
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text=text)
        case {"type": "input_image" | "computer_screenshot", "image_url": str(url)}:
            return Document(media_type=_media_type(url, None, "image/*"), url=url)
        case {"type": "input_file", "file_data": str(data)}:
            return _file(value, data)
        case {"type": "input_file", "file_url": str(url)}:
            name = _name(value)
            return Document(media_type=_media_type(url, name, UNKNOWN), name=name, url=url)
        case {"type": "input_image" | "input_file" | "computer_screenshot" as kind}:
            content = value.get("file_id")
            words = str(kind).removeprefix("input_").replace("_", " ")
            return Text(text=f"[{words} held by the provider as {content}]")
        case {"outcome": outcome}:
            return Text(text=_run(value, outcome))
        case _:
            return None


def _file(value: JsonObject, data: str) -> Document:
    name = _name(value)
    if data.startswith(_INLINE):
        return Document(media_type=_media_type(data, name, UNKNOWN), name=name, url=data)
    media_type = media_type_of(b"", name)
    return Document(media_type=media_type, name=name, url=f"data:{media_type};base64,{data}")


def _media_type(url: str, name: str | None, otherwise: str) -> str:
    if url.startswith(_INLINE):
        texts = url[len(_INLINE) :].partition(",")[0].partition(";")[0]
        return texts or otherwise
    guessed = media_type_of(b"", name or url.partition("?")[0])
    return otherwise if guessed == UNKNOWN else guessed


def _name(value: JsonObject) -> str | None:
    name = value.get("filename")
    return name if isinstance(name, str) else None


def _run(value: JsonObject, outcome: Any) -> str:
    """Return what a command wrote, and how it ended if not well."""
    ended: str | None = None
    match outcome:
        case {"type": "timeout"}:
            ended = "timed out"
        case {"exit_code": int(code)} if code:
            ended = f"exit code {code}"
        case _:
            pass
    streams = (value.get("stdout"), value.get("stderr"), ended)
    return "\n".join(text for text in streams if isinstance(text, str) and text)


NAME: Final = "openai-responses"

_CALL: Final = "_call"
_OUTPUT: Final = "_output"
_NO_INPUT: Final[JsonObject] = {"type": "object", "properties": {}}


def block(value: JsonObject) -> NeutralBlock:
    """Return an item, or a part of a message, in neutral form; Opaque where that says nothing."""
    kind = value.get("type", "message")
    if not isinstance(kind, str):
        return _opaque(value)
    if kind == "message":
        return _message(value)
    if kind == "reasoning":
        thought = [text_of(value.get("summary")), text_of(value.get("content"))]
        return Reasoning(text="\n\n".join(filter(None, thought)))
    if (part := part_of(value)) is not None:
        return part
    if (activity := called(value)) is not None:
        return activity
    if kind.endswith(_CALL) or kind == "mcp_approval_request":
        return _call(kind, value) or _opaque(value)
    if kind.endswith(_OUTPUT) or kind == "mcp_approval_response":
        return _result(kind, value) or _opaque(value)
    return _opaque(value)


def user_message(value: JsonObject) -> tuple[Part, ...]:
    """Return what a message of the user's holds; none for any other item."""
    return parts(value.get("content")) if value.get("role") == "user" else ()


def says_it_failed(value: JsonObject) -> bool:
    """Return whether a result says by itself that it failed, or that it was refused.

    A shell says how each command ended. Of these only one that was stopped failed: an exit code
    other than 0 is what a program has to say, as `grep` does where it finds nothing.
    """
    match value:
        case {"approve": False} | {"status": "failed" | "incomplete"}:
            return True
        case {"type": "shell_call_output", "output": [*runs]}:
            return any(_was_stopped(run) for run in runs)
        case _:
            return False


def replay(value: JsonObject) -> Replay:
    """Return how an item of an answer goes back: one with an id once, whatever came of it since."""
    return "once" if isinstance(value.get("id"), str) else "verbatim"


def instructions(value: JsonObject) -> str:
    """Return the text of instructions: `instructions`, then the items that lead the input."""
    own_text = value.get("instructions")
    items = value.get("input")
    leading = list_of(items)
    texts = [own_text if isinstance(own_text, str) else "", *map(_text_in, leading)]
    return "\n\n".join(text for text in texts if text.strip())


def tool(value: JsonObject) -> ToolDefinition | None:
    """Return the definition of a tool of the caller's; None for one that the provider runs.

    A custom tool takes one free text: others call it with that text under `arguments`.
    """
    name, description = value.get("name"), value.get("description")
    if isinstance(name, str) and value.get("type") == "custom":
        return custom_tool(name, description)
    if not isinstance(name, str) or value.get("type") != "function":
        return None
    schema: Any = value.get("parameters")
    return ToolDefinition(
        name=name,
        description=description if isinstance(description, str) else None,
        input_schema=cast("JsonObject", schema) if isinstance(schema, dict) else _NO_INPUT,
    )


def _message(value: JsonObject) -> NeutralBlock:
    content = value.get("content")
    if not isinstance(content, str | list):
        return _opaque(value)
    contents = parts(content)
    match contents:
        case (Document() as alone,):
            return alone
        case _:
            return Text(text="".join(part.text for part in contents if isinstance(part, Text)))


def _text_in(item: Any) -> str:
    return text_of(cast("JsonObject", item).get("content")) if isinstance(item, dict) else ""


def _call(kind: str, value: JsonObject) -> ToolCall | None:
    """Return a call of one of the caller's tools; what it is about stands where its type says."""
    call_id = value.get("call_id", value.get("id"))
    if not isinstance(call_id, str):
        return None
    name = value.get("name")
    if not isinstance(name, str):
        name = kind.removesuffix(_CALL)
    match value:
        case {"arguments": arguments}:
            return ToolCall(id=call_id, name=name, arguments=_parsed(arguments))
        case {"input": arguments}:
            return ToolCall(id=call_id, name=name, arguments=arguments)
        case {"operation": arguments} | {"action": arguments} if arguments is not None:
            return ToolCall(id=call_id, name=name, arguments=arguments)
        case {"actions": actions}:
            return ToolCall(id=call_id, name=name, arguments={"actions": actions})
        case _:
            return ToolCall(id=call_id, name=name, arguments={})


def _parsed(arguments: Any) -> Any:
    """Return what arguments in JSON say; the text itself where it is none."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return jsontext.read(arguments) if arguments else {}
    except MalformedJson:
        return arguments


def _result(kind: str, value: JsonObject) -> ToolResult | ServerToolResult | None:
    entry = value.get("call_id", value.get("approval_request_id", value.get("id")))
    call_id = entry if isinstance(entry, str) else ""
    if kind == "program_output":
        result = parts(value.get("result"))
        return ServerToolResult(call_id=call_id, name="program", content=result)
    if kind == "tool_search_output" and value.get("execution") != "client":
        return ServerToolResult(call_id=call_id, name="tool_search", content=_held(value))
    if not call_id:
        return None
    return ToolResult(call_id=call_id, content=_held(value), is_error=says_it_failed(value))


def _held(value: JsonObject) -> tuple[Part, ...]:
    """Return what a result holds."""
    match value:
        case {"approve": approve}:
            reason = value.get("reason")
            decision = "approved" if approve else "refused"
            return (Text(text=f"{decision}: {reason}" if reason else decision),)
        case {"tools": [*tools]}:
            names = [_name_of(item) for item in tools]
            return (Text(text="\n".join(name for name in names if isinstance(name, str))),)
        case _:
            return parts(value.get("output"))


def _name_of(definition: Any) -> Any:
    return member(definition, "name")


def _was_stopped(run: Any) -> bool:
    match run:
        case {"outcome": {"type": "timeout"}}:
            return True
        case _:
            return False


def _opaque(value: JsonObject) -> Opaque:
    kind: Any = value.get("type")
    return Opaque(api=NAME, type=kind if isinstance(kind, str) else "")


def partial(part: Unfinished) -> JsonObject | None:
    """Return a message that came in part and says something; no other item may stay."""
    value = part.value
    content = value.get("content") if value.get("type") == "message" else None
    return value if says(content, "text") or says(content, "refusal") else None
