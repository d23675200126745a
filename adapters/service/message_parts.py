"""The parts of what is said over HTTP: texts, and documents by their bytes, their digest or their address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from onrecord.adapters.inputs.document_inputs import PromptPart, decoded, from_outside
from onrecord.adapters.service.model import Model
from onrecord.adapters.service.parameters import Digest
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.domain.content import Blob, Document, Text
from onrecord.domain.errors import InvalidInput

MediaType = Annotated[str, Field(min_length=3, max_length=255, examples=["application/pdf"])]
FileName = Annotated[str, Field(min_length=1, max_length=1000, examples=["report.pdf"])]


class TextPart(Model):
    """A text."""

    kind: Literal["text"]
    """What the part is: a text."""

    text: str
    """What is said."""


class InlineDocument(Model):
    """A document whose bytes come with it."""

    kind: Literal["document"]
    """What the part is: a document with its bytes."""

    data: str
    """The bytes, in base64."""

    media_type: MediaType | None = None
    """The type of the bytes, as far as they do not tell it themselves."""

    name: FileName | None = None
    """The name of the file."""


class StoredDocument(Model):
    """A document whose bytes were stored in this conversation before."""

    kind: Literal["stored_document"]
    """What the part is: a document that is stored already."""

    sha256: Digest
    """The SHA-256 of the bytes, in hex digits, as storing them told it."""

    size: Annotated[int, Field(ge=0, le=2**53 - 1)]
    """How many bytes there are."""

    media_type: MediaType
    """The type of the bytes."""

    name: FileName | None = None
    """The name of the file."""


class LinkedDocument(Model):
    """A document at an address of the web, which the provider reads; Onrecord does not."""

    kind: Literal["linked_document"]
    """What the part is: a document at an address."""

    url: Annotated[str, Field(pattern="^https?://", max_length=8000)]
    """The address."""

    media_type: MediaType
    """The type of what is there."""

    name: FileName | None = None
    """The name of the file."""


AnyDocument = Annotated[
    InlineDocument | StoredDocument | LinkedDocument, Field(discriminator="kind")
]
Part = Annotated[
    TextPart | InlineDocument | StoredDocument | LinkedDocument, Field(discriminator="kind")
]
Parts = Annotated[list[Part], Field(max_length=1000)]
Documents = Annotated[list[AnyDocument], Field(max_length=1000)]


def prompt_parts(parts: Sequence[Part]) -> list[PromptPart]:
    """Return parts as the verbs of a conversation take them; InvalidInput for what is no base64."""
    return [
        Text(text=part.text) if isinstance(part, TextPart) else document_of(part) for part in parts
    ]


def prompt_of(text: str | None, parts: Sequence[Part] | None) -> list[PromptPart]:
    """Return what a user says: a text, or parts; Problem where both are given, or neither is."""
    if text is not None and parts is None:
        return [text]
    if parts is not None and text is None:
        return prompt_parts(parts)
    raise Problem(INVALID, "a prompt has either text or parts")


def document_of(part: AnyDocument) -> Document:
    """Return a document as the verbs of a conversation take it."""
    match part:
        case InlineDocument():
            data = decoded(part.data)
            if data is None:
                raise InvalidInput("the bytes of a document are no base64")
            found = from_outside(data, part.media_type, part.name)
            # An address that holds the bytes: they are stored once, as those of any document.
            return Document(
                media_type=found.media_type,
                name=found.name,
                url=f"data:{found.media_type};base64,{part.data}",
            )
        case StoredDocument():
            blob = Blob(sha256=part.sha256, size=part.size)
            return Document(media_type=part.media_type, name=part.name, blob=blob)
        case LinkedDocument():
            return Document(media_type=part.media_type, name=part.name, url=part.url)
