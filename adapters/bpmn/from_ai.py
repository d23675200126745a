"""`fromAi(value, description, type, schema, options)`: a parameter that a model is to fill in.

At run time it gives its first argument. Before, every call of it in a tool's mappings declares one
parameter. Its errors have the words of Camunda's engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, assert_never

from onrecord.adapters.bpmn.feel import (
    Boolean,
    Call,
    Context,
    List,
    Node,
    Null,
    Number,
    Operation,
    Reference,
    String,
    kind_of,
    parse,
    plain,
    spelled,
    walk,
)
from onrecord.domain.errors import InvalidInput, InvalidModel
from onrecord.domain.jsontext import JsonObject

FUNCTION: Final = "fromAi"

_ARGUMENTS: Final = ("value", "description", "type", "schema", "options")
_DEEPEST: Final = 50


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a call of `fromAi` says; `name` is its reference: `toolCall.url`. None: not given."""

    name: str
    description: str | None = None
    type: str | None = None
    schema: JsonObject | None = None
    options: JsonObject | None = None


def parameters_of(expression: str) -> tuple[Parameter, ...]:
    """Return the parameters that an expression declares, in the order of its text.

    InvalidModel for what is no FEEL, and for calls with other arguments than they take.
    """
    return tuple(parameter_of(call) for call in calls_in(parse(expression)))


def declares(expression: str | None) -> bool:
    """Whether an expression calls `fromAi`; none does, nor one that cannot be read."""
    try:
        return expression is not None and next(calls_in(parse(expression)), None) is not None
    except InvalidModel:
        return False


def calls_in(node: Node) -> Iterator[Call]:
    """Give the calls of `fromAi` in an expression; not those in arguments of one."""
    found = walk(node, is_entered=lambda each: not is_from_ai(each))
    return (each for each in found if isinstance(each, Call) and is_from_ai(each))


def is_from_ai(node: Node) -> bool:
    """Whether it calls `fromAi`, spelled exactly so and by its plain name."""
    return isinstance(node, Call) and node.name == FUNCTION


def arguments_of(call: Call) -> dict[str, Node]:
    """Return its arguments by name, however they were given; those that it does not have are left."""
    if call.named:
        return {name: value for name, value in call.named if name in _ARGUMENTS}
    return dict(zip(_ARGUMENTS, call.positional, strict=False))


def parameter_of(call: Call) -> Parameter:
    """Return what a call of `fromAi` declares; InvalidModel where its arguments are no literals."""
    arguments = arguments_of(call)
    return Parameter(
        name=_name(arguments.get("value")),
        description=_string(arguments, "description"),
        type=_string(arguments, "type"),
        schema=_context(arguments, "schema"),
        options=_context(arguments, "options"),
    )


def _name(value: Node | None) -> str:
    if isinstance(value, Reference):
        return ".".join(value.segments)
    raise InvalidModel(
        "Expected fromAi() parameter 'value' to be a reference (e.g. 'toolCall.customParameter'), "
        f"but received {_received_value(value)}."
    )


def _received_value(value: Node | None) -> str:
    match value:
        case None:
            return "nothing"
        case String(value=text):
            return f"string '{text}'"
        case _:
            return _received(value)


def _received(node: Node) -> str:
    return plain(node) if isinstance(node, Boolean | Number | String) else spelled(node)


def _string(arguments: dict[str, Node], parameter: str) -> str | None:
    match arguments.get(parameter):
        case None:
            return None
        case String(value=text):
            return text
        case other:
            raise InvalidModel(
                f"Expected fromAi() parameter '{parameter}' to be a string, "
                f"but received '{_received(other)}'."
            )


def _context(arguments: dict[str, Node], parameter: str) -> JsonObject | None:
    match arguments.get(parameter):
        case None:
            return None
        case Context(entries=entries):
            return {key: _literal(value) for key, value in entries}
        case other:
            raise InvalidModel(
                f"Expected fromAi() parameter '{parameter}' to be a context (map), "
                f"but received '{_received(other)}'."
            )


def _literal(node: Node, depth: int = 1) -> Any:
    """Return the JSON value of a literal; null and signs too, which the engine does not take."""
    if depth > _DEEPEST:
        raise InvalidModel(f"a context of fromAi() is nested more than {_DEEPEST} deep: flatten it")
    match node:
        case Null():
            return None
        case Boolean(value=value) | String(value=value):
            return value
        case Number(spelling=spelling):
            return _number(spelling)
        case Operation(kind="ArithmeticNegation", operands=(Number(spelling=spelling),)):
            return -_number(spelling)
        case List(items=items):
            return [_literal(item, depth + 1) for item in items]
        case Context(entries=entries):
            return {key: _literal(value, depth + 1) for key, value in entries}
        case Reference() | Call() | Operation():
            raise InvalidModel(
                f"Unsupported expression value in fromAi() function invocation: {kind_of(node)}"
            )
        case _:
            assert_never(node)


def _number(spelling: str) -> int | float:
    """Return what JSON has for it: whole numbers stay whole."""
    try:
        number = int(spelling) if spelling.isdecimal() else float(spelling)
    except ValueError:
        number = math.inf
    if math.isinf(number):
        raise InvalidModel("a number in a context of fromAi() is too large: write it as a string")
    return number


# From parameters to the JSON Schema of a tool's input, as Camunda's agent connectors make it.

CODE: Final = "AD_HOC_TOOL_SCHEMA_INVALID"
NAMESPACE: Final = "toolCall"
"""The variable whose members a model fills in, unless somebody says another."""

META: Final = "_meta"
"""What the engine itself puts beside the arguments: the call's id and name."""


def checked_namespace(value: object) -> str:
    """Return the name of a variable whose members are parameters; InvalidInput for what is none."""
    if isinstance(value, str) and value.isidentifier():
        return value
    raise InvalidInput("a namespace is the name of a variable, such as 'toolCall', without a dot")


def schema_of(
    element_id: str, parameters: Iterable[Parameter], namespace: str = NAMESPACE
) -> JsonObject:
    """Return the schema of a tool's input; InvalidModel, with `CODE`, where a parameter is unfit."""
    try:
        return schema_with(parameters, namespace)
    except InvalidModel as exc:
        raise InvalidModel(
            f"Failed to generate ad-hoc tool schema for element '{element_id}'. {exc}", CODE
        ) from exc


def schema_with(parameters: Iterable[Parameter], namespace: str = NAMESPACE) -> JsonObject:
    """Return the schema of what has these parameters; InvalidModel, which names the first unfit one."""
    properties: JsonObject = {}
    required: list[str] = []
    for parameter in parameters:
        name = _property_name(parameter.name, f"{namespace}.")
        if name in properties:
            raise InvalidModel(f"Duplicate parameter name '{parameter.name}'.")
        properties[name] = _property(parameter)
        if _is_required(parameter):
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _property_name(parameter: str, namespace: str) -> str:
    """Return the name without its namespace: one segment, and not what the engine itself sets."""
    if parameter == namespace + META:
        raise InvalidModel(f"Parameter name '{parameter}' is restricted and cannot be used.")
    if not parameter.startswith(namespace):
        raise InvalidModel(
            f"Parameter name '{parameter}' is not part of expected namespace '{namespace}'."
        )
    name = parameter.removeprefix(namespace)
    if not name.strip():
        raise InvalidModel(
            f"Parameter name '{parameter}' is empty after removing the expected namespace "
            f"'{namespace}'."
        )
    if "." in name:
        raise InvalidModel(
            f"Parameter name '{name}' with removed namespace '{namespace}' is not a leaf reference "
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
