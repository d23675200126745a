"""Documents and images of Anthropic's Messages API in neutral form.

Bytes that stand in a block as base64 become a `data:` URL (RFC 2397); a text becomes text; a file
that only its id names says so, for nobody else can read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from onrecord.domain.content import Document, Text
from onrecord.domain.documents import UNKNOWN, media_type_of
from onrecord.domain.jsontext import JsonObject

Part = Text | Document
"""What a result or a message may hold beside calls."""

_DEFAULTS: Final[Mapping[str, str]] = {"image": "image/*", "document": "application/pdf"}
"""The media type of what is given by URL alone and whose name tells nothing."""


def parts(content: Any) -> tuple[Part, ...]:
    """Return what a result's content says: a string, one block or a list of them, or nothing."""
    match content:
        case str():
            return (Text(text=content),)
        case dict():
            part = _part(cast("JsonObject", content))
            return () if part is None else (part,)
        case list():
            return tuple(part for item in cast("list[Any]", content) for part in parts(item))
        case _:
            return ()


def document(value: JsonObject) -> Part | None:
    """Return an image, a document or a search result; None where its shape is not known."""
    match value:
        case {"type": "search_result"}:
            return _found(value)
        case {"source": {"type": "text", "data": str(text)}}:
            return _titled(value, text)
        case {"source": {"type": "content", "content": content}}:
            return _titled(value, _text_of(parts(content)))
        case {"source": {"type": "base64", "media_type": str(media_type), "data": str(data)}}:
            return _document(value, media_type, f"data:{media_type};base64,{data}")
        case {"type": str(kind), "source": {"type": "url", "url": str(url)}}:
            return _document(value, _media_type(url, kind), url)
        case {"type": str(kind), "source": {"type": "file", "file_id": str(file_id)}}:
            return Text(text=f"[{kind} held by the provider as {file_id}]")
        case _:
            return None


def _part(block: JsonObject) -> Part | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "tool_reference", "tool_name": str(name)}:
            return Text(text=name)
        case _:
            return document(block)


def _document(value: JsonObject, media_type: str, url: str) -> Document:
    title = value.get("title")
    return Document(media_type=media_type, name=title if isinstance(title, str) else None, url=url)


def _media_type(url: str, kind: str) -> str:
    guessed = media_type_of(b"", url.partition("?")[0])
    return _DEFAULTS.get(kind, UNKNOWN) if guessed == UNKNOWN else guessed


def _titled(value: JsonObject, text: str) -> Text:
    title = value.get("title")
    return Text(text=f"{title}\n{text}" if isinstance(title, str) and title else text)


def _found(value: JsonObject) -> Text:
    """Return a search result as its title, its source and its text, a line each."""
    said = [value.get("title"), value.get("source"), _text_of(parts(value.get("content")))]
    return Text(text="\n".join(line for line in said if isinstance(line, str) and line))


def _text_of(content: tuple[Part, ...]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, Text))
