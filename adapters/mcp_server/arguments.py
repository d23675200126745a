"""What the tools of the MCP server take."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, Field

from onrecord.adapters.service.model import Model
from onrecord.adapters.service.parameters import Key, Version
from onrecord.projections.views.tool_ledger import Status

SIZE: Final = 10_240
LARGEST: Final = 262_144

Name = Annotated[str, Field(min_length=1, max_length=1000)]
Cursor = Annotated[str, Field(max_length=4000)]
Size = Annotated[int, Field(ge=2048, le=LARGEST)]


class OfConversation(Model):
    """Which conversation."""

    key: Key | None = None
    """The key of the conversation; by default the server's own."""


class SearchArguments(Model):
    """What is looked for."""

    text: Annotated[str, Field(min_length=1, max_length=2000)]
    """All its words must occur, those "in quotes" one behind the other; those with a - must not."""

    key: Key | None = None
    """The key of the conversation; by default all that the server shows."""

    since: AwareDatetime | None = None
    """From this time on (RFC 3339, with a zone)."""

    role: Literal["user", "assistant", "system", "tool", "provider", "record", "outside"] | None = (
        None
    )
    """Who said it."""

    tool: Name | None = None
    """The tool that was called, or that gave it."""

    limit: Annotated[int, Field(ge=1, le=20)] = 10
    """The most hits of a page."""

    cursor: Cursor | None = None
    """The `next` of the page before."""


class TurnsArguments(OfConversation):
    """Which blocks of a history."""

    at: Version | None = None
    """The version to tell it at; by default the last."""

    before: Annotated[int, Field(ge=1, le=2**31)] | None = None
    """The `next` of the page before; by default the page ends with the last block."""

    limit: Annotated[int, Field(ge=1, le=200)] = 20
    """The most blocks of a page."""

    max_bytes: Size = SIZE
    """The most bytes of the answer."""


class RequestArguments(OfConversation):
    """Which request."""

    version: Version
    """The version to render it at."""

    api: Annotated[str, Field(min_length=1, max_length=100)]
    """The wire format, such as `anthropic-messages`."""

    body: bool = False
    """Whether to give the request itself, too."""

    max_bytes: Size = SIZE
    """The most bytes of the body, and of the report."""


class CallsArguments(Model):
    """Which calls of tools."""

    key: Key | None = None
    """The key of the conversation; by default all that the server shows."""

    name: Name | None = None
    """The name of the tool."""

    status: Status | None = None
    """How the call stands."""

    limit: Annotated[int, Field(ge=1, le=10)] = 5
    """The most calls of a page."""

    cursor: Cursor | None = None
    """The `next` of the page before."""
