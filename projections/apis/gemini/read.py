"""Blocks of Gemini's API in neutral form: parts of contents, instructions, tools.

A block is a part; what a candidate says of its grounding is a block, too. Shapes: ai.google.dev,
"Content", "Function calling"; what the provider's own tools did: server_tools.py.
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.domain import jsontext
from onrecord.domain.content import NeutralBlock, Opaque, Reasoning, Text, ToolCall, ToolResult
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.gemini.server_tools import (
    CALL,
    RESPONSE,
    Part,
    called,
    camel,
    gave,
    is_thought,
    kind_of,
    member,
    object_in,
    part,
    texts_in,
)
from onrecord.projections.members import objects

# Gemini's own schemas of parameters as JSON Schema, which all others take.
#
# They are OpenAPI's: types in capitals, `nullable`, whole numbers as texts, and an order of
# properties that JSON Schema has no word for. Shapes: ai.google.dev, "Schema".

_COUNTS: Final = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)
_NESTED: Final = frozenset({"items", "additionalProperties"})


def json_schema(schema: JsonObject) -> JsonObject:
    """Return the JSON Schema of a schema of Gemini's."""
    members: JsonObject = {}
    for value, item in schema.items():
        name = camel(value)
        if name not in ("nullable", "propertyOrdering"):
            members[name] = _member(name, item)
    if schema.get("nullable") is True and isinstance(members.get("type"), str):
        members["type"] = [members["type"], "null"]
    return members


def _member(name: str, value: Any) -> Any:
    match value:
        case str() if name == "type":
            return value.lower()
        case str() if name in _COUNTS and value.isdecimal():
            return int(value)
        case dict() if name == "properties":
            properties = cast("JsonObject", value)
            return {each: _nested(schema) for each, schema in properties.items()}
        case dict() if name in _NESTED:
            return json_schema(cast("JsonObject", value))
        case list() if name == "anyOf":
            return [_nested(schema) for schema in cast("list[Any]", value)]
        case _:
            return value


def _nested(schema: Any) -> Any:
    return json_schema(cast("JsonObject", schema)) if isinstance(schema, dict) else schema


NAME: Final = "gemini"
"""The name of this API."""

NO_ARGUMENTS: Final[JsonObject] = {"type": "object", "properties": {}}
"""The schema of a function that takes none."""

_OUTPUTS: Final = ("result", "output", "return_value")
"""Members under which programs put what a function gave; the service's documents say `output`."""


def block(value: JsonObject) -> NeutralBlock:
    """Return a part in neutral form; Opaque where its kind says nothing to other APIs.

    A call, or a result, has an empty id where the part has none.
    """
    if (call := object_in(value, CALL)) is not None:
        return _call(value, call)
    if (response := object_in(value, RESPONSE)) is not None:
        return _result(response)
    if (served := called(value) or gave(value)) is not None:
        return served
    content = part(value)
    if is_thought(value):
        return Reasoning(text=content.text if isinstance(content, Text) else "")
    return content or _opaque(value)


def instructions(value: JsonObject) -> str:
    """Return the text of instructions: `{"systemInstruction": {"parts": [...]}}`."""
    return "\n\n".join(text for text in texts_in(member(value, "systemInstruction")) if text)


def tool(value: JsonObject) -> ToolDefinition | None:
    """Return the definition of a function; None for a tool that the service itself runs."""
    declared = objects(member(value, "functionDeclarations"))
    name = member(declared[0], "name") if declared else None
    if not isinstance(name, str):
        return None
    description = member(declared[0], "description")
    return ToolDefinition(
        name=name,
        description=description if isinstance(description, str) else None,
        input_schema=_schema(declared[0]),
    )


def says_it_failed(value: JsonObject) -> bool:
    """Return whether a result says by itself that it failed: with an error, and with no output.

    ai.google.dev, "FunctionResponse": "output" and "error" are the keys for these.
    """
    response = member(object_in(value, RESPONSE) or {}, "response")
    if not isinstance(response, dict):
        return False
    fields = cast("JsonObject", response)
    return fields.get("error") not in (None, "", False) and not any(
        name in fields for name in _OUTPUTS
    )


def partial(unfinished: Unfinished) -> JsonObject | None:
    """Return a text that came in part and says something; of all else nothing stays."""
    match unfinished.value:
        case {"text": str(text)} if text.strip() and not is_thought(unfinished.value):
            return unfinished.value
        case _:
            return None


def result_content(response: JsonObject) -> tuple[Part, ...]:
    """Return what a function's response holds: what it says, then its files."""
    files = (part(item) for item in objects(member(response, "parts")))
    words = _told(member(response, "response"))
    return (*((Text(text=words),) if words else ()), *(item for item in files if item is not None))


def _call(value: JsonObject, call: JsonObject) -> NeutralBlock:
    name, call_id, arguments = member(call, "name"), member(call, "id"), member(call, "args")
    if not isinstance(name, str):
        return _opaque(value)
    return ToolCall(
        id=call_id if isinstance(call_id, str) else "",
        name=name,
        arguments={} if arguments is None else arguments,
    )


def _result(response: JsonObject) -> ToolResult:
    call_id = member(response, "id")
    return ToolResult(
        call_id=call_id if isinstance(call_id, str) else "",
        content=result_content(response),
        is_error=says_it_failed({RESPONSE: response}),
    )


def _told(response: Any) -> str:
    """Return what a response says: its only member if that is its output or an error, else JSON."""
    match response:
        case None | {} if not response:
            return ""
        case str():
            return response
        case dict() if len(cast("JsonObject", response)) == 1:
            ((name, item),) = cast("JsonObject", response).items()
            if name in (*_OUTPUTS, "error"):
                return item if isinstance(item, str) else jsontext.write(item).decode()
        case _:
            pass
    return jsontext.write(response).decode()


def _schema(declared: JsonObject) -> JsonObject:
    """Return the JSON Schema of a function's parameters; one without takes none."""
    schema = member(declared, "parametersJsonSchema")
    if isinstance(schema, dict):
        return cast("JsonObject", schema)
    parameters = object_in(declared, "parameters")
    return NO_ARGUMENTS if parameters is None else json_schema(parameters)


def _opaque(value: JsonObject) -> Opaque:
    return Opaque(api=NAME, type=kind_of(value) or "")
