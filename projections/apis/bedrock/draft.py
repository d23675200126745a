"""A request to Bedrock's Converse API while it is made: whom it is for, and what was done to it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from onrecord.domain.blobs import restore
from onrecord.domain.content import Native
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.anthropic.draft import Message
from onrecord.projections.apis.bedrock.read import NAME, kind_of
from onrecord.projections.apis.request import Options
from onrecord.projections.apis.routing import Router, model_read_by
from onrecord.projections.history.history import Block, History
from onrecord.projections.history.report import Deed, Note
from onrecord.projections.history.tool_names import name_for, renamed

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


# Ids of tool calls as Bedrock takes them (B11), each once.
#
# `[a-zA-Z0-9_.:-]{1,64}` says the service's model of a request; Anthropic's own API takes no `.`
# and no `:`. Other ids become one that is made of the old one and of the call's place, so that it
# is the same in each request; call and result get the same one.

_ANY: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}\Z")
_PLAIN: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")


class CallIds:
    """The ids that the calls of one request bear."""

    def __init__(self, model: Model) -> None:
        """Begin with no call, for a model."""
        self._fits = _PLAIN if model.vendor == "anthropic" else _ANY
        self._by_call: dict[int | None, str] = {}
        self._taken: set[str] = set()

    def of_call(self, block: Block) -> str:
        """Return the id of a call, and keep it for its result."""
        wire = block.call_id or ""
        fits = wire not in self._taken and bool(self._fits.match(wire))
        while not fits:
            wire = _made_of(wire, block.version)
            fits = wire not in self._taken
        self._taken.add(wire)
        self._by_call[block.call] = wire
        return wire

    def of_result(self, block: Block) -> str | None:
        """Return the id of the call that a result answers; None where no call bears one."""
        return self._by_call.get(block.call) if block.call is not None else None


def _made_of(given: str, version: int) -> str:
    name = f"{version}:{given}".encode("utf-8", "surrogatepass")
    return f"tooluse_{hashlib.sha256(name).hexdigest()[:24]}"


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
        if plain["kind"] != "native" or plain["api"] != NAME:
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
