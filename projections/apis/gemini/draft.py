"""A Gemini request while it is made: whom it is for, and what was done to get there."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final, NamedTuple

from onrecord.domain.content import Document
from onrecord.domain.documents import UNKNOWN, modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.draft import Draft, RuleNames
from onrecord.projections.apis.gemini.read import NAME
from onrecord.projections.apis.request import Options
from onrecord.projections.history.held_documents import bytes_of, is_remote, told_in
from onrecord.projections.history.history import Block, History
from onrecord.projections.history.tool_names import name_for_gemini

# What is known of a Gemini model by its name.

_GENERATION: Final = re.compile(r"gemini-(\d+)")
_LATEST: Final = re.compile(r"gemini-[a-z-]*latest")
_THIRD: Final = 3


@dataclass(frozen=True, slots=True)
class Reader:
    """The model that a request is for.

    `wants_signatures`: it refuses a call that bears none, as those of the third generation do; a
    model that is not known may. `is_known`: its name tells which generation it is of.
    """

    wants_signatures: bool
    is_known: bool = False


@lru_cache(maxsize=64)
def reader_of(model: str | None) -> Reader:
    """Return what a model takes; None and names that say nothing: what is safe with any.

    ai.google.dev, "Thought signatures".
    """
    name = plain_name(model or "")
    match = _GENERATION.match(name)
    if match is not None:
        return Reader(int(match[1]) >= _THIRD, is_known=True)
    return Reader(wants_signatures=not name or _LATEST.match(name) is not None)


def plain_name(model: str) -> str:
    """Return the name of a model without the path of whose it is: `models/`, `publishers/...`."""
    return model.rpartition("/")[2]


# Documents as parts of Gemini's: images, PDFs, sounds, films and texts; all else in words.
#
# What it reads: ai.google.dev, "Image understanding", "Document processing", "Audio
# understanding" and "Video understanding". What a server of the web holds goes by its address:
# the service fetches it.

_PDF: Final = "application/pdf"
_IMAGES: Final = frozenset({f"image/{kind}" for kind in ("png", "jpeg", "webp", "heic", "heif")})
_UNREAD: Final = frozenset({"audio/midi", "audio/x-midi"})


def encode_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the part of a document; None where the service reads no such thing.

    Raises CorruptRecord where its bytes are not among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    if is_remote(document):
        return _remote(document, media_type)
    data = bytes_of(document, blobs)
    if not data:
        return None
    if reads(media_type):
        encoded = b64encode(data).decode()
        return {"inlineData": {"mimeType": media_type, "data": encoded}}
    text = told_in(document, blobs)
    return None if text is None else {"text": text}


def reads(media_type: str) -> bool:
    """Whether the service reads bytes of a media type that is no text."""
    if media_type in _UNREAD:
        return False
    return media_type == _PDF or media_type in _IMAGES or _sounds_or_moves(media_type)


def _sounds_or_moves(media_type: str) -> bool:
    return modality_of(media_type) in ("audio", "video") and not media_type.endswith("*")


def _remote(document: Document, media_type: str) -> JsonObject | None:
    """Return the part of a file on the web; its type is left out where it is not known."""
    is_known = media_type != UNKNOWN and not media_type.endswith("*")
    if is_known and not reads(media_type) and modality_of(media_type) != "text":
        return None
    members: JsonObject = {"mimeType": media_type} if is_known else {}
    return {"fileData": {**members, "fileUri": document.url}}


class Objection(NamedTuple):
    """Why what is signed cannot go as it came, by which rule."""

    rule: str
    why: str


@dataclass(slots=True)
class GeminiDraft(Draft):
    """A request to Gemini while it is made.

    `readers` are the names of the model that the request is for, as far as they are known. `calls`
    are the calls that go, by their number in the history, each as its part calls it.
    """

    API: ClassVar[str] = NAME
    RULES: ClassVar[RuleNames] = RuleNames("G9", "G8", "G6", "G1", "G2", "G13")

    reader: Reader
    readers: frozenset[str]
    calls: dict[int | None, JsonObject] = field(default_factory=dict[int | None, JsonObject])
    _objections: dict[str, Objection | None] = field(default_factory=dict[str, Objection | None])

    def fitting_name(self, own_name: str) -> str:
        """Return the name under which a tool goes."""
        return name_for_gemini(own_name)

    def objection(self, block: Block) -> Objection | None:
        """Return why what a response signed cannot go; None where it can."""
        key = block.response or ""
        if key not in self._objections:
            self._objections[key] = self._objection_to(block)
        return self._objections[key]

    def _objection_to(self, block: Block) -> Objection | None:
        options, responses = self.options, self.history.responses
        if options.thinking == "drop":
            return Objection("thinking", "what is signed is dropped, as asked")
        if block.response is None:
            return None
        if self._is_anothers(responses.model_of(block.response), block.asked):
            return Objection("G5", "the signature is another model's")
        if responses.is_of_another(block.response, block.asked, options.account):
            return Objection("G5", "the signature was made for another account")
        return None

    def _is_anothers(self, answered: str | None, request_count: int) -> bool:
        """Whether what a model signed has no reader; what was asked is read where that matters."""
        if not self.readers or (answered and plain_name(answered) in self.readers):
            return False
        names = answered, self.history.responses.model_asked(request_count)
        models = {plain_name(model) for model in names if model}
        return bool(models) and self.readers.isdisjoint(models)


def draft_of(history: History, options: Options, blobs: Mapping[str, bytes]) -> GeminiDraft:
    """Return the draft of a request for the model that is wished, or that answered last."""
    responses = history.responses
    readers = frozenset(map(plain_name, responses.readers(NAME, options.model)))
    reader = reader_of(options.model or responses.last_model(NAME))
    return GeminiDraft(history, options, blobs, reader, readers)
