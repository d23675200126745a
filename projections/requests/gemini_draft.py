"""A Gemini request while it is made: whom it is for, and what was done to get there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from onrecord.domain.blobs import restore
from onrecord.domain.content import Document, Native
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block, History
from onrecord.projections.neutral_gemini import API
from onrecord.projections.report import Deed, Note
from onrecord.projections.requests.gemini_documents import spell_document
from onrecord.projections.requests.gemini_models import Reader, plain_name, reader_of
from onrecord.projections.requests.request import Options
from onrecord.projections.requests.routing import Router
from onrecord.projections.requests.tool_names import name_for_gemini, renamed


class Objection(NamedTuple):
    """Why what is signed cannot go as it came, by which rule."""

    rule: str
    why: str


@dataclass(slots=True)
class Draft:
    """What the rules need to know, and the notes on what they did.

    `readers` are the names of the model that the request is for, as far as they are known; `router`
    decides where documents go. `calls` are the calls that go, by their number in the history, each as
    its part calls it.
    """

    history: History
    options: Options
    blobs: Mapping[str, bytes]
    reader: Reader
    readers: frozenset[str]
    router: Router
    notes: list[Note] = field(default_factory=list[Note])
    calls: dict[int | None, JsonObject] = field(default_factory=dict[int | None, JsonObject])
    _objections: dict[str, Objection | None] = field(default_factory=dict[str, Objection | None])

    def note(self, deed: Deed, rule: str, version: int | None, why: str) -> None:
        """Add a note to the report."""
        self.notes.append(Note(deed, rule, version, why))

    def leave_out(self, rule: str, block: Block, why: str) -> None:
        """Add a note that a block, or a part of it, does not go."""
        self.note("left out", rule, block.version, why)

    def tool_name(self, given: str, version: int | None) -> str:
        """Return the name under which a tool goes, with a note if it is another one."""
        name = name_for_gemini(given)
        if name != given:
            self.note("translated", "G9", version, renamed(given, name))
        return name

    def spell(self, document: Document) -> JsonObject | None:
        """Return a document as a part; None where the service reads no such thing."""
        return spell_document(document, self.blobs)

    def own(self, block: Block) -> JsonObject | None:
        """Return a part of this API's as it came; None for any other block."""
        plain = block.plain
        if plain["kind"] != "native" or plain["api"] != API:
            return None
        value: JsonObject = plain["value"]
        return restore(value, self.blobs) if block.spilled else value

    def foreign(self, block: Block) -> Native | None:
        """Return a block of another API, whole; None for one in neutral form."""
        plain = block.plain
        if plain["kind"] != "native":
            return None
        value: JsonObject = plain["value"]
        return Native(
            api=plain["api"], value=restore(value, self.blobs) if block.spilled else value
        )

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
        if options.account is not None:
            sent = responses.of(block.response, block.asked).sent
            if sent is not None and sent.account not in (None, options.account):
                return Objection("G5", "the signature was made for another account")
        return None

    def _is_anothers(self, answered: str | None, asked: int) -> bool:
        """Whether what a model signed has no reader; what was asked is read where that matters."""
        if not self.readers or (answered and plain_name(answered) in self.readers):
            return False
        told = answered, self.history.responses.model_asked(asked)
        models = {plain_name(model) for model in told if model}
        return bool(models) and self.readers.isdisjoint(models)


def draft_of(history: History, options: Options, blobs: Mapping[str, bytes]) -> Draft:
    """Return the draft of a request for the model that is wished, or that answered last."""
    responses = history.responses
    readers = frozenset(map(plain_name, responses.readers(API, options.model)))
    reader = reader_of(options.model or responses.last_model(API))
    return Draft(history, options, blobs, reader, readers, Router(history, options))
