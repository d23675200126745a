"""Google-genai's types of what a request to Gemini holds, as the wire has it.

The SDK's call takes a `config` that the wire has not: the types of the body are put together here
from those of its members. Names go in either spelling, as with the service; words of enumerations
that the SDK does not know are taken, for services have more of them than an SDK that is older.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import metadata
from typing import Any, Final, cast

from pydantic import TypeAdapter
from pydantic_core import ErrorDetails, SchemaValidator, ValidationError
from typing_extensions import TypedDict

from onrecord.adapters.mismatch import Mismatch, ParameterTypes
from onrecord.domain.jsontext import JsonObject

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
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
        try:
            validator.validate_json(request)
        except ValidationError as exc:
            return tuple(_mismatch(error) for error in exc.errors(include_url=False))
        return ()

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
        case "model":
            return _referred(members, _plain(members["schema"]))
        case "function-before":
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
    held = inner["schema"] if inner["type"] == "default" else inner
    other = field.get("validation_alias", _HUMP.sub("_", name).lower())
    return {
        "type": "typed-dict-field",
        "schema": _plain(held),
        "required": False,
        "validation_alias": [[other], [name]],
    }


def _mismatch(error: ErrorDetails) -> Mismatch:
    return Mismatch(error["loc"], error["type"], error["msg"], None, error["input"])
