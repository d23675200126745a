"""What an event of a provider's own tool says, as JSON: the same for all providers."""

from __future__ import annotations

from typing import Any

from onrecord.domain.content import Document, Native, ServerToolCall, ServerToolResult
from onrecord.domain.events import ServerToolCallRecorded, ServerToolResultRecorded
from onrecord.domain.log import RecordedEvent
from onrecord.projections.api import neutral_of, outcome_of


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
    told: dict[str, Any] = part.model_dump(mode="json", exclude_defaults=True)
    if isinstance(part, Document) and (part.url or "").startswith("data:"):
        del told["url"]
    return {"kind": part.kind, **told}
