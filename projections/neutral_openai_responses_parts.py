"""Parts of a message or of a result of OpenAI's Responses API in neutral form.

Bytes stand in a part as a `data:` URL (RFC 2397) and stay one; a file that only its id names says
so, for nobody else can read it. Shapes: platform.openai.com, "Images and vision", "File inputs".
"""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.domain.content import Document, Text
from onrecord.domain.documents import UNKNOWN, media_type_of
from onrecord.domain.jsontext import JsonObject

Part = Text | Document
"""What a message or a result may hold beside calls."""

_TEXTS: Final = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_INLINE: Final = "data:"


def parts(content: Any) -> tuple[Part, ...]:
    """Return what content says: a string, a part or a list of them, or nothing."""
    match content:
        case str():
            return (Text(text=content),)
        case dict():
            part = part_of(cast("JsonObject", content))
            return () if part is None else (part,)
        case list():
            return tuple(part for item in cast("list[Any]", content) for part in parts(item))
        case _:
            return ()


def text_of(content: Any) -> str:
    """Return the texts of content, with an empty line between them."""
    return "\n\n".join(part.text for part in parts(content) if isinstance(part, Text))


def part_of(value: JsonObject) -> Part | None:
    """Return a text, an image, a file, or what a shell wrote; None for any other shape."""
    match value:
        case {"type": str(kind), "text": str(text)} if kind in _TEXTS:
            return Text(text=text)
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text=text)
        case {"type": "input_image" | "computer_screenshot", "image_url": str(url)}:
            return Document(media_type=_media_type(url, None, "image/*"), url=url)
        case {"type": "input_file", "file_data": str(data)}:
            return _file(value, data)
        case {"type": "input_file", "file_url": str(url)}:
            name = _name(value)
            return Document(media_type=_media_type(url, name, UNKNOWN), name=name, url=url)
        case {"type": "input_image" | "input_file" | "computer_screenshot" as kind}:
            held = value.get("file_id")
            told = str(kind).removeprefix("input_").replace("_", " ")
            return Text(text=f"[{told} held by the provider as {held}]")
        case {"outcome": outcome}:
            return Text(text=_run(value, outcome))
        case _:
            return None


def _file(value: JsonObject, data: str) -> Document:
    name = _name(value)
    if data.startswith(_INLINE):
        return Document(media_type=_media_type(data, name, UNKNOWN), name=name, url=data)
    media_type = media_type_of(b"", name)
    return Document(media_type=media_type, name=name, url=f"data:{media_type};base64,{data}")


def _media_type(url: str, name: str | None, otherwise: str) -> str:
    if url.startswith(_INLINE):
        said = url[len(_INLINE) :].partition(",")[0].partition(";")[0]
        return said or otherwise
    guessed = media_type_of(b"", name or url.partition("?")[0])
    return otherwise if guessed == UNKNOWN else guessed


def _name(value: JsonObject) -> str | None:
    name = value.get("filename")
    return name if isinstance(name, str) else None


def _run(value: JsonObject, outcome: Any) -> str:
    """Return what a command wrote, and how it ended if not well."""
    ended: str | None = None
    match outcome:
        case {"type": "timeout"}:
            ended = "timed out"
        case {"exit_code": int(code)} if code:
            ended = f"exit code {code}"
        case _:
            pass
    said = (value.get("stdout"), value.get("stderr"), ended)
    return "\n".join(text for text in said if isinstance(text, str) and text)
