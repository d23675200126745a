"""Documents: what kind of thing some bytes are, and how a kind travels to a model."""

from __future__ import annotations

import mimetypes
from typing import Final, Literal

Modality = Literal["text", "image", "document", "audio", "video"]
"""The way a document reaches a model."""

_SHORT: Final = 8

UNKNOWN: Final = "application/octet-stream"

_MAGIC: Final = (
    (0, b"%PDF-", "application/pdf"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
)
_TEXTUAL: Final = frozenset(
    {
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
    }
)


def media_type_of(data: bytes, name: str | None = None) -> str:
    """Return the media type of a document: by its first bytes, else by its name."""
    for offset, magic, media_type in _MAGIC:
        if data[offset : offset + len(magic)] == magic:
            return media_type
    guessed = mimetypes.guess_type(name)[0] if name else None
    return guessed or UNKNOWN


def modality_of(media_type: str) -> Modality:
    """Return how a media type travels; what is not known travels as a document."""
    essence = media_type.partition(";")[0].strip().lower()
    major = essence.partition("/")[0]
    if essence in _TEXTUAL or essence.endswith(("+json", "+xml")) or major == "text":
        return "text"
    match major:
        case "image" | "audio" | "video":
            return major
        case _:
            return "document"


def document_id(digest: str) -> str:
    """Return the id of a document whose bytes have this SHA-256, in hex: short id, a dash, the rest."""
    return f"{digest[:_SHORT]}-{digest[_SHORT:]}"


def short_id(identity: str) -> str:
    """Return what of a document's id is before the first dash; all of it where nothing is."""
    before, _, _ = identity.partition("-")
    return before or identity
