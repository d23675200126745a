"""The SDKs' own types of what a request holds, with keys that they do not name forbidden.

What is checked against is what the installed SDK says, if it is there. Ollama's SDK has no types of
what its server reads: those are in `ollama_types`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial
from importlib import import_module, metadata
from typing import Any, Final, cast

from pydantic import TypeAdapter
from pydantic_core import ErrorDetails, SchemaValidator
from typing_extensions import TypedDict

from onrecord.adapters.check.service_types import (
    Mismatch,
    ParameterTypes,
    Step,
    bedrock_types,
    errors_of,
    ollama_types,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini.rules import snake

# Google-genai's types of what a request to Gemini holds, as the wire has it.
#
# The SDK's call takes a `config` that the wire has not: the types of the body are put together
# here from those of its members. Names go in either spelling, as with the service; words of
# enumerations that the SDK does not know are taken, for services have more of them than an SDK
# that is older.

_BASE64: Final = {"type": "str", "pattern": "^[A-Za-z0-9+/_-]*={0,2}$"}
"""Bytes: the service reads both alphabets, the SDK's type but one."""
_BESIDE: Final = frozenset(
    {
        *("systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent", "labels"),
        *("serviceTier", "store", "modelArmorConfig", "continuationToken"),
    }
)
"""What the body has beside `generationConfig`, of all that the SDK's `config` holds."""
_OF_CLIENT: Final = frozenset(
    {
        *("httpOptions", "automaticFunctionCalling", "automaticContinuation"),
        "shouldReturnHttpResponse",
    }
)
"""What `config` tells the client, and nobody else."""


def gemini_types() -> ParameterTypes:
    """Return the types of a request; raises ImportError where google-genai is not installed."""
    validator = SchemaValidator(_plain(_body_schema()))

    def mismatches(request: bytes) -> tuple[Mismatch, ...]:
        return tuple(map(_mismatch, errors_of(validator.validate_json, request)))

    return ParameterTypes(f"google-genai {metadata.version('google-genai')}", mismatches)


def body_of(arguments: JsonObject) -> JsonObject:
    """Return the body that the SDK makes of its arguments; a body is returned as it is."""
    config = arguments.get("config")
    if not isinstance(config, dict):
        return arguments
    body = {name: value for name, value in arguments.items() if name != "config"}
    generation: JsonObject = {}
    for name, value in cast("JsonObject", config).items():
        if (camel := _camel(name)) in _BESIDE:
            body[camel] = value
        elif camel not in _OF_CLIENT:
            generation[name] = value
    return {**body, "generationConfig": generation} if generation else body


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _body_schema() -> Any:
    from google.genai import types

    class Body(TypedDict, total=False):
        model: str
        contents: list[types.Content]
        systemInstruction: types.Content
        tools: list[types.Tool]
        toolConfig: types.ToolConfig
        safetySettings: list[types.SafetySetting]
        generationConfig: types.GenerationConfig
        cachedContent: str
        labels: dict[str, str]
        serviceTier: types.ServiceTier
        store: bool
        modelArmorConfig: types.ModelArmorConfig
        continuationToken: str

    return TypeAdapter(Body).core_schema


def _plain(schema: Any) -> Any:
    """Return a schema of plain JSON: no objects are made, and no code of the SDK's runs."""
    if isinstance(schema, list | tuple):
        return [_plain(part) for part in cast("Iterable[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("JsonObject", schema)
    match members.get("type"):
        case "model" | "function-before":
            return _referred(members, _plain(members["schema"]))
        case "enum":
            return {"type": "str"}
        case "bytes":
            return dict(_BASE64)
        case "model-fields" | "typed-dict":
            fields = {name: _field(name, held) for name, held in members["fields"].items()}
            closed = {"type": "typed-dict", "fields": fields, "extra_behavior": "forbid"}
            return _referred(members, closed)
        case _:
            return {key: _plain(held) for key, held in members.items()}


def _referred(outer: JsonObject, inner: JsonObject) -> JsonObject:
    """Return what is inside under the name by which others refer to what is around it."""
    return {**inner, "ref": outer["ref"]} if "ref" in outer else inner


def _field(name: str, field: JsonObject) -> JsonObject:
    inner = field["schema"]
    bare = inner["schema"] if inner["type"] == "default" else inner
    other = field.get("validation_alias", snake(name))
    return {
        "type": "typed-dict-field",
        "schema": _plain(bare),
        "required": False,
        "validation_alias": [[other], [name]],
    }


_PARAMETERS: Final = {
    "anthropic-messages": "anthropic.types.beta.message_create_params.MessageCreateParams",
    "openai-chat": "openai.types.chat.completion_create_params.CompletionCreateParams",
    "openai-responses": "openai.types.responses.response_create_params.ResponseCreateParams",
}
"""How the names of the SDKs' types begin: each has one of a request that streams, and one of others."""
_BRANCH: Final = "\0"
"""Begins the name of a branch of a union in the place of an error, where no key of a request may."""
_TAGS: Final = (["type"], ["role"])


@cache
def parameter_types(api: str, *, stream: bool = False) -> ParameterTypes | None:
    """Return the types of an API's request; None where its SDK is not installed, or has none."""
    try:
        return _types(api, stream)
    except (ImportError, AttributeError):
        return None


def _types(api: str, stream: bool) -> ParameterTypes | None:
    match api:
        case "gemini":
            return gemini_types()
        case "bedrock-converse":
            return bedrock_types()
        case "ollama":
            return ollama_types()
        case _:
            return _of_typed_dict(api, stream) if api in _PARAMETERS else None


def _of_typed_dict(api: str, stream: bool) -> ParameterTypes:
    module, _, kind = _PARAMETERS[api].rpartition(".")
    sdk, way = module.partition(".")[0], "Streaming" if stream else "NonStreaming"
    schema = TypeAdapter(getattr(import_module(module), kind + way)).core_schema
    validator = SchemaValidator(_strict(schema, _named(schema)))

    def mismatches(request: bytes) -> tuple[Mismatch, ...]:
        errors = errors_of(partial(validator.validate_json, strict=True), request)
        return tuple(map(_mismatch, _closest(errors, 0)))

    return ParameterTypes(f"{sdk} {metadata.version(sdk)}", mismatches)


def _named(schema: Any) -> Mapping[str, JsonObject]:
    """Return the schemas that others refer to, by name."""
    definitions = cast("list[JsonObject]", schema.get("definitions", ()))
    return {definition["ref"]: definition for definition in definitions}


def _strict(schema: Any, named: Mapping[str, JsonObject]) -> Any:
    """Return a schema of plain JSON in which each object has the keys that it names, and no other.

    Iterables are lists, as they are on the wire. Where the SDK takes an object of its own instead
    of JSON, that branch goes: such an object takes any key.
    """
    if isinstance(schema, list | tuple):
        return [_strict(part, named) for part in cast("Iterable[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("JsonObject", schema)
    match members.get("type"):
        case "model":
            return members
        case "json-or-python":
            return _strict(members["json_schema"], named)
        case "generator":
            return {"type": "list", "items_schema": _strict(members["items_schema"], named)}
        case "union":
            return {**members, "choices": _branches(members["choices"], named)}
        case "typed-dict":
            fields = {key: _strict(held, named) for key, held in members["fields"].items()}
            # A few say themselves what other keys may hold.
            closed = {} if "extras_schema" in members else {"extra_behavior": "forbid"}
            return {**members, "fields": fields, **closed}
        case _:
            return {key: _strict(held, named) for key, held in members.items()}


def _branches(choices: Iterable[Any], named: Mapping[str, JsonObject]) -> list[Any]:
    others = [choice for choice in _bare(choices) if not _is_object(choice, named)]
    return [(_strict(choice, named), f"{_BRANCH}{place}") for place, choice in enumerate(others)]


def _bare(choices: Iterable[Any]) -> list[JsonObject]:
    """Return the choices of a union without their labels."""
    return [choice[0] if isinstance(choice, tuple) else choice for choice in choices]


def _is_object(choice: JsonObject, named: Mapping[str, JsonObject]) -> bool:
    resolved = named.get(choice.get("schema_ref", ""), choice)
    match resolved.get("type"):
        case "union":
            return all(_is_object(inner, named) for inner in _bare(resolved["choices"]))
        case "function-wrap" | "function-after" | "function-before":
            return _is_object(resolved["schema"], named)
        case kind:
            return kind in ("model", "is-instance")


def _closest(errors: list[ErrorDetails], depth: int) -> list[ErrorDetails]:
    """Return the errors of the branches of unions that a value comes closest to."""
    closest_errors: list[ErrorDetails] = []
    steps: dict[Step, list[ErrorDetails]] = {}
    for error in errors:
        if len(error["loc"]) == depth:
            closest_errors.append(error)
        else:
            steps.setdefault(error["loc"][depth], []).append(error)
    by_step = {step: _closest(branch, depth + 1) for step, branch in steps.items()}
    branches = [branch for step, branch in by_step.items() if _is_branch(step)]
    for step, branch in by_step.items():
        if not _is_branch(step):
            closest_errors += branch
    if branches:
        closest = min(branches, key=lambda branch: _distance(branch, depth + 1))
        unknown = [error for branch in branches for error in branch if _is_tag(error, depth + 1)]
        is_unknown = any(_is_tag(error, depth + 1) for error in closest)
        closest_errors += [_of_no_branch(unknown)] if is_unknown else closest
    return closest_errors


def _is_branch(step: Step) -> bool:
    return isinstance(step, str) and step.startswith(_BRANCH)


def _distance(errors: list[ErrorDetails], depth: int) -> tuple[int, int]:
    """Return how far a value is from a branch: another kind is farther than wrong members are."""
    return max(_far(error, depth) for error in errors), len(errors)


def _far(error: ErrorDetails, depth: int) -> int:
    if not _inner(error, depth):
        return 3
    if _is_tag(error, depth):
        return 2
    return int(error["type"] == "missing" and _inner(error, depth) == ["type"])


def _inner(error: ErrorDetails, depth: int) -> list[Step]:
    return [step for step in error["loc"][depth:] if not _is_branch(step)]


def _is_tag(error: ErrorDetails, depth: int) -> bool:
    """Whether a value is of a kind that a branch is not for."""
    return error["type"] == "literal_error" and _inner(error, depth) in _TAGS


def _of_no_branch(errors: list[ErrorDetails]) -> ErrorDetails:
    """Return the one error of a value that no branch is for, told of all kinds there are."""
    first = errors[0]
    kinds = ", ".join(dict.fromkeys(str(error.get("ctx", {}).get("expected")) for error in errors))
    message = f"Input tag '{first['input']}' does not match any of the expected tags: {kinds}"
    return {**first, "msg": message, "ctx": {"expected": kinds}}


def _mismatch(error: ErrorDetails) -> Mismatch:
    path = tuple(step for step in error["loc"] if not _is_branch(step))
    expected = error.get("ctx", {}).get("expected")
    return Mismatch(path, error["type"], error["msg"], expected, error["input"])
