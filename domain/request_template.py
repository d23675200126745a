"""What a request was made of: its body by reference to what is stored, and the recipe of it."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Discriminator

from onrecord.domain.content import Blob, Value
from onrecord.domain.jsontext import JsonObject


class LiteralSpan(Value):
    """A span of a request that is kept as its own text (secrets cut)."""

    kind: Literal["literal"] = "literal"
    text: str


class ContentSpan(Value):
    """A span of a request that stands in an event's body: the compact JSON of a value there.

    `pointer` says which value (a JSON pointer, RFC 6901). So what was said is stored once, and a
    request can be joined by any release, whatever renders it now.
    """

    kind: Literal["content"] = "content"
    event: UUID
    pointer: str


class SharedSpan(Value):
    """A span of a request that stands in an earlier request's body: bytes [start, start + size)."""

    kind: Literal["shared"] = "shared"
    request: UUID
    start: int
    size: int


class BlobSpan(Value):
    """A span of a request that is held in a blob, as it is."""

    kind: Literal["blob"] = "blob"
    blob: Blob


class EncodedSpan(Value):
    """A span of a request that is a blob's bytes in standard base64 (RFC 4648)."""

    kind: Literal["base64"] = "base64"
    blob: Blob


Span = Annotated[
    LiteralSpan | ContentSpan | SharedSpan | BlobSpan | EncodedSpan, Discriminator("kind")
]
"""A part of a request's template; joined in order, the spans are the body that was sent."""


class Recipe(Value):
    """How `conversation.request` made a request: enough to make it again, byte for byte."""

    api: str
    version: int
    options: JsonObject
    renderer: str


class Template(Value):
    """The body of a request, by reference to what is stored already; secrets are cut."""

    spans: tuple[Span, ...]
    sha256: str
    size: int
    cut: tuple[str, ...] = ()
