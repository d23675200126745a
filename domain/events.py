"""The events of a conversation: the stored format, frozen from the first release.

Shapes only: what an event does to a conversation is in head.py, when it may come in admission.py;
its bytes, its name and its version are in encoding.py. A field once released is never renamed, removed
or given another meaning; a changed shape is a new schema version with an upcaster.

Each block of a response is an event of its own. `response` is the id of the answer it belongs to
and `index` its place there; both are absent from what the caller said. `line` names the side branch
an event belongs to; absent, it is the main branch, the conversation's history.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Discriminator, Field

from onrecord.domain.content import (
    Blob,
    Document,
    Native,
    OnLine,
    Reasoning,
    Role,
    Said,
    Text,
    ToolCall,
    ToolResult,
    Value,
)
from onrecord.domain.items import ItemEvent
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Recipe, Template
from onrecord.domain.tools import BuiltinTool, CallStep, ToolDefinition, ToolSource


class ConversationStarted(OnLine):
    """The first event: the caller's own name for the conversation.

    `rules` is the number of the rules of rendering that held then (docs/rendering.md).
    """

    key: str
    rules: int = 1


class ConversationForked(OnLine):
    """The conversation goes on from another one, as that stood at `version`."""

    origin: UUID
    version: int
    reason: str | None = None


class ConversationEnded(OnLine):
    """The conversation is over: it takes no new facts but annotations."""

    reason: str | None = None


class InstructionsSet(OnLine):
    """The instructions (system prompt) in force from here on.

    `content` is what the caller gave: a text, or, from a recorded request, the API's own list.
    """

    content: str | Annotated[Text | Native, Discriminator("kind")]


class ToolsDeclared(OnLine):
    """The tools in force from here on, in order: the caller's, providers' own, an API's JSON.

    `sources` says where they come from, as far as that is known; `sha256` is the digest, in hex, of
    the canonical JSON of `tools`, members at their default left out.
    """

    tools: tuple[Annotated[ToolDefinition | BuiltinTool | Native, Discriminator("kind")], ...]
    sources: tuple[ToolSource, ...] = ()
    sha256: str | None = None


class MessageRecorded(OnLine):
    """What somebody said: a user's prompt, a text block of a response, an operator's note."""

    role: Role
    content: tuple[Said, ...]
    message_id: str | None = None
    response: UUID | None = None
    index: int | None = None


class ReasoningRecorded(OnLine):
    """A reasoning block of a response, signature and all."""

    response: UUID
    index: int
    content: Annotated[Native | Reasoning, Discriminator("kind")]


class ToolCallRecorded(OnLine):
    """A call of one of the caller's tools.

    `awaited` says whether a result is expected: not so when the response was cut, or stopped for
    another reason than the call (providers refuse results of such calls).
    """

    response: UUID | None = None
    index: int | None = None
    call_id: str
    name: str
    content: Annotated[Native | ToolCall, Discriminator("kind")]
    awaited: bool = True


class ToolResultRecorded(OnLine):
    """What the call `call_id` gave; `cancelled` where it was given up without one.

    `call` is the version of the call, where an earlier call of the conversation has the same id and
    its result: servers exist that number the calls of each answer from 0.
    """

    call_id: str
    call: int | None = None
    content: Annotated[Native | ToolResult, Discriminator("kind")]
    is_error: bool = False
    cancelled: bool = False


class ToolResultRejected(OnLine):
    """A result that came when its call had another one already: kept, and no part of a turn.

    `reason` is `cancelled` where the call had been given up, `duplicate` where it had a result.
    """

    call_id: str
    content: Annotated[Native | ToolResult, Discriminator("kind")]
    is_error: bool = False
    reason: Literal["cancelled", "duplicate"]


class SignalReceived(OnLine):
    """A message from outside, neither a user's nor a tool's: a timer, a webhook, another process.

    It waits for the round of tool calls amid which it comes; where it `interrupts`, the calls that
    were open were cancelled with it. Without content the model is told that there is none.
    """

    content: tuple[Annotated[Text | Document, Discriminator("kind")], ...] = ()
    name: str | None = None
    interrupts: bool = False
    message_id: str | None = None


class ServerToolCallRecorded(OnLine):
    """A call of a tool that the provider runs."""

    response: UUID
    index: int
    call_id: str
    name: str
    content: Native


class ServerToolResultRecorded(OnLine):
    """What the provider's tool gave; it may come in a later response than its call."""

    response: UUID
    index: int
    call_id: str
    content: Native


class CompactionRecorded(OnLine):
    """A provider's own summary, standing for all that came before it."""

    response: UUID
    index: int
    content: Native


class OpaqueRecorded(OnLine):
    """A block of a response that is none of the kinds above, known or not yet known."""

    response: UUID
    index: int
    type: str
    content: Native


class DocumentExtracted(OnLine):
    """A document found in what was said or given; `api` says whose own JSON holds it as well.

    With a `path` it was found there in the result of the call that is recorded right before it,
    whose content holds it too: a JSON pointer (RFC 6901) into what the tool gave.
    """

    document: Document
    version: int | None = None
    call_id: str | None = None
    tool_name: str | None = None
    api: str | None = None
    path: str | None = None


Relation = Literal["extends", "branches", "view", "reference", "unrelated"]
"""How a request goes on from what is recorded: `RequestSent` says what each means."""


class RequestSent(OnLine):
    """A request was about to be sent; durable before its first byte.

    `relation` says how its messages go on from what was recorded: they `extend` its line, `branch`
    off (an edit, a sample), are a `view` of it (some are left out or rewritten), name what they go
    on from (`reference`), or are `unrelated`. `parent` is the request that it goes on from, on
    whatever line. The first request of a side branch has the line's id. `after` is the last version
    that the side branch shares with the line that it left (absent: it shares nothing), `as_of` the
    version at which the main branch held that, where it was said on a line that was adopted. Later
    requests of the side branch say so too, and in `begun` the version of its first event.

    `prefix` is the digest of system, tools and messages (domain/request_template.py): what signed blocks of
    the answer are bound to. `history` is the digest of the messages alone and `blocks` how many
    blocks they have: a later request that begins with the same ones goes on from this one.
    `account` is a keyed digest, never the key. `seen` is the last version of this conversation that
    the messages reflect (absent: all); what the caller said in between comes after the response.
    """

    seen: int | None = None
    api: str
    endpoint: str
    model: str | None = None
    parent: UUID | None = None
    after: int | None = None
    as_of: int | None = None
    begun: int | None = None
    relation: Relation = "extends"
    template: Template
    recipe: Recipe | None = None
    prefix: str | None = None
    history: str | None = None
    blocks: int = 0
    account: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)


class AttemptFailed(OnLine):
    """One attempt of a request was answered with an error, or not at all; a retry may follow."""

    request: UUID
    status: int | None = None
    error: Any = None
    reason: str | None = None


class Unfinished(Value):
    """A block of which the stream brought only a part: as it began, and the pieces since.

    Or one whose input is no JSON that can be kept.
    """

    index: int
    value: JsonObject
    partial: str


class ResponseCompleted(OnLine):
    """Closes a response: its envelope as it came, without the content.

    `unfinished` are blocks amid which it stopped, as its limit of tokens made it do: no event of
    their own, and a call among them is none. Token counts are None where nobody told them, else
    from 0 to 2^53 - 1; what the model read includes what came from a cache.
    """

    response: UUID
    request: UUID | None = None
    api: str
    provider_id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    envelope: JsonObject
    unfinished: tuple[Unfinished, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    request_id: str | None = None
    raw: Blob | None = None


class ResponseInterrupted(OnLine):
    """Closes a response that did not end as its API says it must.

    `reason` is `cut` (the wire ended), `abandoned` (the caller stopped reading), `error` (the
    provider said so amid the stream, or in a batch's results), `malformed` (not understood; `raw` holds what arrived),
    `deferred` (the provider goes on in the background; another response of this request follows) or
    `oversized` (longer than is read; `raw` holds what arrived, `detail` says how). The envelope of
    a response of a batch has a member more, `onrecord:batch`: the `id` of the batch, or of the file
    that has its requests, and the `custom_id` of the request.
    """

    response: UUID
    request: UUID | None = None
    api: str
    reason: Literal["cut", "abandoned", "error", "malformed", "deferred", "oversized"]
    detail: str | None = None
    provider_id: str | None = None
    model: str | None = None
    envelope: JsonObject = Field(default_factory=dict)
    unfinished: tuple[Unfinished, ...] = ()
    error: Any = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    request_id: str | None = None
    raw: Blob | None = None


class LineAdopted(OnLine):
    """The main branch goes on from an earlier place: what came after that is history no more.

    From here on the main branch is what it was up to `after`, then the events of the side branch
    `adopted` (absent: of none) from version `begun` up to here, then what follows this event.
    `as_of` is the version at which the main branch held `after`; absent, that is `after` itself.
    """

    adopted: UUID | None = None
    begun: int | None = None
    after: int
    as_of: int | None = None


class HistoryCompacted(OnLine):
    """The caller's own summary stands for the main branch up to version `until`, as that is here."""

    summary: str
    until: int


class ContentRedacted(OnLine):
    """The event at `version` is left out of every view from here on."""

    version: int
    reason: str | None = None


class ContextCarried(OnLine):
    """What the conversation's tool calls carry from here on: the metadata of this event's header.

    It stands there alone, where only what is allowed to be kept goes; the body is empty.
    """


class AnnotationAdded(OnLine):
    """A remark beside the conversation, on the event at `version` or on the whole."""

    labels: dict[str, str]
    version: int | None = None


Event = (
    ConversationStarted
    | ConversationForked
    | ConversationEnded
    | InstructionsSet
    | ToolsDeclared
    | MessageRecorded
    | ReasoningRecorded
    | ToolCallRecorded
    | ToolResultRecorded
    | ToolResultRejected
    | SignalReceived
    | ServerToolCallRecorded
    | ServerToolResultRecorded
    | CompactionRecorded
    | OpaqueRecorded
    | DocumentExtracted
    | RequestSent
    | AttemptFailed
    | ResponseCompleted
    | ResponseInterrupted
    | LineAdopted
    | HistoryCompacted
    | ContentRedacted
    | ContextCarried
    | AnnotationAdded
    | CallStep
    | ItemEvent
)
"""Everything that can happen to a conversation."""

AnswerPart = (
    MessageRecorded
    | ReasoningRecorded
    | ToolCallRecorded
    | ServerToolCallRecorded
    | ServerToolResultRecorded
    | CompactionRecorded
    | OpaqueRecorded
)
"""What an answer is made of, an event for each block; a message is a user's or an operator's too."""
