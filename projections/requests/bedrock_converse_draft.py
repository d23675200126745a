"""A request to Bedrock's Converse API while it is made: whom it is for, and what was done to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from onrecord.domain.blobs import restore
from onrecord.domain.content import Native
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history import Block, History
from onrecord.projections.neutral_bedrock import API, kind_of
from onrecord.projections.report import Deed, Note
from onrecord.projections.requests.anthropic_draft import Message
from onrecord.projections.requests.bedrock_converse_ids import CallIds
from onrecord.projections.requests.bedrock_converse_models import Model, model_of
from onrecord.projections.requests.request import Options
from onrecord.projections.requests.routing import Router, model_read_by
from onrecord.projections.requests.tool_names import name_for, renamed

_LONGEST_NAME: Final = 64

MARK: Final = "cachePoint"
"""A block that directs the cache, and says nothing."""


@dataclass(slots=True)
class Draft:
    """The messages so far, the instructions and tools, and what was done to get there.

    `model` is the one that the request is for, `router` decides for its documents. `kinds` are those of all blocks that were spelled,
    and of files in results, but not of turns of plain text. `called` are the names of the tools that were called, in order. `has_gaps`
    says that of a turn nothing went, `has_own_tools` that the service ran tools of its own.
    """

    history: History
    options: Options
    blobs: Mapping[str, bytes]
    model: Model
    router: Router
    ids: CallIds
    messages: list[Message] = field(default_factory=list[Message])
    system: list[JsonObject] = field(default_factory=list[JsonObject])
    tools: list[JsonObject] = field(default_factory=list[JsonObject])
    notes: list[Note] = field(default_factory=list[Note])
    kinds: set[str] = field(default_factory=set[str])
    called: dict[str, None] = field(default_factory=dict[str, None])
    has_gaps: bool = False
    has_own_tools: bool = False
    _makers: dict[int, Model] = field(default_factory=dict[int, Model])

    def note(self, deed: Deed, rule: str, version: int | None, why: str) -> None:
        """Add a note to the report."""
        self.notes.append(Note(deed, rule, version, why))

    def leave_out(self, rule: str, block: Block, why: str) -> None:
        """Add a note that a block, or a part of it, does not go."""
        self.note("left out", rule, block.version, why)

    def tool_name(self, given: str, version: int | None) -> str:
        """Return the name under which a tool goes, with a note if it is another one."""
        name = name_for(given, _LONGEST_NAME)
        if name != given:
            self.note("translated", "B11", version, renamed(given, name))
        return name

    def own(self, block: Block) -> JsonObject | None:
        """Return a block of this API as it came; None for any other."""
        plain = block.plain
        if plain["kind"] != "native" or plain["api"] != API:
            return None
        value: JsonObject = plain["value"]
        if len(value) > 1:
            value = self._of_one_member(block, value)
        return restore(value, self.blobs) if block.spilled else value

    def foreign(self, block: Block) -> Native | None:
        """Return a block of another API, or of this one, whole; None for one in neutral form."""
        plain = block.plain
        if plain["kind"] != "native":
            return None
        value: JsonObject = plain["value"]
        whole = restore(value, self.blobs) if block.spilled else value
        return Native(api=plain["api"], value=whole)

    def is_kin(self, block: Block) -> bool:
        """Whether a model of the same vendor's made an answer, as far as is known."""
        return self.model.is_kin(self.maker_of(block))

    def maker_of(self, block: Block) -> Model:
        """Return the model that the request before a block asked."""
        asked = block.asked
        if asked not in self._makers:
            self._makers[asked] = model_of(self.history.responses.model_asked(asked))
        return self._makers[asked]

    def _of_one_member(self, block: Block, value: JsonObject) -> JsonObject:
        """Return a block as the union that it is (B18)."""
        kind = kind_of(value)
        others = ", ".join(name for name in value if name != kind)
        self.leave_out("B18", block, f"{others}: a block is the one member that names its kind")
        return {kind: value[kind]}


def draft_of(history: History, options: Options, blobs: Mapping[str, bytes]) -> Draft:
    """Return the draft of a request for the model that is to read it."""
    model = model_of(model_read_by(history, options))
    return Draft(history, options, blobs, model, Router(history, options), CallIds(model))
