"""A request to Bedrock's Converse API while it is made, and the model that it is for."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Final

from onrecord.domain.content import Document, Text
from onrecord.domain.documents import Modality, modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.anthropic.draft import Message
from onrecord.projections.apis.bedrock.read import DOCUMENTS, NAME, VIDEOS, document, held, kind_of
from onrecord.projections.apis.documents import model_read_by
from onrecord.projections.apis.draft import CallIds, Draft, IdForm, RuleNames
from onrecord.projections.apis.request import Options, Where
from onrecord.projections.history.held_documents import bytes_of, is_remote, text_of, told_in
from onrecord.projections.history.history import Block, History

# What differs between the models behind Bedrock's Converse API, by their ids.
#
# `us.anthropic.claude-sonnet-4-5-20250929-v1:0` says whose model it is, which one, and from which
# regions it may answer; so does the ARN of a model or of an inference profile that ends so. Which
# files they read is data: projections/apis/capabilities.toml.

_REGIONS: Final = re.compile(r"(?:us|eu|apac|jp|au|ca|sa|me|af|us-gov|global)\.")
_VENDOR: Final = re.compile(r"([a-z0-9]+)\.(.+)")

# `[a-zA-Z0-9_.:-]{1,64}` says the service's model of a request (B11); Anthropic's own API takes no
# `.` and no `:`.
_IDS: Final = IdForm(re.compile(r"[a-zA-Z0-9_.:-]{1,64}\Z"), "tooluse_")
_CLAUDES_IDS: Final = IdForm(re.compile(r"[a-zA-Z0-9_-]{1,64}\Z"), "tooluse_")

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
    match = _VENDOR.match(name)
    # What names nobody, such as a profile of the caller's own, is at least itself.
    return Model(name or (model_id or ""), match.group(1) if match else "")


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
    ids: CallIds = field(init=False)
    messages: list[Message] = field(default_factory=list[Message])
    system: list[JsonObject] = field(default_factory=list[JsonObject])
    tools: list[JsonObject] = field(default_factory=list[JsonObject])
    kinds: set[str] = field(default_factory=set[str])
    called: dict[str, None] = field(default_factory=dict[str, None])
    has_gaps: bool = False
    has_own_tools: bool = False
    _makers: dict[int, Model] = field(default_factory=dict[int, Model])

    def __post_init__(self) -> None:
        """Let calls have ids as the model takes them."""
        Draft.__post_init__(self)
        form = _CLAUDES_IDS if self.model.vendor == "anthropic" else _IDS
        self.ids = CallIds(form, self.call_ids)

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
        request_count = block.asked
        if request_count not in self._makers:
            self._makers[request_count] = model_of(
                self.history.responses.model_asked(request_count)
            )
        return self._makers[request_count]


def draft_of(history: History, options: Options, blobs: Mapping[str, bytes]) -> BedrockDraft:
    """Return the draft of a request for the model that is to read it."""
    model = model_of(model_read_by(history, options))
    return BedrockDraft(history, options, blobs, model)


# Documents as Bedrock's Converse API has them; what it cannot hold, in words.
#
# Shapes and formats: docs.aws.amazon.com, "ImageBlock", "DocumentBlock", "VideoBlock".

MEDIA: Final = frozenset({"image", "document", "video", "audio"})
"""Kinds of blocks that hold a file."""

_IMAGES: Final = {f"image/{kind}": kind for kind in ("png", "jpeg", "gif", "webp")}
_FORMATS: Final[Mapping[str, tuple[str, str]]] = {
    **{media_type: ("image", kind) for media_type, kind in _IMAGES.items()},
    **{media_type: ("document", kind) for kind, media_type in DOCUMENTS.items()},
    **{media_type: ("video", kind) for kind, media_type in VIDEOS.items()},
}
_S3: Final = "s3://"

_UNFIT: Final = re.compile(r"[^a-zA-Z0-9\-()\[\]]+")
_LONGEST: Final = 200
_NAMELESS: Final = "Document"


def encode_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the block of a document; None where the API has none for it.

    The name is the document's own, as it may be taken. Raises CorruptRecord where its bytes are not
    among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    is_text = modality_of(media_type) == "text"
    known = _FORMATS.get(media_type) or (("document", "txt") if is_text else None)
    if known is None:
        return None
    kind, form = known
    source = _source(document, blobs, is_text=is_text)
    if source is None:
        return None
    named = {"name": fitting(document.name or "")} if kind == "document" else {}
    return {kind: {"format": form, **named, "source": source}}


def kind_read_as(kind: str) -> Modality | None:
    """Return how a kind of blocks reaches a model; None for pages of a search, which few read."""
    match kind:
        case "image" | "document" | "video" | "audio":
            return kind
        case _:
            return None


def source_of(value: JsonObject, kind: str) -> JsonObject:
    """Return where the file of a block is; nothing where the block does not say it."""
    match value.get(kind):
        case {"source": dict()}:
            source: JsonObject = value[kind]["source"]
            return source
        case _:
            return {}


def is_in_s3(value: JsonObject, kind: str) -> bool:
    """Whether the file of a block lies in S3."""
    return "s3Location" in source_of(value, kind)


def fitting(name: str) -> str:
    """Return the name of a document as it may be taken (B7): no dot, no underscore, no umlaut."""
    return _UNFIT.sub(" ", name).strip()[:_LONGEST].rstrip() or _NAMELESS


class Names:
    """The names that the documents of one request bear, each once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._taken: set[str] = set()

    def of(self, value: Any) -> str:
        """Return the name under which the next document goes: with a number if it comes again."""
        name = wire = fitting(value if isinstance(value, str) else "")
        number = 1
        while wire in self._taken:
            number += 1
            ending = f" ({number})"
            wire = name[: _LONGEST - len(ending)] + ending
        self._taken.add(wire)
        return wire


def _source(document: Document, blobs: Mapping[str, bytes], *, is_text: bool) -> JsonObject | None:
    if is_remote(document):
        url = document.url or ""
        return {"s3Location": {"uri": url}} if url.startswith(_S3) else None
    data = bytes_of(document, blobs)
    if not data or (is_text and text_of(data) is None):
        return None
    return {"bytes": b64encode(data).decode()}


# Files in a request to Bedrock: where the model reads them, under which names, or in which words.

Reads = Callable[[Modality], bool]
Encode = Callable[[], JsonObject | None]


class Media:
    """Encodes the files of one request, in order."""

    def __init__(self, draft: BedrockDraft) -> None:
        """Encode into a draft."""
        self._draft = draft
        self._names = Names()

    def own(self, block: Block, value: JsonObject) -> JsonObject:
        """Return a block of this API as the user's; words where the model does not read it."""
        file = document(value)
        if isinstance(file, Document):
            return self._of_user(block, file, lambda: value)
        return self._whole(block, value, self._draft.router.reads)

    def said(self, block: Block, file: Document) -> JsonObject:
        """Return a document as the user's; words where the model does not read it."""
        return self._of_user(block, file, self._encode(file), file.name)

    def own_in_result(self, block: Block, value: JsonObject) -> tuple[Where, JsonObject]:
        """Return a block of this API as a part of a result, or as what follows it."""
        file = document(value)
        if isinstance(file, Document):
            return self._of_result(block, file, lambda: value)
        return "inline", self._whole(block, value, self._draft.router.reads_in_results)

    def in_result(self, block: Block, file: Document) -> tuple[Where, JsonObject]:
        """Return a document as a part of a result, or as what follows it; or words."""
        return self._of_result(block, file, self._encode(file), file.name)

    def _encode(self, file: Document) -> Encode:
        # Only what goes is encoded: the bytes of all else were not read.
        return lambda: encode_document(file, self._draft.blobs)

    def _of_user(
        self, block: Block, file: Document, encode: Encode, name: str | None = None
    ) -> JsonObject:
        encoded = self._draft.router.in_message(
            block, file, lambda _: self._by_user(file, encode())
        )
        return (
            self._named(block, encoded, name)
            if encoded is not None
            else {"text": self._draft.words(block, file)}
        )

    def _of_result(
        self, block: Block, file: Document, encode: Encode, name: str | None = None
    ) -> tuple[Where, JsonObject]:
        where, encoded = self._draft.router.in_result(
            block,
            file,
            lambda _: self._by_tool(file, encode()),
            lambda _: self._by_user(file, encode()),
        )
        if encoded is None:
            return where, {"text": self._draft.words(block, file)}
        return where, self._named(block, encoded, name)

    def _by_user(self, file: Document, value: JsonObject | None) -> JsonObject | None:
        """Return the block of a file as a message may hold it; None where none does."""
        model = self._draft.model
        if value is None or (is_in_s3(value, kind_of(value)) and not model.may_read_s3):
            return None
        return self._fit(file, value, self._draft.router.reads)

    def _by_tool(self, file: Document, value: JsonObject | None) -> JsonObject | None:
        """Return the block of a file as a result may hold it; None where none does."""
        if value is None or (is_in_s3(value, kind_of(value)) and self._draft.model.vendor):
            return None
        return self._fit(file, value, self._draft.router.reads_in_results)

    def _fit(self, file: Document, value: JsonObject, reads: Reads) -> JsonObject | None:
        """Return the block of a file; of a text, where no files are read, a block of text."""
        if kind_of(value) != "document" or reads("document"):
            return value
        text = told_in(file, self._draft.blobs)
        return None if text is None else {"text": text}

    def _whole(self, block: Block, value: JsonObject, reads: Reads) -> JsonObject:
        """Return a block that holds no file of its own, if the model reads its kind; or words."""
        kind = kind_of(value)
        modality = kind_read_as(kind)
        is_read = self._draft.model.reads_pages if modality is None else reads(modality)
        return self._named(block, value) if is_read else self._told(block, value)

    def _told(self, block: Block, value: JsonObject) -> JsonObject:
        """Return the text of a block that the model does not read, or words in its place."""
        part, kind = document(value), kind_of(value)
        if isinstance(part, Text) and part.text.strip():
            why = f"the model reads no {kind}: it goes as text"
            self._draft.note("translated", "B8", block.version, why)
            return {"text": part.text}
        self._draft.leave_out("document", block, f"the model does not read a {kind}")
        return {"text": f"[A part of kind {kind} cannot be shown here.]"}

    def _named(self, block: Block, value: JsonObject, wanted: str | None = None) -> JsonObject:
        """Return the block of a file under a name that no other has (B7), if not as `given`."""
        if kind_of(value) != "document":
            return value
        content = held(value)
        before: Any = content.get("name")
        name = self._names.of(before)
        if name != (wanted or before):
            why = f"the document goes under the name {name!r}"
            self._draft.note("translated", "B7", block.version, why)
        return value if name == before else {"document": {**content, "name": name}}
