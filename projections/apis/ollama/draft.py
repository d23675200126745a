"""An Ollama request while it is made: whom it is for, and what was done to get there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onrecord.domain.blobs import restore
from onrecord.domain.content import Native
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.ollama.read import NAME
from onrecord.projections.apis.request import Options
from onrecord.projections.apis.routing import Router
from onrecord.projections.history.history import Block, History
from onrecord.projections.history.report import Deed, Note
from onrecord.projections.history.tool_names import OPENAI, name_for, renamed


@dataclass(slots=True)
class Draft:
    """What the rules need to know, and the notes on what they did.

    `model` is whom the request is for, if that is known; `router` decides where documents go. `answered` are the calls whose results
    went behind them, `nameless` those that have no id on the wire.
    """

    history: History
    options: Options
    blobs: Mapping[str, bytes]
    model: str | None
    router: Router
    notes: list[Note] = field(default_factory=list[Note])
    answered: set[int | None] = field(default_factory=set[int | None])
    nameless: set[int | None] = field(default_factory=set[int | None])

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
            self.note("translated", "L7", version, renamed(given, name))
        return name

    def own(self, block: Block) -> JsonObject | None:
        """Return a block of this API as it came; None for any other."""
        native = self.foreign(block)
        return native.value if native is not None and native.api == NAME else None

    def foreign(self, block: Block) -> Native | None:
        """Return a block of any API, whole; None for one in neutral form."""
        plain = block.plain
        if plain["kind"] != "native":
            return None
        value: JsonObject = plain["value"]
        return Native(
            api=plain["api"], value=restore(value, self.blobs) if block.spilled else value
        )

    def may_think(self, block: Block) -> bool:
        """Whether the model that a request is for is the one that gave an answer."""
        if block.response is None or self.model is None:
            return True
        answered = self.history.responses.model_of(block.response)
        return answered is None or answered == self.model


def draft_of(history: History, options: Options, blobs: Mapping[str, bytes]) -> Draft:
    """Return the draft of a request for the model that is wished, or that answered last."""
    model = options.model or history.responses.last_model(NAME)
    return Draft(history, options, blobs, model, Router(history, options))
