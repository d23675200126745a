"""A recorded event as JSON says it, with what a provider's own tool was asked and gave."""

from __future__ import annotations

from typing import Any

from onrecord.adapters.presentation.actors import ShownActors
from onrecord.domain import jsontext
from onrecord.domain.content import Document, Native, ServerToolCall, ServerToolResult
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import ServerToolCallRecorded, ServerToolResultRecorded
from onrecord.domain.header import timestamp
from onrecord.domain.log import RecordedEvent
from onrecord.projections.api import neutral_of, outcome_of


def event_document(event: RecordedEvent, actors: ShownActors) -> dict[str, Any]:
    """Return a recorded event as JSON says it, with who did it; its `body` is null once it was erased.

    `tool` is what a provider's own tool did, null for all other events.
    """
    header = event.client_header()
    return {
        "version": event.version,
        "exchange": event.exchange,
        "type": event.type,
        "schema_version": event.schema_version,
        "event": str(event.event_id),
        "conversation": str(event.conversation_id),
        "shard": event.shard,
        "position": event.position,
        "occurred_at": timestamp(header.occurred_at),
        "recorded_at": timestamp(event.recorded_at),
        "digest": event.digest.hex(),
        "leaf": event.leaf.hex(),
        "body": _body(event.body),
        "tool": tool_activity(event),
        **actors.members(event),
    }


def _body(body: bytes | None) -> Any:
    """Return a body as JSON; the text of one that is none."""
    if body is None:
        return None
    try:
        return jsontext.read(body)
    except MalformedJson:
        return body.decode("utf-8", "backslashreplace")


def tool_activity(recorded: RecordedEvent) -> dict[str, Any] | None:
    """Return what the tool was asked (`asked`) and gave (`gave`); None for other events.

    What was moved to blobs is not in it, nor are the bytes of pictures: the event's body has both.
    """
    event = recorded.event()
    if not isinstance(event, ServerToolCallRecorded | ServerToolResultRecorded):
        return None
    native: Native = event.content
    read = neutral_of(native.api, native.value)
    asked = read if isinstance(read, ServerToolCall) else None
    gave = read if isinstance(read, ServerToolResult) else outcome_of(native.api, native.value)
    return {
        "asked": None if asked is None else {"tool": asked.name, "arguments": asked.arguments},
        "gave": None if gave is None else _gave(gave),
    }


def _gave(result: ServerToolResult) -> dict[str, Any]:
    return {
        "tool": result.name,
        "parts": [_part(part) for part in result.content],
        "metadata": result.metadata,
        "is_error": result.is_error,
    }


def _part(part: Any) -> dict[str, Any]:
    document: dict[str, Any] = part.model_dump(mode="json", exclude_defaults=True)
    if isinstance(part, Document) and (part.url or "").startswith("data:"):
        del document["url"]
    return {"kind": part.kind, **document}
