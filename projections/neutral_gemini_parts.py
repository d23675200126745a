"""Members of Gemini's parts, in either spelling, and what a part holds beside calls.

The service takes names of members as it spells them and in snake case, as its SDK spells what is
nested. Shapes: ai.google.dev, "Content" and "Part".
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, cast

from onrecord.domain.content import Document, Text
from onrecord.domain.documents import media_type_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis import Replay

Part = Text | Document
"""What a content or a result may hold beside calls."""

CALL: Final = "functionCall"
"""The member of a part that calls a tool of the caller's."""

RESPONSE: Final = "functionResponse"
"""The member of a part that holds what such a tool gave."""

SIGNATURE: Final = "thoughtSignature"
"""The member in which a part is signed."""

_RECORD_ONLY: Final = frozenset({"groundingMetadata", "urlContextMetadata"})
"""Members of a candidate that are recorded as blocks, and that no request has."""

_BESIDE: Final = frozenset(
    {
        *("thought", "thoughtSignature", "partMetadata", "mediaResolution", "mediaProcessing"),
        *("videoMetadata", "audioMetadata", "documentMetadata", "spreadsheetMetadata"),
        *("speechMetadata", "audioTranscription"),
    }
)
_CAPITAL: Final = re.compile("[A-Z]")
_LETTER: Final = re.compile("_([a-z])")
_RESOURCE: Final = "/v1beta/files/"


@cache
def snake(name: str) -> str:
    """Return the name of a member as the SDK spells it."""
    return _CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", name)


@cache
def camel(name: str) -> str:
    """Return the name of a member as the service spells it."""
    return _LETTER.sub(lambda letter: letter[1].upper(), name)


def member(value: JsonObject, name: str) -> Any:
    """Return a member by the service's name, in either spelling; None where there is none."""
    return value[name] if name in value else value.get(snake(name))


def object_in(value: JsonObject, name: str) -> JsonObject | None:
    """Return a member that is an object; None for anything else."""
    held = member(value, name)
    return cast("JsonObject", held) if isinstance(held, dict) else None


def without(value: JsonObject, name: str) -> JsonObject:
    """Return an object without a member, in whichever spelling it has it."""
    return {key: held for key, held in value.items() if camel(key) != name}


def kind_of(value: JsonObject) -> str | None:
    """Return the member that says what a part holds; None for one that holds nothing."""
    for name in value:
        if (known := camel(name)) not in _BESIDE:
            return known
    return None


def replay(value: JsonObject) -> Replay:
    """Return how a part of an answer goes back: what is told of grounding does not."""
    return "record" if kind_of(value) in _RECORD_ONLY else "verbatim"


def is_thought(value: JsonObject) -> bool:
    """Whether a part is what the model thought."""
    return value.get("thought") is True


def is_signed(value: JsonObject) -> bool:
    """Whether a part bears a signature."""
    return bool(member(value, SIGNATURE))


def part(value: Any) -> Part | None:
    """Return what a text or a file says; None for any other part."""
    match value:
        case {"text": str(text)}:
            return Text(text=text)
        case dict():
            held = cast("JsonObject", value)
            return _inline(held) or _file(held)
        case _:
            return None


def texts_in(content: Any) -> list[str]:
    """Return the texts of a content: an object with parts, a list of parts, a string."""
    match content:
        case str():
            return [content]
        case {"parts": parts}:
            return texts_in(parts)
        case {"text": str(text)}:
            return [text]
        case list():
            return [text for held in cast("list[Any]", content) for text in texts_in(held)]
        case _:
            return []


def objects_in(held: Any) -> list[JsonObject]:
    """Return the objects in a list; none where it is no list."""
    listed = cast("list[Any]", held) if isinstance(held, list) else []
    return [cast("JsonObject", each) for each in listed if isinstance(each, dict)]


def is_held_by_the_service(value: JsonObject) -> bool:
    """Whether a part names a file that was uploaded to the service, which keeps it for a while."""
    uri = member(object_in(value, "fileData") or {}, "fileUri")
    return isinstance(uri, str) and (_RESOURCE in uri or uri.startswith("files/"))


def _inline(value: JsonObject) -> Document | None:
    held = object_in(value, "inlineData") or {}
    data, media_type = member(held, "data"), member(held, "mimeType")
    if not isinstance(data, str) or not isinstance(media_type, str):
        return None
    standard = data.replace("-", "+").replace("_", "/")
    url = f"data:{media_type};base64,{standard}"
    return Document(media_type=media_type, name=_name(held), url=url)


def _file(value: JsonObject) -> Part | None:
    held = object_in(value, "fileData") or {}
    uri, media_type = member(held, "fileUri"), member(held, "mimeType")
    if not isinstance(uri, str):
        return None
    if is_held_by_the_service(value) or uri.startswith("gs:"):
        return Text(text=f"[file held by the provider as {uri}]")
    guess = media_type_of(b"", uri.partition("?")[0])
    told = media_type if isinstance(media_type, str) and media_type else guess
    return Document(media_type=told, name=_name(held), url=uri)


def _name(held: JsonObject) -> str | None:
    name = member(held, "displayName")
    return name if isinstance(name, str) and name else None
