"""Documents in the spelling of Bedrock's Converse API; what it cannot hold, in words.

Shapes and formats: docs.aws.amazon.com, "ImageBlock", "DocumentBlock", "VideoBlock".
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from onrecord.domain.content import Document
from onrecord.domain.documents import Modality, modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.neutral_bedrock_documents import DOCUMENTS, VIDEOS
from onrecord.projections.requests.document_bytes import bytes_of, is_remote, text_of

MEDIA: Final = frozenset({"image", "document", "video", "audio"})
"""Kinds of blocks that hold a file."""

_IMAGES: Final = {f"image/{kind}": kind for kind in ("png", "jpeg", "gif", "webp")}
_FORMATS: Final[Mapping[str, tuple[str, str]]] = {
    **{media_type: ("image", kind) for media_type, kind in _IMAGES.items()},
    **{media_type: ("document", kind) for kind, media_type in DOCUMENTS.items()},
    **{media_type: ("video", kind) for kind, media_type in VIDEOS.items()},
}
_S3: Final = "s3://"

_UNFIT: Final = re.compile(r"[^a-zA-Z0-9\-()\[\]]+")
_LONGEST: Final = 200
_NAMELESS: Final = "Document"


def spell_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the block of a document; None where the API has none for it.

    The name is the document's own, as it may be taken. Raises CorruptRecord where its bytes are not
    among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    is_text = modality_of(media_type) == "text"
    known = _FORMATS.get(media_type) or (("document", "txt") if is_text else None)
    if known is None:
        return None
    kind, form = known
    source = _source(document, blobs, is_text=is_text)
    if source is None:
        return None
    named = {"name": fitting(document.name or "")} if kind == "document" else {}
    return {kind: {"format": form, **named, "source": source}}


def kind_read_as(kind: str) -> Modality | None:
    """Return how a kind of blocks reaches a model; None for pages of a search, which few read."""
    match kind:
        case "image" | "document" | "video" | "audio":
            return kind
        case _:
            return None


def source_of(value: JsonObject, kind: str) -> JsonObject:
    """Return where the file of a block is; nothing where the block does not say it."""
    match value.get(kind):
        case {"source": dict()}:
            source: JsonObject = value[kind]["source"]
            return source
        case _:
            return {}


def is_in_s3(value: JsonObject, kind: str) -> bool:
    """Whether the file of a block lies in S3."""
    return "s3Location" in source_of(value, kind)


def fitting(name: str) -> str:
    """Return the name of a document as it may be taken (B7): no dot, no underscore, no umlaut."""
    return _UNFIT.sub(" ", name).strip()[:_LONGEST].rstrip() or _NAMELESS


class Names:
    """The names that the documents of one request bear, each once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._taken: set[str] = set()

    def of(self, given: Any) -> str:
        """Return the name under which the next document goes: with a number if it comes again."""
        name = wire = fitting(given if isinstance(given, str) else "")
        number = 1
        while wire in self._taken:
            number += 1
            ending = f" ({number})"
            wire = name[: _LONGEST - len(ending)] + ending
        self._taken.add(wire)
        return wire


def _source(document: Document, blobs: Mapping[str, bytes], *, is_text: bool) -> JsonObject | None:
    if is_remote(document):
        url = document.url or ""
        return {"s3Location": {"uri": url}} if url.startswith(_S3) else None
    data = bytes_of(document, blobs)
    if not data or (is_text and text_of(data) is None):
        return None
    return {"bytes": b64encode(data).decode()}
