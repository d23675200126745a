"""Documents as parts of a Chat Completions message; what no part can hold, in words.

What parts there are: platform.openai.com, "Images and vision", "PDF files" and "Audio".
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from onrecord.domain.content import Document
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.neutral_openai_chat_parts import SOUNDS
from onrecord.projections.requests.document_bytes import bytes_of, is_remote, told_in

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_ANY_IMAGE: Final = "image/*"
_PDF: Final = "application/pdf"
_FORMATS: Final = {media_type: kind for kind, media_type in SOUNDS.items()} | {
    "audio/x-wav": "wav",
    "audio/mp3": "mp3",
}


def spell_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the part of a document; None where no part can hold it.

    Only images may be given by address. Raises CorruptRecord where the document's bytes are not
    among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    if is_remote(document):
        is_image = media_type in {*_IMAGES, _ANY_IMAGE}
        return _image(document.url or "") if is_image else None
    data = bytes_of(document, blobs)
    if not data:
        return None
    if media_type in _IMAGES:
        return _image(_inline(media_type, data))
    if media_type == _PDF:
        held = {"filename": document.name or "document.pdf", "file_data": _inline(_PDF, data)}
        return {"type": "file", "file": held}
    if media_type in _FORMATS:
        sound = {"data": b64encode(data).decode(), "format": _FORMATS[media_type]}
        return {"type": "input_audio", "input_audio": sound}
    text = told_in(document, blobs)
    return None if text is None else {"type": "text", "text": text}


def _image(url: str) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": url}}


def _inline(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"
