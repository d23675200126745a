"""Images and files that are sent as data URLs, as both of OpenAI's APIs want them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from onrecord.projections.referee.violation import Found, Path, bracketed

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
