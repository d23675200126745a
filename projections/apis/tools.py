"""How each API spells the tools that providers have themselves.

Sources: the types of the SDKs (anthropic 2.11, openai 3.52, google-genai 3.4, botocore 1.44).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from onrecord.domain import jsontext
from onrecord.domain.content import Native
from onrecord.domain.errors import UnsupportedTool
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import BuiltinTool, ToolDefinition
from onrecord.projections.api import api_of, usable
from onrecord.projections.members import list_of, members_of

_Encode: TypeAlias = Callable[[BuiltinTool, JsonObject], JsonObject]


def encode_tool(tool: BuiltinTool, api: str) -> Native:
    """Return a provider's tool as an API spells it; UnsupportedTool where it has none."""
    encode = _encoders(api).get(tool.name)
    if encode is None:
        raise UnsupportedTool(tool.name, api, _able(tool.name))
    return Native(api=api, value=encode(tool, tool.options.get(api, {})))


def _able(name: str) -> tuple[str, ...]:
    """Return the APIs that have a tool."""
    return tuple(api.name for api in usable() if name in _encoders(api.name))


def builtin_names() -> frozenset[str]:
    """Return the names of all tools that some provider runs."""
    return frozenset(name for api in usable() for name in _encoders(api.name))


def _encoders(api: str) -> Mapping[str, _Encode]:
    if api in ENCODERS:
        return ENCODERS[api]
    known = api_of(api)
    return known.builtin_tools if known else {}


def _dated(kind: str, version: str) -> _Encode:
    """Return what encodes a tool whose type ends with a date."""

    def encode(tool: BuiltinTool, options: JsonObject) -> JsonObject:
        typed = f"{kind}_{tool.version or version}"
        return {"type": typed, "name": kind, **options}

    return encode


def _typed(kind: str, **members: JsonObject) -> _Encode:
    """Return what encodes a tool that its type names."""
    return lambda _, options: {"type": kind, **members, **options}


def _member(name: str) -> _Encode:
    """Return what encodes a tool that is a member of its own."""
    return lambda _, options: {name: options}


def _system(name: str) -> _Encode:
    """Return what encodes a tool of Bedrock's."""
    return lambda _, options: {"systemTool": {"name": name, **options}}


def _of_server(tool: BuiltinTool, options: JsonObject) -> JsonObject:
    """Return the tools of an MCP server, which the request's `mcp_servers` describe by its name.

    Without the name (`Required` in the SDK's types) Anthropic refuses the request.
    """
    api = "anthropic-messages"
    if not options.get("mcp_server_name"):
        advice = (
            'it wants the name of a server: declare onrecord.BuiltinTool(name="mcp", '
            f'options={{"{api}": {{"mcp_server_name": NAME}}}}), and give the call itself '
            "mcp_servers=[...] with a server of this name"
        )
        raise UnsupportedTool(tool.name, api, _able(tool.name), advice)
    return _typed("mcp_toolset")(tool, options)


SKILLS: Final = "skills"


def _run_by_code(tool: BuiltinTool, _: JsonObject) -> JsonObject:
    """Return what runs skills at Anthropic; `container` names them (`skills_of`)."""
    return _dated("code_execution", "20250825")(tool, {})


def _in_shell(_: BuiltinTool, options: JsonObject) -> JsonObject:
    return {"type": "shell", "environment": {"type": "container_auto", **options}}


def skills_of(tools: Iterable[ToolDefinition | BuiltinTool | Native], api: str) -> list[Any]:
    """Return the skills that are declared for an API, as it spells them."""
    skills = (tool for tool in tools if isinstance(tool, BuiltinTool) and tool.name == SKILLS)
    return [skill for tool in skills for skill in list_of(tool.options.get(api, {}).get(SKILLS))]


ENCODERS: Final[Mapping[str, Mapping[str, _Encode]]] = {
    "anthropic-messages": {
        "web_search": _dated("web_search", "20250305"),
        "web_fetch": _dated("web_fetch", "20250910"),
        "code_execution": _dated("code_execution", "20250825"),
        "tool_search": _dated("tool_search_tool_bm25", "20251119"),
        "memory": _dated("memory", "20250818"),
        "computer": _dated("computer", "20250124"),
        "advisor": _dated("advisor", "20260301"),
        "mcp": _of_server,
        "skills": _run_by_code,
    },
    "openai-responses": {
        "web_search": _typed("web_search"),
        "file_search": _typed("file_search"),
        "code_execution": _typed("code_interpreter", container={"type": "auto"}),
        "image_generation": _typed("image_generation"),
        "mcp": _typed("mcp"),
        "shell": _typed("shell"),
        "computer": _typed("computer"),
        "apply_patch": _typed("apply_patch"),
        "tool_search": _typed("tool_search"),
        "program": _typed("programmatic_tool_calling"),
        "skills": _in_shell,
    },
    "gemini": {
        "web_search": _member("googleSearch"),
        "web_fetch": _member("urlContext"),
        "code_execution": _member("codeExecution"),
        "file_search": _member("fileSearch"),
        "computer": _member("computerUse"),
    },
    "bedrock-converse": {
        "web_search": _system("nova_grounding"),
        "code_execution": _system("nova_code_interpreter"),
    },
}
"""API, then the name that all APIs share, to the spelling; others have no tools of their own.

Of the dated ones the version is the one that most models take; the newest ones take more.
"""


# JSON Schemas of what tools take, as far as services take them.
#
# MCP servers list schemas that are right and yet refused, and then every request is, whatever it
# asks:
#
# - Anthropic: "tools.9.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at
#   the top level"; its `type` is required, by the types of its SDK.
# - OpenAI: "schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.", "In context=(),
#   object schema missing properties.", "schema must have type 'object' and not have
#   'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level".
# - Gemini: "schema at top-level requires unspecified property 'type'".
# - Bedrock: "The value at toolConfig.tools.7.toolSpec.inputSchema.json.type must be one of the
#   following: object."; Claude there refuses what it refuses at Anthropic.
# - Ollama's types, and servers that speak as OpenAI does, hold no `true` or `false` where a schema
#   stands: "Unrecognized schema: true".
#
# What is said in their stead allows no less.

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


def schema_for(declared: JsonObject, wants: Wants) -> tuple[JsonObject, str]:
    """Return a tool's schema as a service takes it, and what was done; its own and "" if nothing."""
    schema: JsonObject = declared
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
    properties = dict(members_of(schema.get("properties")))
    required = _texts(schema.get("required"))
    for union in (word for word in _UNIONS if word in schema):
        parts = [_resolved(schema, part) for part in list_of(schema[union])]
        for name, kinds in _kinds(parts).items():
            properties.setdefault(name, kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
        wanted = [_texts(part.get("required")) for part in parts]
        some = dict.fromkeys(name for names in wanted for name in names)
        holds = any if union == "allOf" else all
        required += [name for name in some if holds(name in names for names in wanted)]
    rest = {word: holds for word, holds in schema.items() if word not in bare}
    flat = {**rest, "properties": properties}
    return {**flat, "required": list(dict.fromkeys(required))} if required else flat


def _kinds(parts: Iterable[JsonObject]) -> dict[str, list[Any]]:
    """Return what the parts say of each property, each saying once."""
    kinds: dict[str, list[Any]] = {}
    for part in parts:
        for name, item in members_of(part.get("properties")).items():
            if item not in kinds.setdefault(name, []):
                kinds[name].append(item)
    return kinds


def _resolved(schema: JsonObject, part: object) -> JsonObject:
    """Return a part, or the definition in the same schema that it names."""
    value = members_of(part)
    match str(value.get("$ref", "")).split("/"):
        case ["#", ("$defs" | "definitions") as where, name]:
            return members_of(members_of(schema.get(where)).get(name))
        case _:
            return value


def _has_booleans(schema: JsonObject) -> bool:
    return any(isinstance(holder[place], bool) for holder, place in _places(schema))


def _without_booleans(schema: JsonObject) -> JsonObject:
    """Return a copy in which every schema is an object."""
    copy = jsontext.read_object(jsontext.write(schema))
    for holder, place in _places(copy):
        if isinstance(holder[place], bool):
            holder[place] = dict(_ANYTHING if holder[place] else _NOTHING)
    return copy


def _places(schema: JsonObject) -> Iterator[tuple[Any, str | int]]:
    """Yield every place where a schema stands; without recursion, as they may nest deeply."""
    waiting = [schema]
    while waiting:
        for holder, place in _places_in(waiting.pop()):
            yield holder, place
            if isinstance(holder[place], dict):
                waiting.append(holder[place])


def _places_in(schema: JsonObject) -> Iterator[tuple[Any, str | int]]:
    for word, item in schema.items():
        if word in _SEVERAL and isinstance(item, list):
            yield from ((item, place) for place in range(len(cast("list[Any]", item))))
        elif word in _NAMED and isinstance(item, dict):
            yield from ((item, name) for name in cast("JsonObject", item))
        elif word in _ONE and not (word in _PLAIN and isinstance(item, bool)):
            yield schema, word


def _texts(value: object) -> list[str]:
    return [each for each in list_of(value) if isinstance(each, str)]


# Custom tools, which only OpenAI's two APIs know, as functions that any API can call.

_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"arguments": {"type": "string"}},
    "required": ["arguments"],
}


def custom_tool(name: str, description: Any) -> ToolDefinition:
    """Return the definition of a tool whose input is one free text: it stands in `arguments`."""
    text = description if isinstance(description, str) else None
    return ToolDefinition(name=name, description=text, input_schema=_SCHEMA)
