"""What a service says when it does not answer, as an event.

Errors are objects under `error` with a `type` (platform.claude.com, "Errors"; platform.openai.com,
"Error codes") or, at Google, a `status` (google.aip.dev, AIP-193), in a list where chunks were asked.
"""

from __future__ import annotations

from typing import Any, Final, cast
from uuid import UUID

from onrecord.adapters.capture.nesting import read
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import AttemptFailed
from onrecord.domain.jsontext import JsonObject

_LONGEST: Final = 16 * 1024
"""How many bytes of an error page are kept: proxies send whole web pages."""


def attempt_failed(
    status: int, body: bytes, *, request: UUID, line: UUID | None = None
) -> AttemptFailed:
    """Return the event of an attempt that was answered with an HTTP error.

    The error is the body's JSON as it came; what is no JSON is kept as text, its beginning only.
    """
    try:
        error: Any = read(body)
        reason = error_kind(_object(error).get("error"))
    except MalformedJson:
        error, reason = body[:_LONGEST].decode("utf-8", "replace"), None
    return AttemptFailed(request=request, status=status, error=error, reason=reason, line=line)


def error_kind(error: Any) -> str | None:
    """Return the type of an error, which names no content."""
    members = cast("JsonObject", error) if isinstance(error, dict) else {}
    kinds = (members.get(name) for name in ("type", "status"))
    return next((kind for kind in kinds if isinstance(kind, str)), None)


def _object(body: Any) -> JsonObject:
    """Return the object of an error's body; MalformedJson where there is none."""
    listed: list[Any] = cast("list[Any]", body) if isinstance(body, list) else [body]
    if len(listed) == 1 and isinstance(listed[0], dict):
        return cast("JsonObject", listed[0])
    raise MalformedJson("expected a JSON object")
