"""Requests of any API as a program sends them, and what they say as events."""

import json
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from onrecord.adapters.wire import answer as answers
from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.blocks import Recording
from onrecord.adapters.wire.requests import WireRequest, instructions_set, tools_declared
from onrecord.adapters.wire.wires import WIRES

ANTHROPIC = "anthropic-messages"


def sent(api: str = ANTHROPIC, **members: Any) -> WireRequest:
    """A request with these members, as its API's wire reads it."""
    return WIRES[api].read_request(json.dumps(members).encode())


def events_of(
    answer: Answer,
    *,
    response: UUID,
    request: UUID | None = None,
    request_id: str | None = None,
    line: UUID | None = None,
    raw: bytes | None = None,
) -> Recording:
    """The events of an answer, as its API's wire has them."""
    events, blobs = answers.events_of(
        answer,
        WIRES[answer.api].event_of,
        response=response,
        request=request,
        request_id=request_id,
        line=line,
        raw=raw,
    )
    return events, {digest: data for digest, data in blobs.items() if isinstance(data, bytes)}


def said(
    messages: Iterable[dict[str, Any]], responses: Iterator[UUID], line: UUID | None = None
) -> Recording:
    """The events of a request's messages, of which the log has none."""
    asked = sent(messages=list(messages))
    return WIRES[ANTHROPIC].request_events(asked, asked.pieces, responses, line)


def instructions(system: Any) -> Recording:
    """The events that put instructions in force."""
    return instructions_set(sent(system=system, messages=[]))


def tools(definitions: Any) -> Recording:
    """The events that put tools in force."""
    return tools_declared(sent(tools=definitions, messages=[]))
