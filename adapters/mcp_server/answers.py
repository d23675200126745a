"""What the tools of the MCP server give: fields, each stored text with who said it and where it stands."""

from __future__ import annotations

from typing import Any, Literal

from onrecord.adapters.mcp_server.passages import Passage
from onrecord.adapters.service.model import Model
from onrecord.projections.history.timeline_text import Speaker
from onrecord.projections.views.tool_ledger import Kind, Status


class Provenance(Model):
    """Where a stored text stands."""

    key: str | None
    """The key of the conversation; null where it was forgotten, or where it is very long."""

    version: int
    """The version of the event in it."""

    resource: str | None
    """The resource that has the whole event; null where it was forgotten, or where its key is very long."""


class Hit(Provenance):
    """An event that says what was looked for."""

    speaker: Speaker
    """Who said it."""

    type: str
    """What happened, such as `message.recorded`."""

    tool: str | None
    """The tool that was called, or that gave it."""

    recorded_at: str
    """When it was recorded (RFC 3339)."""

    excerpt: Passage
    """A stretch of what it says."""


class ViewState(Model):
    """How far a page, and the view that it is of, have come."""

    next: str | None
    """The `cursor` of the next page; null where there is none."""

    behind: int
    """How many events the view has not folded yet."""

    encrypted: list[str]
    """Which members are missing since an encrypted store keeps them out of its views."""


class Hits(ViewState):
    """Events that say something, the latest of a conversation first."""

    hits: list[Hit]
    """The events."""


class TurnBlock(Provenance):
    """A block of a turn."""

    turn: int
    """The number of its turn, from 1."""

    role: Literal["user", "assistant", "system"]
    """Whose turn it is."""

    speaker: Speaker
    """Who said it: a result of a tool stands in a turn of the user's."""

    kind: str
    """What it is: a text, a call, a result, a document, reasoning, or a provider's own block."""

    tool: str | None
    """The tool that is called, or that gave it."""

    call_id: str | None
    """The id of the call."""

    is_error: bool
    """Whether the result says that the call failed."""

    said: Passage
    """What it says; nothing where the provider sealed it."""

    document: str | None
    """The resource that has the bytes of the document, where it is one."""


class Turns(Model):
    """Blocks of a history, in order."""

    key: str
    """The key of the conversation."""

    at: int
    """The version that it is told at."""

    blocks: list[TurnBlock]
    """The blocks."""

    next: int | None
    """The `before` of the page before this one; null where this one begins the history."""


class ReportNote(Model):
    """What was done to an event on its way into a request."""

    deed: str
    """What was done."""

    rule: str
    """By which rule."""

    version: int | None
    """To the event at which version; null where it is about the whole request."""

    why: str
    """The reason."""


class RequestMade(Model):
    """The request that an API would have been sent at a version."""

    key: str
    """The key of the conversation."""

    version: int
    """The version that it is rendered at."""

    api: str
    """The wire format."""

    sha256: str
    """The SHA-256 of the request as compact JSON, in hex digits."""

    bytes: int
    """How many bytes the request has as compact JSON."""

    members: dict[str, int]
    """How many bytes each member of the request has."""

    report: list[ReportNote]
    """What was repaired, left out or translated, as far as it fits."""

    notes: int
    """How many notes the whole report has."""

    secrets: list[str]
    """Where the request needs secrets that were never recorded (JSON pointers)."""

    body: dict[str, Any] | None
    """The request; null where nobody asked for it."""


class Call(Provenance):
    """A call of a tool."""

    call_id: str
    """The id of the call."""

    name: str | None
    """The name of the tool."""

    kind: Kind
    """Whose tool it is: the caller's, or one that the provider runs."""

    status: Status
    """How the call stands."""

    is_error: bool
    """Whether the result says that the call failed."""

    recorded_at: str
    """When the call was recorded (RFC 3339)."""

    arguments: Passage | None
    """The arguments, as JSON; the assistant said it."""

    result_version: int | None
    """The version of the result."""

    result: Passage | None
    """What the result says; the tool said it."""


class Calls(ViewState):
    """Calls of tools, the latest of a conversation first."""

    calls: list[Call]
    """The calls."""


class TokensOfConversation(Model):
    """The tokens of a conversation."""

    key: str
    """The key of the conversation."""

    version: int
    """The version of its last event."""

    input_tokens: int
    """The tokens that models read in it."""

    output_tokens: int
    """The tokens that models wrote in it."""


class TokensOfModel(Model):
    """The tokens of a model, in all conversations of the tenant."""

    api: str
    """The API that was asked."""

    model: str | None
    """The model; null where nobody named it."""

    responses: int
    """How many answers there were."""

    input_tokens: int
    """The tokens that it read."""

    output_tokens: int
    """The tokens that it wrote."""

    cached_tokens: int
    """Those that it read from a cache."""

    reasoning_tokens: int
    """Those that it wrote as reasoning."""


class Tokens(Model):
    """The tokens that models used."""

    conversations: list[TokensOfConversation]
    """By conversation; without a key, where the server shows all of the tenant, there are none."""

    models: list[TokensOfModel]
    """By model, where the server shows all of the tenant and no key is given: at most 50."""


class Fault(Model):
    """Something that does not hold."""

    version: int
    """The version of the event; 0 where it is of none."""

    why: str
    """What does not hold."""


class Proof(Model):
    """What a check of a conversation came to."""

    key: str
    """The key of the conversation."""

    is_whole: bool
    """Whether all that was checked holds."""

    events: int
    """How many events were checked."""

    erased: int
    """How many of them were erased."""

    faults: list[Fault]
    """What does not hold: at most 50."""

    unchecked: list[str]
    """What could not be checked."""


class ConversationDocument(Model):
    """Where a conversation stands."""

    key: str
    """The key of the conversation."""

    conversation: str
    """The id of the conversation."""

    version: int
    """The version of its last event."""

    exchange: int
    """The number of its last exchange."""

    closed: bool
    """Whether it has ended."""

    open_calls: list[str]
    """The ids of the calls that await their results."""

    input_tokens: int
    """The tokens that models read in it."""

    output_tokens: int
    """The tokens that models wrote in it."""
