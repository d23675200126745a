"""Documents as OpenAI's Responses API reads them: images, PDFs, office files and texts.

In messages and in the outputs of functions alike: platform.openai.com, "Images and vision" and
"File inputs"; lengths: OpenAI's OpenAPI document, 2.3.0. Audio is refused: "got unsupported MIME
type 'audio/mpeg'".
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from onrecord.domain.content import Document
from onrecord.domain.documents import modality_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.jsontext import JsonObject

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_FILES: Final[Mapping[str, str]] = {
    "application/pdf": "document.pdf",
    "application/msword": "document.doc",
    "application/rtf": "document.rtf",
    "application/vnd.ms-excel": "document.xls",
    "application/vnd.ms-powerpoint": "document.ppt",
    "application/vnd.oasis.opendocument.text": "document.odt",
    f"{_OFFICE}wordprocessingml.document": "document.docx",
    f"{_OFFICE}presentationml.presentation": "document.pptx",
    f"{_OFFICE}spreadsheetml.sheet": "document.xlsx",
}
"""Files that are read, and the name of one that has none: the service wants to know its kind."""

_TEXT: Final = "text/plain"
_TEXT_NAME: Final = "document.txt"
_INLINE: Final = "data:"
_LONGEST_IMAGE: Final = 20_971_520
_LONGEST_FILE: Final = 73_400_320


def spell_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the part that holds a document; None where the service reads no such thing.

    Raises CorruptRecord where its bytes are not among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    if modality_of(media_type) == "image":
        return _image(document, media_type, blobs)
    name = _name_of(document, media_type)
    if name is None:
        return None
    if document.url is not None and not document.url.startswith(_INLINE):
        return {"type": "input_file", "file_url": document.url}
    data = _data_url(document, media_type if media_type in _FILES else _TEXT, blobs)
    if data is None or len(data) > _LONGEST_FILE:
        return None
    return {"type": "input_file", "filename": name, "file_data": data}


def _image(document: Document, media_type: str, blobs: Mapping[str, bytes]) -> JsonObject | None:
    url: str | None = document.url
    if url is None or url.startswith(_INLINE):
        url = _data_url(document, media_type, blobs) if media_type in _IMAGES else None
    if url is None or len(url) > _LONGEST_IMAGE:
        return None
    return {"type": "input_image", "detail": "auto", "image_url": url}


def _name_of(document: Document, media_type: str) -> str | None:
    """Return the name of a file that the service reads; None for any other."""
    if media_type in _FILES:
        return document.name or _FILES[media_type]
    return (document.name or _TEXT_NAME) if modality_of(media_type) == "text" else None


def _data_url(document: Document, media_type: str, blobs: Mapping[str, bytes]) -> str | None:
    """Return a document's bytes as a `data:` URL (RFC 2397); None where there are none."""
    if document.url is not None:
        about, _, data = document.url.partition(",")
        return f"data:{media_type};base64,{data}" if about.endswith(";base64") and data else None
    digest = document.blob.sha256 if document.blob else ""
    if digest not in blobs:
        raise CorruptRecord("the bytes of a document are missing")
    held = blobs[digest]
    return f"data:{media_type};base64,{b64encode(held).decode()}" if held else None
