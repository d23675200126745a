"""A Gemini request as google-genai's call takes it: `contents` and `config`.

The SDK refuses members that it does not know, and drops nothing silently where it is given JSON. So
what it does not know is left out of the arguments, and stays in the body. It takes bytes as base64
in either alphabet, and names of members in either spelling (google-genai 3.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.neutral_gemini_parts import camel, kind_of, snake

KNOWN: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset(
        {
            *("text", "thought", "thoughtSignature", "functionCall", "functionResponse"),
            *("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
            *("inlineData", "fileData", "videoMetadata", "mediaResolution", "mediaProcessing"),
            *("partMetadata", "audioTranscription", "speechMetadata", "documentMetadata"),
            *("spreadsheetMetadata", "audioMetadata"),
        }
    ),
    "functionCall": frozenset({"id", "name", "args", "partialArgs", "willContinue"}),
    "functionResponse": frozenset(
        {"id", "name", "response", "parts", "willContinue", "scheduling"}
    ),
    "executableCode": frozenset({"id", "code", "language"}),
    "codeExecutionResult": frozenset({"id", "outcome", "output"}),
    "toolCall": frozenset({"id", "toolType", "args"}),
    "toolResponse": frozenset({"id", "toolType", "response"}),
    "inlineData": frozenset({"mimeType", "data", "displayName"}),
    "fileData": frozenset({"mimeType", "fileUri", "displayName"}),
}
"""The members of a part that the SDK knows, and those of what a part holds."""

_NAMES: Final[Mapping[str, frozenset[str]]] = {
    spelled: names | frozenset(map(snake, names))
    for of, names in KNOWN.items()
    for spelled in (of, snake(of))
}
"""The same in either spelling."""

TOOLS: Final = frozenset(
    {
        *("functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution"),
        *("urlContext", "fileSearch", "googleMaps", "computerUse", "enterpriseWebSearch"),
        *("retrieval", "parallelAiSearch", "exaAiSearch", "mcpServers"),
    }
)
"""The members of a tool that the SDK knows."""


def arguments_of(body: Mapping[str, Any]) -> tuple[JsonObject, list[str]]:
    """Return the keyword arguments of a body, and the names of what the SDK does not know in it."""
    unknown: list[str] = []
    config = {name: held for name, held in body.items() if name != "contents"}
    if "tools" in config:
        config["tools"] = _tools(config["tools"], unknown)
    contents = _contents(body["contents"], unknown)
    return {"contents": contents, **({"config": config} if config else {})}, unknown


def _contents(contents: list[JsonObject], unknown: list[str]) -> list[JsonObject]:
    told: list[JsonObject] = []
    for content in contents:
        parts: list[JsonObject] = content["parts"]
        if all(map(_is_known, parts)):
            told.append(content)
        elif known := list(_parts(parts, unknown)):
            told.append({**content, "parts": known})
    return told


def _is_known(part: JsonObject) -> bool:
    """Whether the SDK knows all of a part, as it does of most."""
    if not part.keys() <= _NAMES[""]:
        return False
    for name, held in part.items():
        names = _NAMES.get(name) if isinstance(held, dict) else None
        if names is not None and not cast("JsonObject", held).keys() <= names:
            return False
    return True


def _parts(parts: Iterable[JsonObject], unknown: list[str]) -> Iterator[JsonObject]:
    for part in parts:
        known = _known(part, "", unknown)
        if kind_of(known) is not None:
            yield known


def _known(value: JsonObject, of: str, unknown: list[str]) -> JsonObject:
    """Return an object with those members that the SDK knows; the object itself if it knows all."""
    names = KNOWN.get(of)
    if names is None:
        return value
    unknown += [name for name in value if camel(name) not in names]
    told = {name: held for name, held in value.items() if camel(name) in names}
    for name, held in told.items():
        if not of and isinstance(held, dict):
            told[name] = _known(cast("JsonObject", held), camel(name), unknown)
    return value if told == value else told


def _tools(tools: list[JsonObject], unknown: list[str]) -> list[JsonObject]:
    unknown += [name for tool in tools for name in tool if camel(name) not in TOOLS]
    known = ({k: held for k, held in tool.items() if camel(k) in TOOLS} for tool in tools)
    return [tool for tool in known if tool]
