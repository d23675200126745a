"""Parts of a Chat Completions message in neutral form: texts, images, files and sounds.

Shapes: platform.openai.com, "Chat Completions", request messages. What stands in a part as bytes
becomes a `data:` URL (RFC 2397); a file that only its id names says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from onrecord.domain.content import Document, Text
from onrecord.domain.documents import UNKNOWN, media_type_of
from onrecord.domain.jsontext import JsonObject

Part = Text | Document
"""What a message or a result may hold beside calls."""

SOUNDS: Final[Mapping[str, str]] = {"wav": "audio/wav", "mp3": "audio/mpeg"}
"""What `input_audio` calls a format, and its media type."""

_INLINE: Final = "data:"


def parts(content: Any) -> tuple[Part, ...]:
    """Return what `content` says: a string, a list of parts, or nothing."""
    match content:
        case str():
            return (Text(text=content),)
        case list():
            found = (part(item) for item in cast("list[Any]", content))
            return tuple(said for said in found if said is not None)
        case _:
            return ()


def part(value: Any) -> Part | None:
    """Return what one part says; None where its shape is not known."""
    match value:
        case str():
            return Text(text=value)
        case {"type": "text" | "refusal" as kind}:
            said = value.get(kind)
            return Text(text=said) if isinstance(said, str) else None
        case {"type": "image_url", "image_url": str(url) | {"url": str(url)}}:
            return _document(url, "image/*", None)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            media_type = SOUNDS.get(kind, f"audio/{kind}")
            return Document(media_type=media_type, url=f"data:{media_type};base64,{data}")
        case {"type": "file", "file": dict()}:
            return _file(cast("JsonObject", value["file"]))
        case _:
            return None


def kind_of_part(value: JsonObject) -> str:
    """Return the type of a part; one that has none is a text."""
    kind = value.get("type")
    return kind if isinstance(kind, str) else "text"


def text_of(content: Any) -> str:
    """Return the texts of `content`, joined; empty where it has none."""
    return "".join(said.text for said in parts(content) if isinstance(said, Text))


def objects_in(held: Any) -> list[JsonObject]:
    """Return the objects in a list; none where it is no list."""
    listed = cast("list[Any]", held) if isinstance(held, list) else []
    return [cast("JsonObject", each) for each in listed if isinstance(each, dict)]


def _file(held: JsonObject) -> Part | None:
    named = held.get("filename")
    name = named if isinstance(named, str) else None
    match held:
        case {"file_data": str(data)}:
            media_type = media_type_of(b"", name)
            is_url = data.startswith((_INLINE, "https:", "http:"))
            url = data if is_url else f"data:{media_type};base64,{data}"
            return _document(url, media_type, name)
        case {"file_id": str(file_id)}:
            return Text(text=f"[file held by the provider as {file_id}]")
        case _:
            return None


def _document(url: str, guess: str, name: str | None) -> Document:
    if not url.startswith(_INLINE):
        named = media_type_of(b"", url.partition("?")[0])
        return Document(media_type=guess if named == UNKNOWN else named, name=name, url=url)
    stated = url[len(_INLINE) :].partition(",")[0].partition(";")[0]
    return Document(media_type=stated or guess, name=name, url=url)
