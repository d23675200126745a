"""Errors of Anthropic's service, and faults of its streams, that the demo server plays for tests."""

from __future__ import annotations

from onrecord.adapters.demo.services.scenes import HttpError, Rewritten, frame


def rate_limited(retry_after: float = 0) -> HttpError:
    """The 429 of a client that has to wait `retry_after` seconds."""
    message = "This request would exceed your organization's rate limit."
    return HttpError(429, "rate_limit_error", message, retry_after)


def internal_error() -> HttpError:
    """The 500 of a fault inside the service."""
    return HttpError(500, "api_error", "Internal server error")


def overloaded() -> HttpError:
    """The 529 of a service without capacity."""
    return HttpError(529, "overloaded_error", "Overloaded")


def repeated(at: int) -> Rewritten:
    """The event of that number goes out twice; 0 is message_start."""
    return Rewritten(lambda events: [*events[: at + 1], *events[at:]])


def spliced(before: int, raw: bytes) -> Rewritten:
    """Foreign bytes go into the stream, before the event of that number."""
    return Rewritten(lambda events: [*events[:before], raw, *events[before:]])


def broken_off(at: int) -> Rewritten:
    """The stream ends with an `error` event in place of its event of that number."""
    error = frame({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    return Rewritten(lambda events: [*events[:at], error])
