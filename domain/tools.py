"""Tools: what a model is told of the caller's and its provider's, and what becomes of a call of one."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from onrecord.domain import jsontext
from onrecord.domain.content import Native, OnLine, Value
from onrecord.domain.jsontext import JsonObject


class ToolDefinition(Value):
    """A tool of the caller, told to any model: name, description, JSON Schema of its input.

    The rest is as the Model Context Protocol lists tools: a `title` for people, the JSON Schema of
    what it gives, hints such as `readOnlyHint`. Models are not told of it where their API has no
    place for it.
    """

    kind: Literal["tool"] = "tool"
    name: str
    description: str | None = None
    input_schema: JsonObject
    title: str | None = None
    output_schema: JsonObject | None = None
    annotations: JsonObject | None = None


class BuiltinTool(Value):
    """A tool that providers have themselves, by the name that all APIs share: `web_search`.

    Each API is told of it in its own spelling. `version` is a date as Anthropic puts it behind the
    names of its tools (`20250305`); other APIs have no versions. `options` are by API, as that
    spells them: `{"anthropic-messages": {"max_uses": 3}}`.
    """

    kind: Literal["builtin"] = "builtin"
    name: str
    version: str | None = None
    options: dict[str, JsonObject] = Field(default_factory=dict)


class ToolSource(Value):
    """Where declared tools come from: what lists them (`origin`), which one, in which state.

    `name` is what it calls itself: a server, an agent, a process; `version` likewise. `sha256` is the
    digest, in hex, of what lists them (a file, a card), `tools` the names of those that it gave.
    """

    origin: Literal["python", "mcp", "a2a", "bpmn", "provider"]
    name: str | None = None
    version: str | None = None
    sha256: str | None = None
    tools: tuple[str, ...] = ()


def tools_digest(tools: Sequence[ToolDefinition | BuiltinTool | Native]) -> str:
    """Return the SHA-256, in hex, of the canonical JSON of tools, what is at its default left out."""
    plain = [tool.model_dump(mode="json", exclude_defaults=True) for tool in tools]
    return hashlib.sha256(jsontext.write_canonical(plain)).hexdigest()


# What becomes of a call before its result: who decides about it, and who makes it.
#
# These are events of the conversation of the call, so they are erased with it. `call_id` and `call`,
# the version of the call's event, say which call they are of; `call` is 0 where it is one of what the
# conversation was forked from. `number` counts from 0 what has its name of one call: a conversation
# holds each number once, so of two that decide, or begin, at once one is recorded.

Count = Annotated[int, Field(ge=0, lt=2**63)]
"""A number, or a time in microseconds since 1970-01-01 UTC."""


class OfCall(OnLine):
    """What each of these events has."""

    call_id: str
    call: Count
    number: Count
    at: Count


class ApprovalRequested(OfCall):
    """A call waits for a person; `unsure` where it was begun and nobody knows whether it was made."""

    unsure: bool = False


class ApprovalDecided(OfCall):
    """A person granted or denied a call; who it was stands in the header, as of every event."""

    decision: Literal["granted", "denied"]
    reason: str | None = None


class ToolCallBegun(OfCall):
    """A runner is about to make a call: until the time `until` no other one makes it.

    `renews` where the runner that began it is still making it: it takes more time, or no more.
    """

    until: Count
    renews: bool = False


CallStep = ApprovalRequested | ApprovalDecided | ToolCallBegun
"""What may become of a call before its result."""


def name_of_step(step: CallStep) -> str:
    """Return the name of the fact that a conversation can hold only once."""
    match step:
        case ApprovalRequested():
            kind = "approval"
        case ApprovalDecided():
            kind = "decision"
        case ToolCallBegun():
            kind = "begun"
    # The id last: it may hold whatever a provider puts in it.
    return f"{kind}:{step.call}:{step.number}:{step.call_id}"
