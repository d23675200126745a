"""Documents in Anthropic's spelling: images, PDFs and texts; what it cannot read, in words.

What it reads: platform.claude.com, "Vision" and "PDF support".
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final

from hansard.domain.content import Document
from hansard.domain.documents import modality_of
from hansard.domain.errors import CorruptRecord
from hansard.domain.jsontext import JsonObject

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"
_INLINE: Final = "data:"


def spell_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the block of a document; None where Anthropic reads no such thing.

    Raises CorruptRecord where its bytes are not among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    kind = "image" if modality_of(media_type) == "image" else "document"
    if document.url is not None and not document.url.startswith(_INLINE):
        readable = media_type in _IMAGES or kind == "document"
        source = {"type": "url", "url": document.url}
        return _block(kind, source, document) if readable else None
    data = _bytes_in(document.url) if document.url else _bytes_of(document, blobs)
    if not data:
        return None
    if media_type in _IMAGES or media_type == _PDF:
        encoded = b64encode(data).decode()
        source = {"type": "base64", "media_type": media_type, "data": encoded}
        return _block(kind, source, document)
    text = _text_of(data) if modality_of(media_type) == "text" else None
    if text is None:
        return None
    return _block("document", {"type": "text", "media_type": "text/plain", "data": text}, document)


def _bytes_of(document: Document, blobs: Mapping[str, bytes]) -> bytes:
    digest = document.blob.sha256 if document.blob else ""
    if digest not in blobs:
        raise CorruptRecord("the bytes of a document are missing")
    return blobs[digest]


def _bytes_in(url: str) -> bytes:
    """Return the bytes that a `data:` URL holds in base64 (RFC 2397); none where it does not."""
    about, _, data = url.partition(",")
    try:
        return b64decode(data) if about.endswith(";base64") else b""
    except ValueError:
        return b""


def _text_of(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.strip() else None


def _block(kind: str, source: JsonObject, document: Document) -> JsonObject:
    block: JsonObject = {"type": kind, "source": source}
    if kind == "document" and document.name:
        block["title"] = document.name
    return block
