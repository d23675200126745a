"""What the routes of views are asked by: filters, times and pages; and how far a page has come."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from onrecord.adapters.service.model import Model
from onrecord.adapters.service.parameters import Key
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.projections.views.audit_facts import Outcome
from onrecord.projections.views.tool_ledger import Kind, Status

Name = Annotated[str, Field(min_length=1, max_length=1000)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class PageQuery(Model):
    """Which page of a list."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    """The most of a page."""

    after: Annotated[str, Field(max_length=4000)] | None = None
    """The `after` of the page before; without one, the first page."""


class ViewPage(Model):
    """A page of a view, and how far the view has come."""

    after: str | None
    """What asks for the next page; null where there is none."""

    position: int
    """How far the view has come in the log."""

    behind: int
    """How many events it has not folded yet."""

    parked: int
    """How many conversations wait behind an event that could not be folded."""

    stopped: str | None
    """Why the view stands still, if it does."""

    encrypted: list[str]
    """Which members of the entries are null since an encrypted store keeps them out of its views."""


class TimeQuery(PageQuery):
    """Which time."""

    since: AwareDatetime | None = None
    """From this time on (RFC 3339, with a zone)."""

    until: AwareDatetime | None = None
    """Before this time (RFC 3339, with a zone)."""


class ConversationQuery(TimeQuery):
    """Which conversation."""

    conversation: Key | None = None
    """The key of the conversation, if not all."""

    conversation_id: UUID | None = None
    """The id of the conversation, in place of its key: a forgotten one has no key."""

    def which(self) -> str | UUID | None:
        """Return the key or the id; Problem where both are given."""
        if self.conversation is not None and self.conversation_id is not None:
            raise Problem(INVALID, "name the conversation by its key or by its id, not by both")
        return self.conversation if self.conversation_id is None else self.conversation_id


class OverviewQuery(TimeQuery):
    """Which conversations: times are of their last events."""

    key: Name | None = None
    """The one of this key."""

    provider: Name | None = None
    """Those in which this API was asked."""

    model: Name | None = None
    """Those in which this model was asked."""

    actor: Name | None = None
    """Those in which this person did something."""

    closed: bool | None = None
    """Those that have ended, or those that have not."""


class SearchQuery(ConversationQuery):
    """What is looked for."""

    text: Annotated[str, Field(min_length=1, max_length=2000)]
    """All its words must occur, those "in quotes" one behind the other; those with a - must not."""

    role: Literal["user", "assistant", "system", "tool", "provider", "record", "outside"] | None = (
        None
    )
    """Who said it."""

    tool: Name | None = None
    """The tool that was called, or that gave it."""


class UsageDays(Model):
    """Whose usage, and on which days."""

    api: Name | None = None
    """The API that was asked."""

    model: Name | None = None
    """The model that was asked."""

    since: date | None = None
    """From this day on (UTC)."""

    until: date | None = None
    """Before this day (UTC)."""


class UsageQuery(PageQuery, UsageDays):
    """Whose usage, on which days, and which page."""


class ToolCallQuery(ConversationQuery):
    """Which calls of tools."""

    name: Name | None = None
    """The name of the tool."""

    kind: Kind | None = None
    """Whose tool it is: the caller's, or one that the provider runs."""

    status: Status | None = None
    """How the call stands."""

    arguments_digest: Sha256 | None = None
    """The digest of the arguments: it finds who called the same with the same."""


class AuditQuery(ConversationQuery):
    """Which deeds."""

    actor: Name | None = None
    """Who did it, by name."""

    on_behalf_of: Name | None = None
    """Whom it was done for, by name."""

    type: Name | None = None
    """What happened, such as `tool_call.recorded`."""

    model: Name | None = None
    """The model that was asked, or that answered."""

    tool: Name | None = None
    """The tool that was called."""

    policy: Name | None = None
    """The version of the policy that was in force."""

    deployment: Name | None = None
    """The deployment that did it."""

    document: Annotated[str, Field(pattern="^[0-9a-fA-F-]{8,65}$")] | None = None
    """The document that it holds or sent: its short id, its id, or the SHA-256 of its bytes."""

    text: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    """The words that it says, as a search finds them."""

    outcome: Outcome | None = None
    """How it went."""

    label: Name | None = None
    """The label that the conversation has."""

    label_value: Name | None = None
    """The value of the label; without one, any."""


class InForceQuery(TimeQuery):
    """Under which rule conversations ran: one of these."""

    policy: Name | None = None
    """The version of the policy."""

    deployment: Name | None = None
    """The deployment."""

    instructions: Sha256 | None = None
    """The `sha256` of the deed that set the instructions."""

    tools: Sha256 | None = None
    """The `sha256` of the deed that declared the tools."""

    capabilities: Sha256 | None = None
    """The `sha256` of a request, of what it was rendered by."""

    model: Name | None = None
    """The model that was asked, or that answered."""
