"""Documents, pictures and pages of Bedrock's Converse API in neutral form.

Bytes that stand in a block as base64 become a `data:` URL (RFC 2397); what lies in S3 keeps its
address, which only Bedrock can read. Shapes: docs.aws.amazon.com, "DocumentBlock", "ImageBlock".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onrecord.domain import jsontext
from onrecord.domain.content import Document, Text
from onrecord.domain.documents import UNKNOWN
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.native_members import objects, text_or_none, texts

Part = Text | Document
"""What a result or a message may hold beside calls."""

DOCUMENTS: Final[Mapping[str, str]] = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Format of a document to its media type."""

VIDEOS: Final[Mapping[str, str]] = {
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "mkv": "video/x-matroska",
    "webm": "video/webm",
    "flv": "video/x-flv",
    "mpeg": "video/mpeg",
    "wmv": "video/x-ms-wmv",
    "three_gp": "video/3gpp",
}
"""Format of a video to its media type; `mpg` is another word for `mpeg`."""

_MEDIA: Final = ("image", "document", "video", "audio")
_MEDIA_TYPES: Final[Mapping[str, Mapping[str, str]]] = {"document": DOCUMENTS, "video": VIDEOS}


def document(value: JsonObject) -> Part | None:
    """Return a text, a document, a picture or a page; None for a block of another kind."""
    match value:
        case {"text": str(text)} | {"guardContent": {"text": {"text": str(text)}}}:
            return Text(text=text)
        case {"guardContent": {"image": dict()}}:
            return _medium("image", value["guardContent"]["image"])
        case {"searchResult": dict()}:
            page: JsonObject = value["searchResult"]
            told = texts(page.get("title"), page.get("source"), texts_in(page.get("content")))
            return Text(text="\n".join(line.text for line in told))
        case {"document": dict()} if (said := _text_in(value["document"])) is not None:
            name = text_or_none(value["document"].get("name"))
            return Text(text=f"{name}\n{said}" if name else said)
        case {"image": dict()} | {"document": dict()} | {"video": dict()} | {"audio": dict()}:
            kind = next(kind for kind in _MEDIA if kind in value)
            return _medium(kind, value[kind])
        case _:
            return None


def parts(value: JsonObject) -> tuple[Part, ...]:
    """Return what a part of a result says."""
    if "json" in value:
        return (Text(text=jsontext.write(value["json"]).decode()),)
    part = document(value)
    return () if part is None else (part,)


def texts_in(content: Any) -> str:
    """Return the texts of a list of blocks, one behind the other."""
    said = [text.text for held in objects(content) for text in texts(held.get("text"))]
    return "".join(said)


def _text_in(told: JsonObject) -> str | None:
    match told.get("source"):
        case {"text": str(text)}:
            return text
        case {"content": list()}:
            return texts_in(told["source"]["content"])
        case _:
            return None


def _medium(kind: str, told: JsonObject) -> Document | None:
    form = text_or_none(told.get("format")) or ""
    media_type = _MEDIA_TYPES[kind].get(form, UNKNOWN) if kind in _MEDIA_TYPES else f"{kind}/{form}"
    name = text_or_none(told.get("name"))
    match told.get("source"):
        case {"bytes": str(data)}:
            return Document(
                media_type=media_type, name=name, url=f"data:{media_type};base64,{data}"
            )
        case {"s3Location": {"uri": str(uri)}}:
            return Document(media_type=media_type, name=name, url=uri)
        case _:
            return None
