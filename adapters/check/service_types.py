"""Botocore's model of a Converse request, held against the JSON that goes over the wire.

Botocore's own check takes Python's values and tells of all breaches in one text; this one takes
JSON and tells where each is, in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
from typing import Any, Final, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict

from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.ollama.rules import json_kind
from onrecord.projections.apis.rules import bracketed

Step: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A member that is not of its type: where it is, pydantic's name for why, and the words."""

    path: tuple[Step, ...]
    reason: str
    message: str
    expected: str | None
    given: Any


@dataclass(frozen=True, slots=True)
class ParameterTypes:
    """The types of an API's request, as a release of its SDK has them.

    `mismatches` returns what is not of its type in a request, given as the JSON that it is on the
    wire.
    """

    sdk: str
    mismatches: Callable[[bytes], tuple[Mismatch, ...]]


def errors_of(validate: Callable[[bytes], object], request: bytes) -> list[ErrorDetails]:
    """Return what pydantic finds wrong in a request."""
    try:
        validate(request)
    except ValidationError as exc:
        return exc.errors(include_url=False)
    return []


_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "blob": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (float, int),
    "double": (float, int),
    "boolean": (bool,),
    "list": (list,),
    "map": (dict,),
    "structure": (dict,),
}


def bedrock_types() -> ParameterTypes:
    """Return the types of a request; raises ImportError where botocore is not installed."""
    session: Any = import_module("botocore.session").get_session()
    shape = session.get_service_model("bedrock-runtime").operation_model("Converse").input_shape

    def mismatches(request: bytes) -> tuple[Mismatch, ...]:
        return tuple(_structure(shape, jsontext.read_object(request), ()))

    return ParameterTypes(f"botocore {metadata.version('botocore')}", mismatches)


def _of_shape(shape: Any, value: Any, path: tuple[Step, ...]) -> Iterator[Mismatch]:
    kind: str = shape.type_name
    if getattr(shape, "is_document_type", False):
        return
    wanted = _TYPES[kind]
    if not _is_of(value, wanted):
        yield _mistyped(value, path, wanted)
        return
    match kind:
        case "structure":
            yield from _structure(shape, value, path)
        case "list":
            yield from _short(shape, value, path)
            for place, one in enumerate(cast("list[Any]", value)):
                yield from _of_shape(shape.member, one, (*path, place))
        case "map":
            for name, one in cast("JsonObject", value).items():
                yield from _of_shape(shape.value, one, (*path, name))
        case "string" | "blob":
            yield from _short(shape, value, path)
            if getattr(shape, "enum", None) and value not in shape.enum:
                yield _of_no_enum(shape.enum, value, path)
        case _:
            pass


def _is_of(value: Any, wanted: tuple[type, ...]) -> bool:
    return isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))


def _structure(shape: Any, value: JsonObject, path: tuple[Step, ...]) -> Iterator[Mismatch]:
    members: dict[str, Any] = shape.members
    where = bracketed(path) or "input"
    if shape.is_tagged_union and len(value) != 1:
        yield _of_no_kind(members, value, path)
        return
    for name in shape.required_members:
        if name not in value:
            message = f'Missing required parameter in {where}: "{name}"'
            yield Mismatch((*path, name), "missing", message, None, value)
    for name, held in value.items():
        if name in members:
            yield from _of_shape(members[name], held, (*path, name))
        else:
            known = ", ".join(members)
            message = f'Unknown parameter in {where}: "{name}", must be one of: {known}'
            yield Mismatch((*path, name), "extra_forbidden", message, known, held)


def _of_no_kind(known: Iterable[str], value: JsonObject, path: tuple[Step, ...]) -> Mismatch:
    name, kinds = bracketed(path), ", ".join(known)
    if value:
        message = f"Invalid number of parameters set for tagged union structure {name}. "
        message += f"Can only set one of the following keys: {kinds}."
        return Mismatch(path, "too_many", message, kinds, value)
    message = f"Must set one of the following keys for tagged union structure {name}: {kinds}."
    return Mismatch(path, "missing", message, kinds, value)


def _mistyped(value: Any, path: tuple[Step, ...], wanted: tuple[type, ...]) -> Mismatch:
    kinds = ", ".join(str(kind) for kind in wanted)
    message = f"Invalid type for parameter {bracketed(path)}, value: {value}, type: {type(value)}"
    return Mismatch(path, "type", f"{message}, valid types: {kinds}", kinds, value)


def _short(shape: Any, value: Any, path: tuple[Step, ...]) -> Iterator[Mismatch]:
    least: int = shape.metadata.get("min", 0)
    if len(value) < least:
        message = f"Invalid length for parameter {bracketed(path)}, value: {len(value)}"
        yield Mismatch(path, "too_short", f"{message}, valid min length: {least}", None, value)


def _of_no_enum(known: list[str], value: str, path: tuple[Step, ...]) -> Mismatch:
    """Return what the service says; botocore sends any word."""
    steps = (f"{step + 1}.member" if isinstance(step, int) else step for step in path)
    message = (
        f"1 validation error detected: Value '{value}' at '{'.'.join(steps)}' failed to satisfy"
    )
    wanted = f"constraint: Member must satisfy enum value set: [{', '.join(known)}]"
    return Mismatch(path, "enum", f"{message} {wanted}", ", ".join(known), value)


# The types of what Ollama's server reads of a chat: its SDK knows neither ids of calls nor
# results.
#
# Source: Ollama's `api/types.go`, `ChatRequest` and `Message`. As with the server, other members
# are not looked at, and null is as if it were not there.

_SOURCE: Final = "ollama api/types.go"
_GO: Final[Mapping[str, str]] = {
    "string_type": "string",
    "bool_type": "bool",
    "int_type": "int",
    "messages.images": "[]api.ImageData",
    "messages.tool_calls": "[]api.ToolCall",
    "messages.tool_calls.function": "api.ToolCallFunction",
    "messages": "[]api.Message",
    "options": "map[string]interface {}",
    "tools": "api.Tools",
}
"""What Go calls the type at a place, or one that pydantic has this reason to miss."""


class _Function(TypedDict, total=False):
    name: str | None
    arguments: Any


class _Call(TypedDict, total=False):
    id: str | None
    function: _Function | None


class _Message(TypedDict, total=False):
    role: str | None
    content: str | None
    thinking: str | None
    images: list[Any] | None
    tool_calls: list[_Call] | None
    tool_name: str | None
    tool_call_id: str | None


class _Chat(TypedDict, total=False):
    model: str | None
    messages: list[_Message] | None
    tools: list[dict[str, Any]] | None
    options: dict[str, Any] | None
    stream: bool | None
    truncate: bool | None
    shift: bool | None
    logprobs: bool | None
    top_logprobs: int | None


_CHAT: Final = TypeAdapter(_Chat)


def ollama_types() -> ParameterTypes:
    """Return the types of a request."""
    return ParameterTypes(_SOURCE, _mismatches)


def _mismatches(request: bytes) -> tuple[Mismatch, ...]:
    return tuple(map(_mismatch, errors_of(partial(_CHAT.validate_json, strict=True), request)))


def _mismatch(error: ErrorDetails) -> Mismatch:
    path, given = error["loc"], error["input"]
    place = ".".join(step for step in path if isinstance(step, str))
    of_go = _GO.get(place) or _GO.get(error["type"], "api.Message")
    field = f"Go struct field ChatRequest.{place} of type {of_go}"
    message = f"json: cannot unmarshal {json_kind(given)} into {field}"
    return Mismatch(path, error["type"], message, None, given)
