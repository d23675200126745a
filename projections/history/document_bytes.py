"""The bytes of a document, wherever they are held."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Final

from onrecord.domain.content import Document
from onrecord.domain.documents import modality_of
from onrecord.domain.errors import CorruptRecord

INLINE: Final = "data:"


def is_remote(document: Document) -> bool:
    """Whether a document is given by the address of a server."""
    return document.url is not None and not document.url.startswith(INLINE)


def bytes_of(document: Document, blobs: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a document that is not remote; none where its URL holds none in base64.

    Raises CorruptRecord where they are not among `blobs`.
    """
    if document.url is not None:
        return _bytes_in(document.url)
    digest = document.blob.sha256 if document.blob else ""
    if digest not in blobs:
        raise CorruptRecord("the bytes of a document are missing")
    return blobs[digest]


def is_base64(text: str) -> bool:
    """Whether a text is standard base64 (RFC 4648), and nothing else."""
    try:
        b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def text_of(data: bytes) -> str | None:
    """Return the text that bytes hold; None where they are none, or blank."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text.strip() else None


def told_in(document: Document, blobs: Mapping[str, bytes]) -> str | None:
    """Return the text of a document that is one, under its name; None for any other, or blank.

    Raises CorruptRecord where its bytes are not among `blobs`.
    """
    if is_remote(document) or modality_of(document.media_type) != "text":
        return None
    text = text_of(bytes_of(document, blobs))
    return f"{document.name}\n{text}" if text and document.name else text


def _bytes_in(url: str) -> bytes:
    """Return the bytes that a `data:` URL holds in base64 (RFC 2397); none where it does not."""
    about, _, data = url.partition(",")
    try:
        return b64decode(data) if about.endswith(";base64") else b""
    except ValueError:
        return b""
