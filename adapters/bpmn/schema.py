"""From parameters to the JSON Schema of a tool's input, as Camunda's agent connectors make it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from onrecord.adapters.bpmn.from_ai import Parameter
from onrecord.domain.errors import InvalidModel
from onrecord.domain.jsontext import JsonObject

CODE: Final = "AD_HOC_TOOL_SCHEMA_INVALID"
NAMESPACE: Final = "toolCall."
RESTRICTED: Final = f"{NAMESPACE}_meta"
"""What the engine itself puts beside the arguments: the call's id and name."""


def schema_of(element_id: str, parameters: Iterable[Parameter]) -> JsonObject:
    """Return the schema of a tool's input; InvalidModel, with `CODE`, where a parameter is unfit."""
    try:
        return schema_with(parameters)
    except InvalidModel as exc:
        raise InvalidModel(
            f"Failed to generate ad-hoc tool schema for element '{element_id}'. {exc}", CODE
        ) from exc


def schema_with(parameters: Iterable[Parameter]) -> JsonObject:
    """Return the schema of what has these parameters; InvalidModel, which names the first unfit one."""
    properties: JsonObject = {}
    required: list[str] = []
    for parameter in parameters:
        name = _property_name(parameter.name)
        if name in properties:
            raise InvalidModel(f"Duplicate parameter name '{parameter.name}'.")
        properties[name] = _property(parameter)
        if _is_required(parameter):
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _property_name(parameter: str) -> str:
    """Return the name without its namespace: one segment, and not what the engine itself sets."""
    if parameter == RESTRICTED:
        raise InvalidModel(f"Parameter name '{parameter}' is restricted and cannot be used.")
    if not parameter.startswith(NAMESPACE):
        raise InvalidModel(
            f"Parameter name '{parameter}' is not part of expected namespace '{NAMESPACE}'."
        )
    name = parameter.removeprefix(NAMESPACE)
    if not name.strip():
        raise InvalidModel(
            f"Parameter name '{parameter}' is empty after removing the expected namespace "
            f"'{NAMESPACE}'."
        )
    if "." in name:
        raise InvalidModel(
            f"Parameter name '{name}' with removed namespace '{NAMESPACE}' is not a leaf reference "
            "(must not contain dots)."
        )
    return name


def _property(parameter: Parameter) -> JsonObject:
    """Return its own schema; type and description that are said beside it win."""
    schema = dict(parameter.schema or {})
    if parameter.type and parameter.type.strip():
        schema["type"] = parameter.type
    if schema.get("type") is None:
        schema["type"] = "string"
    if parameter.description and parameter.description.strip():
        schema["description"] = parameter.description
    return schema


def _is_required(parameter: Parameter) -> bool:
    match (parameter.options or {}).get("required"):
        case None:
            return True
        case bool(wanted):
            return wanted
        case other:
            raise InvalidModel(
                f"Parameter '{parameter.name}' 'required' option must be a boolean value, "
                f"but was: {_java_class(other)}"
            )


def _java_class(value: Any) -> str:
    """Return the engine's name for the kind of a value."""
    match value:
        case str():
            return "String"
        case int():
            return "Integer" if abs(value) < 2**31 else "Long"
        case float():
            return "Double"
        case list():
            return "ArrayList"
        case _:
            return "LinkedHashMap"
