"""Images and files that are sent as data URLs, as both of OpenAI's APIs want them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from onrecord.projections.apis.rules import Found, Path, bracketed

_IMAGES: Final = ("image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp")


def unread_image(path: Path, url: Any) -> Iterator[Found]:
    """Find an image of another kind than png, jpeg, gif and webp (the vision guide's list)."""
    media_type = media_type_of(url)
    if media_type is not None and media_type not in _IMAGES:
        yield (
            path,
            (
                "You uploaded an unsupported image. Please make sure your image has of one the "
                "following formats: ['png', 'jpeg', 'gif', 'webp']."
            ),
        )


def no_data_url(path: Path, data: Any, wanted: str) -> Iterator[Found]:
    """Find a file that is no data URL."""
    if isinstance(data, str) and media_type_of(data) is None:
        yield path, f"{_expected(path, wanted)}, but got a value without the 'data:' prefix."


def unread_file(path: Path, data: Any, wanted: str) -> Found:
    """Return what the service says of a file of a kind that it does not read."""
    said = f"{_expected(path, wanted)}, but got unsupported MIME type '{media_type_of(data)}'."
    return path, said


def media_type_of(url: Any) -> str | None:
    """Return the media type of a data URL; None for anything else."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    return url.removeprefix("data:").partition(",")[0].partition(";")[0]


def _expected(path: Path, wanted: str) -> str:
    return (
        f"Invalid file data: '{bracketed(path)}'. Expected a base64-encoded data URL with {wanted}"
    )


# Names and ids, as both of OpenAI's APIs want them.

_PATTERN: Final = "^[a-zA-Z0-9_-]+$"
_LONGEST_NAME: Final = 64


def malformed_name(path: Path, name: Any) -> Iterator[Found]:
    """Find a name that has other characters than these, or too many of them."""
    if not isinstance(name, str):
        return
    if not re.fullmatch(_PATTERN, name):
        yield (
            path,
            (
                f"Invalid '{bracketed(path)}': string does not match pattern. Expected a string that "
                f"matches the pattern '{_PATTERN}'."
            ),
        )
    elif len(name) > _LONGEST_NAME:
        yield path, too_long(path, len(name), _LONGEST_NAME)


def too_long(path: Path, length: int, longest: int) -> str:
    """Return what the service says of a text that is longer than it may be."""
    return (
        f"Invalid '{bracketed(path)}': string too long. Expected a string with maximum length "
        f"{longest}, but got a string with length {length} instead."
    )


def too_short(path: Path) -> str:
    """Return what the service says of an id that has no character."""
    return (
        f"Invalid '{bracketed(path)}': empty string. Expected a string with minimum length 1, but "
        "got an empty string instead."
    )


def repeated_tools(names: Sequence[tuple[int, str]]) -> Iterator[Found]:
    """Find each tool whose name another one before it has; "" is none."""
    seen: set[str] = set()
    for place, name in names:
        if name and name in seen:
            yield ("tools", place), f"Duplicate tool name found: '{name}'."
        seen.add(name)
