"""JSON Schemas of what tools take, as far as services take them.

MCP servers list schemas that are right and yet refused, and then every request is, whatever it asks:

- Anthropic: "tools.9.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at
  the top level"; its `type` is required, by the types of its SDK.
- OpenAI: "schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.", "In context=(),
  object schema missing properties.", "schema must have type 'object' and not have
  'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level".
- Gemini: "schema at top-level requires unspecified property 'type'".
- Bedrock: "The value at toolConfig.tools.7.toolSpec.inputSchema.json.type must be one of the
  following: object."; Claude there refuses what it refuses at Anthropic.
- Ollama's types, and servers that speak as OpenAI does, hold no `true` or `false` where a schema
  stands: "Unrecognized schema: true".

What is said in their stead allows no less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject

RULE: Final = "schema"
"""The rule that a report names."""

_UNIONS: Final = ("allOf", "anyOf", "oneOf")
_ONE: Final = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not"),
        *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_SEVERAL: Final = frozenset({*_UNIONS, "prefixItems", "items"})
_NAMED: Final = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
"""The words of JSON Schema (2020-12, and draft-07) that hold a schema, several, or several by name."""

_PLAIN: Final = frozenset(
    {"additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"}
)
"""Where `true` and `false` are taken everywhere."""

_ANYTHING: Final[JsonObject] = {}
_NOTHING: Final[JsonObject] = {"not": {}}


@dataclass(frozen=True, slots=True)
class Wants:
    """What a service wants of the schema of a tool, beside `type: object` at its root.

    `bare` are the words that may not stand at the root; `properties` says that these must, if only
    empty; `objects` that a schema is an object, not `true` or `false`.
    """

    bare: frozenset[str] = frozenset()
    properties: bool = False
    objects: bool = False


ANTHROPIC: Final = Wants(frozenset(_UNIONS))
BEDROCK: Final = ANTHROPIC
GEMINI: Final = Wants()
OLLAMA: Final = Wants(objects=True)
OPENAI: Final = Wants(frozenset({*_UNIONS, "enum", "const", "not"}), properties=True, objects=True)


def schema_for(given: JsonObject, wants: Wants) -> tuple[JsonObject, str]:
    """Return a tool's schema as a service takes it, and what was done; its own and "" if nothing."""
    schema: JsonObject = given
    done = list[str]()
    if schema.get("type") != "object" and _may_be_object(schema):
        schema = {"type": "object", **{word: schema[word] for word in schema if word != "type"}}
        done.append("it says `type: object`")
    if unfit := sorted(wants.bare & schema.keys()):
        schema = _flat(schema, wants.bare)
        done.append(f"{' and '.join(unfit)} at its root went into its properties or away")
    if wants.properties and not isinstance(schema.get("properties"), dict):
        schema = {**schema, "properties": {}}
        done.append("it says that there are no properties")
    if wants.objects and _has_booleans(schema):
        schema = _without_booleans(schema)
        done.append("schemas that are `true` or `false` are objects")
    return schema, "; ".join(done)


def _may_be_object(schema: JsonObject) -> bool:
    kind: Any = schema.get("type")
    return kind is None or (isinstance(kind, list) and "object" in kind)


def _flat(schema: JsonObject, bare: frozenset[str]) -> JsonObject:
    """Return a schema with the properties of its alternatives among its own.

    Required stays what each alternative requires, or one that holds in any case.
    """
    properties = dict(_object(schema.get("properties")))
    required = _texts(schema.get("required"))
    for union in (word for word in _UNIONS if word in schema):
        parts = [_resolved(schema, part) for part in _list(schema[union])]
        for name, kinds in _kinds(parts).items():
            properties.setdefault(name, kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
        wanted = [_texts(part.get("required")) for part in parts]
        some = dict.fromkeys(name for names in wanted for name in names)
        held = any if union == "allOf" else all
        required += [name for name in some if held(name in names for names in wanted)]
    rest = {word: held for word, held in schema.items() if word not in bare}
    flat = {**rest, "properties": properties}
    return {**flat, "required": list(dict.fromkeys(required))} if required else flat


def _kinds(parts: Iterable[JsonObject]) -> dict[str, list[Any]]:
    """Return what the parts say of each property, each saying once."""
    kinds: dict[str, list[Any]] = {}
    for part in parts:
        for name, held in _object(part.get("properties")).items():
            if held not in kinds.setdefault(name, []):
                kinds[name].append(held)
    return kinds


def _resolved(schema: JsonObject, part: object) -> JsonObject:
    """Return a part, or the definition in the same schema that it names."""
    held = _object(part)
    match str(held.get("$ref", "")).split("/"):
        case ["#", ("$defs" | "definitions") as where, name]:
            return _object(_object(schema.get(where)).get(name))
        case _:
            return held


def _has_booleans(schema: JsonObject) -> bool:
    return any(isinstance(held[place], bool) for held, place in _places(schema))


def _without_booleans(schema: JsonObject) -> JsonObject:
    """Return a copy in which every schema is an object."""
    copy = jsontext.read_object(jsontext.write(schema))
    for held, place in _places(copy):
        if isinstance(held[place], bool):
            held[place] = dict(_ANYTHING if held[place] else _NOTHING)
    return copy


def _places(schema: JsonObject) -> Iterator[tuple[Any, str | int]]:
    """Yield every place where a schema stands; without recursion, as they may nest deeply."""
    waiting = [schema]
    while waiting:
        for held, place in _places_in(waiting.pop()):
            yield held, place
            if isinstance(held[place], dict):
                waiting.append(held[place])


def _places_in(schema: JsonObject) -> Iterator[tuple[Any, str | int]]:
    for word, held in schema.items():
        if word in _SEVERAL and isinstance(held, list):
            yield from ((held, place) for place in range(len(cast("list[Any]", held))))
        elif word in _NAMED and isinstance(held, dict):
            yield from ((held, name) for name in cast("JsonObject", held))
        elif word in _ONE and not (word in _PLAIN and isinstance(held, bool)):
            yield schema, word


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [each for each in _list(value) if isinstance(each, str)]
