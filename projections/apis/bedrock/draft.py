"""A request to Bedrock's Converse API while it is made, and the model that it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.anthropic.draft import Message
from onrecord.projections.apis.bedrock.read import NAME, kind_of
from onrecord.projections.apis.draft import Draft, RuleNames
from onrecord.projections.apis.ids import BEDROCK, BEDROCK_CLAUDE, CallIds
from onrecord.projections.apis.request import Options
from onrecord.projections.apis.routing import Router, model_read_by
from onrecord.projections.history.history import Block, History

# What differs between the models behind Bedrock's Converse API, by their ids.
#
# `us.anthropic.claude-sonnet-4-5-20250929-v1:0` says whose model it is, which one, and from which
# regions it may answer; so does the ARN of a model or of an inference profile that ends so. Which
# files they read is data: projections/apis/capabilities.toml.

_REGIONS: Final = re.compile(r"(?:us|eu|apac|jp|au|ca|sa|me|af|us-gov|global)\.")
_VENDOR: Final = re.compile(r"([a-z0-9]+)\.(.+)")

_OLD_CLAUDE: Final = re.compile(r"anthropic\.claude-(v2|instant)")


@dataclass(frozen=True, slots=True)
class Model:
    """The model that a request is for, as far as its id tells; empty words tell nothing.

    `name` begins with the vendor and says nothing of regions.
    """

    name: str
    vendor: str

    @property
    def reads_pages(self) -> bool:
        """Whether blocks may hold what a search found."""
        return self.vendor == "anthropic" and not _OLD_CLAUDE.match(self.name)

    @property
    def may_read_s3(self) -> bool:
        """Whether files may lie in S3: "This model doesn't support the s3Uri field." say others."""
        return self.vendor in ("amazon", "")

    @property
    def wants_results_alone(self) -> bool:
        """Whether a message with results holds nothing else."""
        return self.vendor in ("meta", "mistral")

    @property
    def wants_documents_apart(self) -> bool:
        """Whether a message with results holds no document and no video."""
        return self.vendor in ("anthropic", "")

    @property
    def may_answer_first(self) -> bool:
        """Whether a conversation may begin with the assistant."""
        return self.vendor in ("anthropic", "qwen")

    @property
    def takes_status(self) -> bool:
        """Whether a result may have a status; Writer's models refuse it."""
        return self.vendor != "writer"

    @property
    def reads_status(self) -> bool:
        """Whether the model learns of a status that a result failed (docs, "ToolResultBlock")."""
        return self.vendor in ("anthropic", "amazon", "")

    @property
    def takes_marks(self) -> bool:
        """Whether requests may have cache points."""
        return self.vendor in ("anthropic", "amazon", "")

    @property
    def takes_marked_tools(self) -> bool:
        """Whether a cache point may stand among the tools."""
        return self.vendor in ("anthropic", "")

    def is_kin(self, other: Model) -> bool:
        """Whether a model of the same vendor's made something; of an unknown one that is assumed."""
        return not self.vendor or not other.vendor or self.vendor == other.vendor


@lru_cache(maxsize=64)
def model_of(model_id: str | None) -> Model:
    """Return what is known of the model with an id, or an ARN that ends with one."""
    last = (model_id or "").rpartition("/")[2]
    region = _REGIONS.match(last)
    name = last[region.end() :] if region else last
    found = _VENDOR.match(name)
    # What names nobody, such as a profile of the caller's own, is at least itself.
    return Model(name or (model_id or ""), found.group(1) if found else "")


MARK: Final = "cachePoint"
"""A block that directs the cache, and says nothing."""


@dataclass(slots=True)
class BedrockDraft(Draft):
    """A request to Bedrock while it is made: the messages, instructions and tools so far.

    `model` is the one that the request is for. `kinds` are those of all blocks that were encoded, and
    of files in results, but not of turns of plain text. `called` are the names of the tools that were
    called, in order. `has_gaps` says that of a turn nothing went, `has_own_tools` that the service
    ran tools of its own.
    """

    API: ClassVar[str] = NAME
    RULES: ClassVar[RuleNames] = RuleNames("B11", "B11", "B4", "B1", "B2", "B8")

    model: Model
    ids: CallIds
    messages: list[Message] = field(default_factory=list[Message])
    system: list[JsonObject] = field(default_factory=list[JsonObject])
    tools: list[JsonObject] = field(default_factory=list[JsonObject])
    kinds: set[str] = field(default_factory=set[str])
    called: dict[str, None] = field(default_factory=dict[str, None])
    has_gaps: bool = False
    has_own_tools: bool = False
    _makers: dict[int, Model] = field(default_factory=dict[int, Model])

    def own(self, block: Block) -> JsonObject | None:
        """Return a block of this API as it came, but as the union that it is (B18)."""
        value = Draft.own(self, block)
        if value is None or len(value) <= 1:
            return value
        kind = kind_of(value)
        others = ", ".join(name for name in value if name != kind)
        self.leave_out("B18", block, f"{others}: a block is the one member that names its kind")
        return {kind: value[kind]}

    def is_kin(self, block: Block) -> bool:
        """Whether a model of the same vendor's made an answer, as far as is known."""
        return self.model.is_kin(self.maker_of(block))

    def maker_of(self, block: Block) -> Model:
        """Return the model that the request before a block asked."""
        asked = block.asked
        if asked not in self._makers:
            self._makers[asked] = model_of(self.history.responses.model_asked(asked))
        return self._makers[asked]


def draft_of(history: History, options: Options, blobs: Mapping[str, bytes]) -> BedrockDraft:
    """Return the draft of a request for the model that is to read it."""
    model = model_of(model_read_by(history, options))
    ids = CallIds(BEDROCK_CLAUDE if model.vendor == "anthropic" else BEDROCK)
    return BedrockDraft(history, options, blobs, Router(history, options), model, ids)
