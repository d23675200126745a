"""OpenAI's rules of the parts of messages and outputs, in the Responses API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.referee.members import objects, text
from onrecord.projections.referee.openai_items import items_of, kind_of
from onrecord.projections.referee.openai_media import (
    media_type_of,
    no_data_url,
    unread_file,
    unread_image,
)
from onrecord.projections.referee.openai_spelling import too_long
from onrecord.projections.referee.violation import Found, Path

_SAID: Final = ("output_text", "refusal")
_LONGEST: Final = {
    "output": 10_485_760,
    "encrypted_content": 20_971_520,
    "image_url": 20_971_520,
    "file_data": 73_400_320,
}
"""The most characters of a member, as OpenAI's OpenAPI document (2.3.0) has it."""
_REFUSED_MEDIA: Final = ("audio/", "video/")
_FILE: Final = "a valid file MIME type"


def misplaced_parts(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find parts of input that the assistant says, and parts of output that others say."""
    for path, item, part in _parts(request):
        kind = text(part.get("type"))
        is_said = kind in _SAID
        if kind_of(item) != "message" or not kind or is_said == (item.get("role") == "assistant"):
            continue
        fitting = "'input_text', 'input_image', and 'input_file'"
        supported = fitting if is_said else "'output_text' and 'refusal'"
        yield (*path, "type"), f"Invalid value: '{kind}'. Supported values are: {supported}."


def refused_media(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find images and files that are not read (recorded for a sound)."""
    for path, _, part in _parts(request):
        yield from unread_image((*path, "image_url"), part.get("image_url"))
        at, data = (*path, "file_data"), part.get("file_data")
        yield from no_data_url(at, data, _FILE)
        if (media_type_of(data) or "").startswith(_REFUSED_MEDIA):
            yield unread_file(at, data, _FILE)


def large_strings(request: Mapping[str, Any]) -> Iterator[Found]:
    """Find outputs, images and files that are longer than the most that is taken."""
    held: list[tuple[Path, JsonObject]] = [
        *((("input", index), item) for index, item in items_of(request)),
        *((path, part) for path, _, part in _parts(request)),
    ]
    for path, members in held:
        for name, longest in _LONGEST.items():
            value = members.get(name)
            if isinstance(value, str) and len(value) > longest:
                at = (*path, name)
                yield at, too_long(at, len(value), longest)


def _parts(request: Mapping[str, Any]) -> Iterator[tuple[Path, JsonObject, JsonObject]]:
    """Yield each part of a message or an output: where it stands, its item, and itself."""
    for index, item in items_of(request):
        name = "content" if kind_of(item) == "message" else "output"
        for place, part in objects(item.get(name)):
            yield ("input", index, name, place), item, part
