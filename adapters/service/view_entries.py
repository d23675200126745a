"""What the routes of views give: pages of entries."""

from __future__ import annotations

from datetime import date

from onrecord.adapters.service.model import Model
from onrecord.adapters.service.view_queries import ViewPage
from onrecord.projections.views.audit_facts import Outcome
from onrecord.projections.views.tool_ledger import Kind, Status


class OfConversation(Model):
    """Something of a conversation."""

    key: str | None
    """The key of the conversation; null where it was forgotten."""

    conversation: str
    """The id of the conversation."""


class OverviewEntry(OfConversation):
    """A conversation at a glance; it counts all that was recorded, side branches too."""

    title: str | None
    """How its first prompt begins."""

    origin: str | None
    """The conversation that it is a fork of."""

    version: int
    """The version of its last event."""

    closed: bool
    """Whether it has ended."""

    started_at: str
    """When it began (RFC 3339)."""

    last_at: str
    """When it last moved (RFC 3339)."""

    exchanges: int
    """The number of its last exchange."""

    user_messages: int
    """How many messages users sent."""

    assistant_messages: int
    """How many messages models sent."""

    system_messages: int
    """How many notes operators sent."""

    tool_calls: int
    """How many calls of the caller's tools there were."""

    server_tool_calls: int
    """How many calls of providers' own tools there were."""

    documents: int
    """How many documents it has."""

    responses: int
    """How many answers of models there were."""

    interrupted: int
    """How many answers broke off."""

    failed: int
    """How many attempts gave no answer."""

    input_tokens: int
    """The tokens that models read."""

    output_tokens: int
    """The tokens that models wrote."""

    participants: list[str]
    """The keyed digests of those who did something in it."""

    participant_names: list[str]
    """The names of those of them that were not forgotten."""

    providers: list[str]
    """The APIs that were asked."""

    models: list[str]
    """The models that were asked."""


class OverviewPage(ViewPage):
    """Conversations, the one that moved last first."""

    entries: list[OverviewEntry]
    """The conversations."""


class EventEntry(OfConversation):
    """An event that a view tells of."""

    version: int
    """The version of the event."""

    position: int
    """The place of the event in its shard of the log."""

    recorded_at: str
    """When it was recorded (RFC 3339)."""


class HitEntry(EventEntry):
    """An event that was found."""

    type: str
    """What happened, such as `message.recorded`."""

    role: str
    """Who said it."""

    tool: str | None
    """The tool that was called, or that gave it."""

    excerpt: str
    """A stretch of what it says, around the first word that was looked for."""

    length: int
    """How many characters of it are searched in all."""


class HitPage(ViewPage):
    """Events that were found, the latest first."""

    entries: list[HitEntry]
    """The events."""


class UsageEntry(Model):
    """The tokens that a model used."""

    day: date | None
    """The day (UTC); null where it is about all of them."""

    api: str
    """The API that was asked."""

    model: str | None
    """The model; null where nobody named it."""

    responses: int
    """How many answers there were."""

    input_tokens: int
    """The tokens that it read, from caches and into caches too."""

    output_tokens: int
    """The tokens that it wrote, those of reasoning too."""

    cached_tokens: int
    """The tokens that it read from a cache."""

    cache_write_tokens: int
    """The tokens that it wrote into a cache."""

    reasoning_tokens: int
    """The tokens that its reasoning took."""


class UsagePage(ViewPage):
    """The tokens that models used, the last day first."""

    entries: list[UsageEntry]
    """A model on a day each, or a model each."""


class ToolCallDocument(EventEntry):
    """A call of a tool."""

    line: str | None
    """The side branch that it is on; null on the main branch."""

    call_id: str
    """The id of the call."""

    kind: Kind
    """Whose tool it is: the caller's, or one that the provider runs."""

    name: str | None
    """The name of the tool."""

    arguments_digest: str | None
    """The SHA-256 of the canonical JSON of the arguments, in hex digits."""

    arguments: str | None
    """The arguments as compact JSON, up to 4,096 characters."""

    arguments_cut: bool
    """Whether there was more."""

    response: str | None
    """The id of the answer that it is of."""

    model: str | None
    """The model that made it."""

    status: Status
    """`open`: no result is recorded; `unawaited`: so, and none is expected."""

    is_error: bool
    """Whether the result says why the tool failed."""

    result_version: int | None
    """The version of the result."""

    result: str | None
    """What the result says, up to 4,096 characters."""

    result_cut: bool
    """Whether there was more."""

    documents: int
    """How many documents the result has."""

    duration: int | None
    """How long after the call its result was recorded, in microseconds."""

    metadata: dict[str, str]
    """What the header of the result carries."""


class ToolCallPage(ViewPage):
    """Calls of tools, the latest first."""

    entries: list[ToolCallDocument]
    """The calls."""


class ErasureDeed(Model):
    """What an erasure says."""

    conversation_id: str
    """The id of what was erased: a conversation, the name of an actor, or a subject."""

    actor: str | None
    """Who erased it."""

    reason: str | None
    """Why it was erased."""

    events: int | None
    """How many events were erased; null while that is only intended."""

    named: str | None
    """The digest of the actor whose name was erased."""

    subject: str | None
    """The digest of the subject that was erased."""

    rule: str | None
    """The rule that was followed in erasing a subject."""

    forks: list[str] | None
    """The forks that stay; null where nobody can tell."""

    hold: str | None
    """The id of the legal hold that refused it; null where none did."""


class HoldDeed(Model):
    """What was done about a legal hold."""

    conversation_id: str | None
    """The id of the conversation that it is on; null where it is on all of the tenant's."""

    actor: str
    """Who placed or lifted it."""

    reason: str
    """Why."""

    matter: str | None
    """The matter that it was placed for; null where it was lifted."""


class RetentionDeed(Model):
    """A retention class that was set or taken back."""

    conversation_id: str | None
    """The id of the conversation that it is of; null where it is of a label or the tenant."""

    label: str | None
    """The label that it is of."""

    value: str | None
    """The value of the label; null for any."""

    keep: int | str | None
    """How long it keeps: the name of a class, or a number of days; null where it was taken back."""

    actor: str
    """Who set it, or took it back."""

    rule: str | None
    """Which rule it follows; null where it was taken back."""

    reason: str | None
    """Why it was taken back; null where it was set."""


class AuditDocument(EventEntry):
    """Something that was done, without what was said in it."""

    occurred_at: str
    """When it happened (RFC 3339)."""

    actor: str | None
    """The keyed digest of who did it."""

    actor_name: str | None
    """The name of who did it; null once it is forgotten."""

    on_behalf_of: str | None
    """The keyed digest of whom it was done for."""

    on_behalf_of_name: str | None
    """The name of whom it was done for; null once it is forgotten."""

    type: str
    """What happened, such as `tool_call.recorded`."""

    api: str | None
    """The API of a request or an answer."""

    model: str | None
    """The model of a request or an answer."""

    tool: str | None
    """The tool that was called."""

    erasure: ErasureDeed | None
    """What an erasure says, where it is one."""

    hold: HoldDeed | None
    """What was done about a legal hold, where something was."""

    retention: RetentionDeed | None
    """Which retention class was set or taken back, where one was."""
    policy: str | None
    """The version of the policy that was in force, as the caller named it."""

    deployment: str | None
    """The deployment that did it, as the caller named it."""

    sha256: str | None
    """The digest of the instructions or tools that it put in force, or of what a request was rendered by."""

    outcome: Outcome | None
    """How it went, where that can be told."""

    documents: list[str]
    """The SHA-256 of each document that it holds, or that a request was sent with, in hex digits."""


class AuditPage(ViewPage):
    """What was done, the latest first."""

    entries: list[AuditDocument]
    """The deeds."""


class InForceDocument(OfConversation):
    """A conversation that ran under a rule: its events that name the rule."""

    events: int
    """How many events name the rule."""

    first_version: int
    """The version of the first of them."""

    last_version: int
    """The version of the last of them."""

    first_at: str
    """When the first of them was recorded (RFC 3339)."""

    last_at: str
    """When the last of them was recorded (RFC 3339)."""


class InForcePage(ViewPage):
    """Which conversations ran under a rule, the one that did last first."""

    entries: list[InForceDocument]
    """The conversations."""
