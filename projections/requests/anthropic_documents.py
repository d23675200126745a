"""Documents in Anthropic's spelling: images, PDFs and texts; what it cannot read, in words.

What it reads: platform.claude.com, "Vision" and "PDF support".
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from onrecord.domain.content import Document
from onrecord.domain.documents import modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.requests.document_bytes import bytes_of, is_remote, text_of

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"
_AT_ADDRESSES: Final = _IMAGES | {"image/*", _PDF}
"""What the service fetches by itself: at the address of a document it expects a PDF."""


def spell_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the block of a document; None where Anthropic reads no such thing.

    Raises CorruptRecord where its bytes are not among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    kind = "image" if modality_of(media_type) == "image" else "document"
    if is_remote(document):
        source = {"type": "url", "url": document.url}
        return _block(kind, source, document) if media_type in _AT_ADDRESSES else None
    data = bytes_of(document, blobs)
    if not data:
        return None
    if media_type in _IMAGES or media_type == _PDF:
        encoded = b64encode(data).decode()
        source = {"type": "base64", "media_type": media_type, "data": encoded}
        return _block(kind, source, document)
    text = text_of(data) if modality_of(media_type) == "text" else None
    if text is None:
        return None
    return _block("document", {"type": "text", "media_type": "text/plain", "data": text}, document)


def _block(kind: str, source: JsonObject, document: Document) -> JsonObject:
    block: JsonObject = {"type": kind, "source": source}
    if kind == "document" and document.name:
        block["title"] = document.name
    return block
