"""Documents that callers hand over: looked at first, stored when all else is in order."""

from __future__ import annotations

import base64
import logging
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from onrecord.adapters.inputs.arguments import kind_of, several, text_given
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.content import Document, Text
from onrecord.domain.documents import (
    UNKNOWN,
    essence_of,
    media_type_found,
    media_type_given,
    media_type_named,
    name_of,
)
from onrecord.domain.errors import InvalidContent
from onrecord.projections.history.held_documents import INLINE

logger = logging.getLogger("onrecord")

GivenDocument: TypeAlias = Path | bytes | Document
"""A document as callers give it: a file, its bytes, or one that is described already."""

PromptPart: TypeAlias = str | Text | GivenDocument
"""A part of a prompt as callers give it."""

_READ_BY_PROVIDERS: Final = frozenset({"http", "https"})
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
"""Makes the alphabet of base64 for URLs the standard one (RFC 4648, section 5)."""

_PIECE: Final = 1024 * 1024
_HEAD: Final = 512


class Unstored(NamedTuple):
    """A document whose bytes are not stored yet: they are given, or in a file."""

    source: bytes | Path
    media_type: str
    name: str | None = None


UnstoredPart: TypeAlias = Text | Document | Unstored
"""A part of what a user says."""


def described(value: object) -> Document | Unstored:
    """Return a document with its type and name; InvalidContent where it is none or cannot be read.

    Nothing is stored. Of a file only its beginning is read, unless only all of it tells its type.
    """
    match value:
        case Unstored():
            return value
        case Document():
            return _described(_checked(value))
        case bytes() | bytearray():
            return from_outside(bytes(value), None, None)
        case memoryview():
            return from_outside(value.tobytes(), None, None)
        case Path():
            return _file(value)
        case _:
            raise InvalidContent(
                "a document is a pathlib.Path, bytes or an onrecord.Document, "
                f"not {kind_of(value)}: for a file give pathlib.Path(...)"
            )


def must_hold(stream: Stream, documents: Iterable[Document | Unstored]) -> None:
    """Raise InvalidContent where one of these documents has its bytes in another conversation."""
    blobs = dict.fromkeys(each.blob for each in documents if isinstance(each, Document))
    if not all(blob is None or stream.holds(blob) for blob in blobs):
        raise InvalidContent(
            "a document's bytes are not in this conversation: give them as bytes, or as a file"
        )


def stored(document: Document | Unstored, stream: Stream) -> Document:
    """Return the document, its bytes stored as a blob; a file is read in pieces of 1 MiB."""
    if isinstance(document, Document):
        return document
    if isinstance(document.source, bytes):
        blob = stream.put((document.source,))
    else:
        with _reading(document.source):
            blob = stream.put(_pieces(document.source))
    return Document(media_type=document.media_type, name=document.name, blob=blob)


def attachments(documents: object) -> tuple[Document | Unstored, ...]:
    """Return documents with their types and names, none of them stored."""
    return tuple(described(document) for document in several("documents", documents))


def prompt(content: Iterable[object], documents: object) -> tuple[UnstoredPart, ...]:
    """Return what a user says in its order, then the other documents; nothing is stored.

    A part may be a list of parts. InvalidContent where no record can hold one, and for blank text
    alone: no provider takes it.
    """
    parts = _prompt(content, documents)
    if not parts and any(True for _ in _flat(content)):
        raise InvalidContent("the prompt is blank: give it text or a document")
    return parts


def prompt_of_engine(content: object, documents: object) -> tuple[UnstoredPart, ...]:
    """Return what `prompt` does; a text that is blank is nothing, and so are blank texts alone.

    An engine hands over a field whether somebody wrote into it or not.
    """
    is_blank = isinstance(content, str) and not content.strip()
    return _prompt(() if is_blank else (content,), documents)


def _prompt(content: Iterable[object], documents: object) -> tuple[UnstoredPart, ...]:
    """Return the parts of a prompt; none where all of them are blank texts."""
    parts = (*(_part(each) for each in _flat(content)), *attachments(documents))
    if all(isinstance(part, Text) and not part.text.strip() for part in parts):
        return ()
    for part in parts:
        if isinstance(part, Unstored) and _is_empty(part.source):
            named = f" {part.name!r}" if part.name else ""
            raise InvalidContent(f"the document{named} is empty (0 bytes): no provider takes it")
    return parts


def _is_empty(source: bytes | Path) -> bool:
    if isinstance(source, bytes):
        return not source
    with _reading(source):
        return source.stat().st_size == 0


def stored_prompt(parts: Sequence[UnstoredPart], stream: Stream) -> tuple[Text | Document, ...]:
    """Return what a user says, its documents stored; InvalidContent as of `must_hold`."""
    must_hold(stream, (part for part in parts if not isinstance(part, Text)))
    return tuple(part if isinstance(part, Text) else stored(part, stream) for part in parts)


def _flat(content: Iterable[object]) -> Iterator[object]:
    for each in content:
        if isinstance(each, list | tuple):
            yield from cast("Iterable[object]", each)
        elif each is not None:
            yield each


def _part(value: object) -> UnstoredPart:
    match value:
        case str():
            return Text(text=text_given("a prompt's text", value))
        case Text():
            return Text(text=text_given("a prompt's text", value.text))
        case Path() | bytes() | bytearray() | memoryview() | Document():
            return described(cast("object", value))
        case _:
            raise InvalidContent(
                "a prompt is text (str) and documents (pathlib.Path, bytes, onrecord.Document), "
                f"not {kind_of(value)}"
            )


def _file(path: Path) -> Unstored:
    name = name_of(path.name)
    first = _beginning(path)
    with _reading(path):
        media_type = media_type_found(None, first, name, _pieces(path))
    _say_where_other(media_type_named(name), media_type)
    return Unstored(path, media_type, name)


def from_outside(data: bytes, declared: str | None, named: str | None) -> Unstored:
    """Return a document whose bytes somebody gave, such as a tool's server, of their type.

    What the server says of it counts where they do not tell.
    """
    name = name_of(named)
    media_type = media_type_found(declared, data[:_HEAD], name, (data,))
    _say_where_other(declared, media_type)
    return Unstored(data, media_type, name)


def decoded(value: object) -> bytes | None:
    """Return the bytes of base64, in lines or of the URL-safe kind too; None where it is none."""
    if not isinstance(value, str | bytes):
        return None
    try:
        encoded = value.encode("ascii") if isinstance(value, str) else value
        return base64.b64decode(b"".join(encoded.split()).translate(_STANDARD), validate=True)
    except ValueError:
        return None


def linked(url: str, declared: str | None, named: str | None) -> Document | Unstored | None:
    """Return the document at an address of the web, or whose bytes are in a `data:` URL.

    None for another one: no provider reads it.
    """
    if _holds_bytes(url):
        data = _bytes_in(url)
        return None if data is None else from_outside(data, declared or _type_in(url), named)
    if url.partition(":")[0].lower() not in _READ_BY_PROVIDERS:
        return None
    name = name_of(named) or name_in(url)
    media_type = media_type_found(declared, b"", name_in(url) or name)
    return Document(media_type=media_type, name=name, url=url)


def name_in(uri: str) -> str | None:
    """Return the name of what a URI names: the last segment of its path (RFC 3986)."""
    try:
        return name_of(unquote(urlsplit(uri).path))
    except ValueError:
        return None


def _say_where_other(declared: str | None, media_type: str) -> None:
    declared_type = media_type_given(declared or "") or UNKNOWN
    if essence_of(declared_type) not in (UNKNOWN, essence_of(media_type)):
        logger.info(
            "a document was said to be %s: its bytes are %s", essence_of(declared_type), media_type
        )


def _checked(document: Document) -> Document:
    media_type = media_type_given(document.media_type)
    if media_type is None:
        raise InvalidContent('a media type is `type/subtype`: write media_type="application/pdf"')
    if (document.blob is None) == (document.url is None):
        raise InvalidContent(
            "a document has bytes (`blob`) or a `url`, and not both: give its bytes"
        )
    name = name_of(document.name)
    if (media_type, name) == (document.media_type, document.name):
        return document
    return document.model_copy(update={"media_type": media_type, "name": name})


def _described(document: Document) -> Document | Unstored:
    """Return a document; one whose URL holds its bytes as those: they are stored once."""
    if document.url is None or not _holds_bytes(document.url):
        return document
    data = _bytes_in(document.url)
    if data is None:
        raise InvalidContent(
            "the `data:` URL of a document holds no base64: give the document's bytes"
        )
    return Unstored(data, document.media_type, document.name)


def _type_in(url: str) -> str:
    """Return the media type that a `data:` URL begins with, if it has one."""
    return url[len(INLINE) :].partition(",")[0].partition(";")[0]


def _holds_bytes(url: str) -> bool:
    return url[: len(INLINE)].lower() == INLINE


def _bytes_in(url: str) -> bytes | None:
    """Return the bytes that a `data:` URL holds (RFC 2397); None where it is none."""
    about, _, data = url.partition(",")
    data_bytes = unquote_to_bytes(data)
    return decoded(data_bytes) if about.lower().endswith(";base64") else data_bytes


def _beginning(path: Path) -> bytes:
    with _reading(path):
        if path.exists() and not (path.is_file() or path.is_dir()):
            # Opening a pipe would wait for who writes to it; a device may have no end.
            raise InvalidContent(_unreadable(path, "it is no regular file"))
        with path.open("rb") as file:
            return file.read(_HEAD)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


@contextmanager
def _reading(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as exc:
        raise InvalidContent(_unreadable(path, exc.strerror)) from exc
    except InvalidContent:
        raise
    except ValueError:  # A null byte, or half a character.
        raise InvalidContent(_unreadable(path, "that is the name of no file")) from None


def _unreadable(path: Path, why: str | None) -> str:
    # Its name alone: a model may be told of this, and is not to learn where files are.
    return f"the document {path.name!r} cannot be read: {why}"
