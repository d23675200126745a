"""What a service says when it does not answer, as an event.

Errors are objects with a `type` under `error` at all of them: platform.claude.com, "Errors";
platform.openai.com, "Error codes".
"""

from __future__ import annotations

from typing import Any, Final, cast
from uuid import UUID

from hansard.adapters.capture.nesting import read_object
from hansard.domain.errors import MalformedJson
from hansard.domain.events import AttemptFailed
from hansard.domain.jsontext import JsonObject

_LONGEST: Final = 16 * 1024
"""How many bytes of an error page are kept: proxies send whole web pages."""


def attempt_failed(
    status: int, body: bytes, *, request: UUID, line: UUID | None = None
) -> AttemptFailed:
    """Return the event of an attempt that was answered with an HTTP error.

    The error is the body's JSON as it came; what is no JSON is kept as text, its beginning only.
    """
    try:
        error: Any = read_object(body)
        reason = error_kind(error.get("error"))
    except MalformedJson:
        error, reason = body[:_LONGEST].decode("utf-8", "replace"), None
    return AttemptFailed(request=request, status=status, error=error, reason=reason, line=line)


def error_kind(error: Any) -> str | None:
    """Return the type of an error, which names no content."""
    kind = cast("JsonObject", error).get("type") if isinstance(error, dict) else None
    return kind if isinstance(kind, str) else None
