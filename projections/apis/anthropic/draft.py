"""A request to Anthropic while it is made: messages of pieces that know where they come from."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Final, NamedTuple, cast

from onrecord.domain.content import Document, Native, Role
from onrecord.domain.documents import modality_of
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import MARK
from onrecord.domain.tools import BuiltinTool, ToolDefinition
from onrecord.projections.apis.draft import Draft, RuleNames
from onrecord.projections.apis.request import Options
from onrecord.projections.apis.tools import SKILLS
from onrecord.projections.history.held_documents import bytes_of, is_remote, text_of
from onrecord.projections.history.history import Block, History, frozen
from onrecord.projections.history.tool_names import ANTHROPIC
from onrecord.projections.members import members_of

# Documents as Anthropic reads them: images, PDFs and texts.
#
# What it reads: platform.claude.com, "Vision" and "PDF support".

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"
_AT_ADDRESSES: Final = _IMAGES | {"image/*", _PDF}
"""What the service fetches by itself: at the address of a document it expects a PDF."""


def encode_document(document: Document, blobs: Mapping[str, bytes]) -> JsonObject | None:
    """Return the block of a document; None where Anthropic reads no such thing.

    Raises CorruptRecord where its bytes are not among `blobs`.
    """
    media_type = document.media_type.partition(";")[0].strip().lower()
    kind = "image" if modality_of(media_type) == "image" else "document"
    if is_remote(document):
        source = {"type": "url", "url": document.url}
        return _block(kind, source, document) if media_type in _AT_ADDRESSES else None
    data = bytes_of(document, blobs)
    if not data:
        return None
    if media_type in _IMAGES or media_type == _PDF:
        encoded = b64encode(data).decode()
        source = {"type": "base64", "media_type": media_type, "data": encoded}
        return _block(kind, source, document)
    text = text_of(data) if modality_of(media_type) == "text" else None
    if text is None:
        return None
    return _block("document", {"type": "text", "media_type": "text/plain", "data": text}, document)


def _block(kind: str, source: JsonObject, document: Document) -> JsonObject:
    block: JsonObject = {"type": kind, "source": source}
    if kind == "document" and document.name:
        block["title"] = document.name
    return block


API: Final = "anthropic-messages"

SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
"""Blocks that call a tool which Anthropic runs."""

THINKING: Final = frozenset({"thinking", "redacted_thinking"})
"""Blocks that are valid only behind the prefix they were made under."""

CALLER: Final = "caller"
"""The member of a call that says who made it: the model itself, or code of its."""

TOOLSET: Final = "mcp_toolset"
"""The tools of an MCP server; the request's `mcp_servers` say where that is."""


class Piece(NamedTuple):
    """A block as it will be sent, and the block of the history that it stands for."""

    value: JsonObject
    block: Block

    @property
    def type(self) -> str:
        """The block's type; empty if it has none."""
        return kind_of(self.value)


@frozen
class Message:
    """A message as it will be sent: its content, and for each block of it the history's."""

    role: Role
    content: list[JsonObject]
    blocks: Sequence[Block]

    @property
    def pieces(self) -> list[Piece]:
        """The blocks of the content, each with the history's."""
        return list(map(Piece, self.content, self.blocks))


def message_of(role: Role, pieces: Iterable[Piece]) -> Message:
    """Return the message that holds these pieces."""
    rest = list(pieces)
    return Message(role, [value for value, _ in rest], [block for _, block in rest])


@dataclass(slots=True)
class AnthropicDraft(Draft):
    """A request to Anthropic while it is made: the messages, instructions and tools so far.

    `types` are the types of all blocks that were encoded, but for plain text, and words for what
    else a rule looks for: "system" for an operator's note, "blank" for blank text, "empty" for a
    message without content, "caller" for a block that says who made it. A rule has nothing to do
    where what it looks for never occurs.
    `container` is the id of the one that code goes on in, `skills` what it is given.
    """

    API: ClassVar[str] = API
    RULES: ClassVar[RuleNames] = RuleNames("R15", "R15", "R10", "R1", "R2", "document")
    LONGEST_NAME: ClassVar[int] = ANTHROPIC

    messages: list[Message] = field(default_factory=list[Message])
    system: str | list[JsonObject] | None = None
    tools: list[JsonObject] | None = None
    types: set[str] = field(default_factory=set[str])
    container: str | None = None
    skills: list[JsonObject] = field(default_factory=list[JsonObject])

    def declared_tools(self) -> Sequence[ToolDefinition | BuiltinTool | Native]:
        """Return the tools in force; skills are among them only where nothing else runs code."""
        tools = Draft.declared_tools(self)
        if not any(map(_is_code_execution, tools)):
            return tools
        return [tool for tool in tools if not isinstance(tool, BuiltinTool) or tool.name != SKILLS]

    def own(self, block: Block) -> JsonObject | None:
        """Return a block of Anthropic's as it came, but for its mark; None for any other."""
        value = Draft.own(self, block)
        return None if value is None else self.unmarked(value, block.version)

    def unmarked(self, value: JsonObject, version: int | None) -> JsonObject:
        """Return a block without its cache mark (R16)."""
        if MARK not in value:
            return value
        self.note("repaired", "R16", version, "cache marks are placed anew")
        return {key: member for key, member in value.items() if key != MARK}

    def document(self, block: Block, document: Document) -> JsonObject:
        """Return a document as a message has it, or the words in its place."""
        encoded = self.router.in_message(block, document, self.encode)
        return text_block(self.words(block, document)) if encoded is None else encoded

    def encode(self, document: Document) -> JsonObject | None:
        """Return the block of a document; None where Anthropic reads no such thing."""
        return encode_document(document, self.blobs)


def _is_code_execution(tool: ToolDefinition | BuiltinTool | Native) -> bool:
    """Whether a tool runs code at Anthropic, and so runs skills as well."""
    match tool:
        case BuiltinTool(name="code_execution"):
            return True
        case Native(api=api, value={"type": str(kind)}):
            return api == API and kind.startswith("code_execution_")
        case _:
            return False


def text_block(text: str) -> JsonObject:
    """Return a block of text."""
    return {"type": "text", "text": text}


def kind_of(value: JsonObject) -> str:
    """Return a block's type; empty if it has none, or one that is no word."""
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def text_member(value: JsonObject, member: str) -> str | None:
    """Return a member of a block, such as an id; None for one that is no text."""
    text = value.get(member)
    return text if isinstance(text, str) else None


def code_of(value: JsonObject) -> str | None:
    """Return the id of the call whose code made this one, if code did."""
    caller = value.get(CALLER)
    return text_member(cast("JsonObject", caller), "tool_id") if isinstance(caller, dict) else None


def is_server_result(kind: str) -> bool:
    """Whether blocks of this type are what a tool gave that Anthropic runs."""
    return kind.endswith("_tool_result")


def is_blank(value: JsonObject) -> bool:
    """Whether a block is a text that says nothing."""
    text = value.get("text")
    return isinstance(text, str) and not text.strip() and value.get("type") == "text"


def ending_with_words(
    draft: Draft, pieces: list[Piece], rule: str, without_space: Callable[[Piece], Piece | None]
) -> list[Piece]:
    """Return pieces that end with words, as those must with which a request ended.

    `without_space` returns a piece as it may come last, itself if it may; None where it may not.
    """
    left = list(pieces)
    while left and (ending := without_space(left[-1])) is not left[-1]:
        version = left.pop().block.version
        if ending is not None:
            draft.note("repaired", rule, version, "whitespace at the end of the last text")
            left.append(ending)
            break
        draft.note("left out", rule, version, "nothing but text may come last")
    return left


def joined(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without empty ones, neighbours of one role made one (R5)."""
    rest: list[Message] = []
    for message in messages:
        if not message.content:
            continue
        if rest and rest[-1].role == message.role:
            last = rest[-1]
            content, blocks = [*last.content, *message.content], [*last.blocks, *message.blocks]
            rest[-1] = Message(message.role, content, blocks)
        else:
            rest.append(message)
    return rest


# Containers of Anthropic's code: which one goes with a request, and what cannot go without (R13).
#
# "container_id is required when there are pending tool uses generated by code execution with
# tools." An id that has expired is refused as well (`container_expired`), so code that waits for
# results of its calls can then be gone on with in no way. A file that an earlier turn put into a
# container is silently inert in another one (pydantic-ai#7864).

UPLOAD: Final = "container_upload"


def container_of(history: History, options: Options) -> str | None:
    """Return the id of the container that code ran in last, until it expires.

    The time is that of the last event. A stream tells its container at its end: a response that
    broke off tells nothing of it, and one that ran no code names none. A container is its
    account's.
    """
    closing = history.responses.last_with(API, "container")
    if closing is None:
        return None
    container: Any = closing.envelope.get("container")
    fields = members_of(container)
    container_id = fields.get("id")
    if not isinstance(container_id, str) or _is_over(fields.get("expires_at"), history.as_of):
        return None
    if history.responses.is_of_another(str(closing.response), 0, options.account):
        return None
    return container_id


def stopped_code(draft: AnthropicDraft) -> set[str | None]:
    """Return the ids of the code that waits for results of its calls and has no container."""
    if draft.container is not None:
        return set()
    waiting: set[str | None] = set()
    for message in draft.messages:
        for value in message.content:
            if CALLER in value:
                waiting.add(code_of(value))
    for message in draft.messages:
        for piece in message.pieces:
            if is_server_result(piece.type):
                waiting.discard(text_member(piece.value, "tool_use_id"))
    return waiting


def note_inert_uploads(draft: AnthropicDraft) -> None:
    """Note the files of earlier turns that a new container will not hold."""
    if draft.container is not None:
        return
    said_since = False
    for message in reversed(draft.messages):
        for piece in message.pieces if said_since else ():
            if piece.type == UPLOAD:
                why = "its container is gone: attach the file again for code to find it"
                draft.note("noted", "R13", piece.block.version, why)
        said_since = said_since or message.role == "assistant"


def _is_over(expires_at: object, as_of: int | None) -> bool:
    if as_of is None or not isinstance(expires_at, str):
        return False
    try:
        moment = datetime.fromisoformat(expires_at)
    except ValueError:
        return False
    return moment.tzinfo is not None and moment.timestamp() * 1_000_000 <= as_of
