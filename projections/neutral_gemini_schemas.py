"""Gemini's own schemas of parameters as JSON Schema, which all others take.

They are OpenAPI's: types in capitals, `nullable`, whole numbers as texts, and an order of properties
that JSON Schema has no word for. Shapes: ai.google.dev, "Schema".
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.neutral_gemini_parts import camel

_COUNTS: Final = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)
_NESTED: Final = frozenset({"items", "additionalProperties"})


def json_schema(schema: JsonObject) -> JsonObject:
    """Return the JSON Schema of a schema of Gemini's."""
    told: JsonObject = {}
    for given, held in schema.items():
        name = camel(given)
        if name not in ("nullable", "propertyOrdering"):
            told[name] = _member(name, held)
    if schema.get("nullable") is True and isinstance(told.get("type"), str):
        told["type"] = [told["type"], "null"]
    return told


def _member(name: str, held: Any) -> Any:
    match held:
        case str() if name == "type":
            return held.lower()
        case str() if name in _COUNTS and held.isdecimal():
            return int(held)
        case dict() if name == "properties":
            properties = cast("JsonObject", held)
            return {each: _nested(schema) for each, schema in properties.items()}
        case dict() if name in _NESTED:
            return json_schema(cast("JsonObject", held))
        case list() if name == "anyOf":
            return [_nested(schema) for schema in cast("list[Any]", held)]
        case _:
            return held


def _nested(schema: Any) -> Any:
    return json_schema(cast("JsonObject", schema)) if isinstance(schema, dict) else schema
