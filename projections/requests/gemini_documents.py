"""Documents as parts of Gemini's: images, PDFs, sounds, films and texts; all else in words.

What it reads: ai.google.dev, "Image understanding", "Document processing", "Audio understanding" and
"Video understanding". What a server of the web holds goes by its address: the service fetches it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from onrecord.domain.content import Document
from onrecord.domain.documents import UNKNOWN, modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.requests.document_bytes import bytes_of, is_remote, told_in

_PDF: Final = "application/pdf"
_IMAGES: Final = frozenset({f"image/{kind}" for kind in ("png", "jpeg", "webp", "heic", "heif")})
_UNREAD: Final = frozenset({"audio/midi", "audio/x-midi"})


def spell_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the part of a document; None where the service reads no such thing.

    Raises CorruptRecord where its bytes are not among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    if is_remote(document):
        return _remote(document, media_type)
    data = bytes_of(document, blobs)
    if not data:
        return None
    if reads(media_type):
        encoded = b64encode(data).decode()
        return {"inlineData": {"mimeType": media_type, "data": encoded}}
    text = told_in(document, blobs)
    return None if text is None else {"text": text}


def reads(media_type: str) -> bool:
    """Whether the service reads bytes of a media type that is no text."""
    if media_type in _UNREAD:
        return False
    return media_type == _PDF or media_type in _IMAGES or _sounds_or_moves(media_type)


def _sounds_or_moves(media_type: str) -> bool:
    return modality_of(media_type) in ("audio", "video") and not media_type.endswith("*")


def _remote(document: Document, media_type: str) -> JsonObject | None:
    """Return the part of a file on the web; its type is left out where it is not known."""
    is_known = media_type != UNKNOWN and not media_type.endswith("*")
    if is_known and not reads(media_type) and modality_of(media_type) != "text":
        return None
    told: JsonObject = {"mimeType": media_type} if is_known else {}
    return {"fileData": {**told, "fileUri": document.url}}
