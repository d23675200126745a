"""A Chat Completions request while it is made: whom it is for, and what was done to get there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from onrecord.domain.blobs import restore
from onrecord.domain.content import Document, Native
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block, History
from onrecord.projections.neutral_openai_chat import API
from onrecord.projections.report import Deed, Note
from onrecord.projections.requests.openai_chat_documents import spell_document
from onrecord.projections.requests.openai_chat_ids import CallIds
from onrecord.projections.requests.openai_chat_models import Reader
from onrecord.projections.requests.request import Options
from onrecord.projections.requests.routing import Router
from onrecord.projections.requests.tool_names import OPENAI, name_for, renamed

_MICRO: Final = 1_000_000


@dataclass(slots=True)
class Draft:
    """What the rules need to know, and the notes on what they did.

    `reader` is the model that the request is for, `router` decides where documents go.
    `is_elsewhere`: the model is known to be none of OpenAI's own service; `is_groq`: Groq is to read
    it. `has_decoys` says that members of answers which say nothing, and which a request does not
    have, were left out: one note tells of them all.
    """

    history: History
    options: Options
    blobs: Mapping[str, bytes]
    reader: Reader
    router: Router
    ids: CallIds
    is_elsewhere: bool
    is_groq: bool = False
    notes: list[Note] = field(default_factory=list[Note])
    has_decoys: bool = False

    def note(self, deed: Deed, rule: str, version: int | None, why: str) -> None:
        """Add a note to the report."""
        self.notes.append(Note(deed, rule, version, why))

    def leave_out(self, rule: str, block: Block, why: str) -> None:
        """Add a note that a block, or a part of it, does not go."""
        self.note("left out", rule, block.version, why)

    def tool_name(self, given: str, version: int | None) -> str:
        """Return the name under which a tool goes, with a note if it is another one."""
        name = name_for(given, OPENAI)
        if name != given:
            self.note("translated", "C13", version, renamed(given, name))
        return name

    def spell(self, document: Document) -> JsonObject | None:
        """Return a document as a part; None where no part can hold it."""
        return spell_document(document, self.blobs)

    def own(self, block: Block) -> JsonObject | None:
        """Return a block of this API as it came; None for any other."""
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

    def is_kin(self, block: Block) -> bool:
        """Whether what a compatible server added to an answer may go back.

        It may go to the family of models that made it (Reader.is_kin), and to the name that was
        asked for it: routers answer in the name of another.
        """
        reader, responses = self.reader, self.history.responses
        if reader.is_openai or block.response is None:
            return not reader.is_openai
        answered = responses.model_of(block.response)
        if answered is not None and reader.is_kin(answered):
            return True
        asked = responses.model_asked(block.asked)
        return reader.is_kin(asked) if answered is None else asked == reader.model

    def holds_sound(self, expires_at: object) -> bool:
        """Whether a model of OpenAI's hears the sound of an answer, and the service still has it.

        The time is that of the last event.
        """
        as_of = self.history.as_of
        is_over = isinstance(expires_at, int) and as_of is not None and expires_at * _MICRO <= as_of
        reader = self.reader
        is_heard = reader.is_openai and self.router.reads("audio")
        return not is_over and (reader.model is None or is_heard)


def draft_of(history: History, options: Options, blobs: Mapping[str, bytes]) -> Draft:
    """Return the draft of a request for the model that is wished, or that answered last."""
    reader = Reader(options.model or history.responses.last_model(API))
    router = Router(history, options)
    ids, is_groq = CallIds(reader), not reader.is_openai and _is_groq(history, options)
    return Draft(history, options, blobs, reader, router, ids, reader.is_compatible, is_groq)


def _is_groq(history: History, options: Options) -> bool:
    """Whether Groq answered last, by the member that none but its answers have."""
    closing = history.responses.last_completed(API)
    if closing is None or "x_groq" not in closing.envelope:
        return False
    sent = history.responses.of(str(closing.response), 0).sent
    return options.model in (None, closing.model, sent.model if sent else None)
