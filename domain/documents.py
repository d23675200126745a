"""Documents: what kind of thing some bytes are, and how a kind travels to a model."""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from codecs import getincrementaldecoder
from collections.abc import Iterable
from typing import Final, Literal

from onrecord.domain.content import Document

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
_PLAIN: Final = "text/plain"
_NAMED: Final = {
    **dict.fromkeys(("yaml", "yml"), "application/yaml"),
    **dict.fromkeys(("bpmn", "dmn", "xsd"), "application/xml"),
    **dict.fromkeys(("js", "mjs"), "text/javascript"),
    **dict.fromkeys(("ini", "log", "sh", "sql", "toml", "ts"), _PLAIN),
}
"""Types of texts by the ending of a name (RFC 9512, 9239).

The table of the system has none of them, one that no model reads (`application/sql`), or that of
another kind of file: to it `a.ts` is a translation of Qt's.
"""

_CONTROLS: Final = re.compile(r"(?!\s)[\x00-\x1f\x7f-\x9f]")
"""What no text is made of: control characters beside white space."""

_TOKEN: Final = r"[0-9A-Za-z!#$%&'*+.^_`|~-]+"
_TYPE: Final = re.compile(rf"({_TOKEN}/{_TOKEN})[ \t]*((?:;[ \t]*[\x20-\x7e]*)?)")
"""A media type and its parameters (RFC 9110, section 8.3.1)."""

_LONGEST_TYPE: Final = 255
_LONGEST_NAME: Final = 255
_LONGEST_ENDING: Final = 16
_HARMFUL: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""What no name is made of: control characters, halves of pairs, ends of lines and paragraphs."""

_TURNING: Final = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""What makes a name read otherwise than it is (Unicode, UAX 9)."""

_TEXTUAL: Final = frozenset(
    {
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
    }
)


def media_type_of(data: bytes | bytearray, name: str | None = None) -> str:
    """Return the media type of a document: by its first bytes, else by its name."""
    for offset, magic, media_type in _MAGIC:
        if data[offset : offset + len(magic)] == magic:
            return media_type
    guessed = mimetypes.guess_type(name)[0] if name else None
    return guessed or UNKNOWN


def media_type_given(text: str) -> str | None:
    """Return a media type in its usual spelling, type and subtype in lower case; None if it is none."""
    # Looked at first: what is no type takes the pattern the longer the longer it is.
    if len(text) > _LONGEST_TYPE:
        return None
    match = _TYPE.fullmatch(text.strip())
    if match is None:
        return None
    return match[1].lower() + match[2].rstrip("; \t")


def media_type_found(
    declared: str | None, first: bytes, name: str | None = None, pieces: Iterable[bytes] = ()
) -> str:
    """Return the media type of what is recorded, by its first bytes, what was said, or its name.

    What was said counts where the bytes do not tell otherwise. `pieces` are all its bytes: where
    nothing else tells, they are text or not known.
    """
    declared_type = media_type_given(declared or "") or UNKNOWN
    type_of_bytes = media_type_of(first)
    if type_of_bytes != UNKNOWN:
        return declared_type if essence_of(declared_type) == type_of_bytes else type_of_bytes
    if essence_of(declared_type) != UNKNOWN:
        return declared_type
    return media_type_named(name) or (_PLAIN if _is_text(pieces) else UNKNOWN)


def media_type_named(name: str | None) -> str | None:
    """Return the media type that the name of a document tells; None where it tells none."""
    _, dot, ending = (name or "").rpartition(".")
    known = _NAMED.get(ending.lower()) if dot else None
    return known or (mimetypes.guess_type(name)[0] if name else None)


def _is_text(pieces: Iterable[bytes]) -> bool:
    """Whether bytes are UTF-8 without control characters; no bytes are no text."""
    decoder = getincrementaldecoder("utf-8")()
    has_text = False
    try:
        for piece in pieces:
            text = decoder.decode(piece)
            if _CONTROLS.search(text):
                return False
            has_text = has_text or bool(text)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return has_text


def essence_of(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def name_of(name: str | None) -> str | None:
    """Return the name of a document by what it was called: the last part of a path, safe to show.

    At most 255 bytes of UTF-8, as file systems take them, with its ending; None if nothing is left.
    """
    last = re.split(r"[/\\]", (name or "").rstrip("/\\"))[-1]
    shown = "".join(filter(_is_harmless, last)).strip()
    if not shown.strip("."):
        return None
    return shown if len(shown.encode()) <= _LONGEST_NAME else _shortened(shown)


def _is_harmless(character: str) -> bool:
    if unicodedata.category(character) in _HARMFUL:
        return False
    return unicodedata.bidirectional(character) not in _TURNING


def _shortened(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > _LONGEST_ENDING:
        stem, dot, ending = name, "", ""
    room = _LONGEST_NAME - len((dot + ending).encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip() + dot + ending


def modality_of(media_type: str) -> Modality:
    """Return how a media type travels; what is not known travels as a document."""
    essence = essence_of(media_type)
    major = essence.partition("/")[0]
    if essence in _TEXTUAL or essence.endswith(("+json", "+xml")) or major == "text":
        return "text"
    match major:
        case "image" | "audio" | "video":
            return major
        case _:
            return "document"


def reference_to(document: Document) -> dict[str, str]:
    """Return what stands for a document in the text of a result that it was found in."""
    blob = document.blob
    members = {
        "document": None if blob is None else short_id(document_id(blob.sha256)),
        "url": document.url,
        "name": document.name,
        "media_type": document.media_type,
    }
    return {name: value for name, value in members.items() if value is not None}


def document_id(digest: str) -> str:
    """Return the id of a document whose bytes have this SHA-256, in hex: short id, a dash, the rest."""
    return f"{digest[:_SHORT]}-{digest[_SHORT:]}"


def short_id(identity: str) -> str:
    """Return what of a document's id is before the first dash; all of it where nothing is."""
    before, _, _ = identity.partition("-")
    return before or identity
