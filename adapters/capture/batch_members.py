"""What the batches of all APIs have in common, as JSON."""

from __future__ import annotations

from typing import cast

from onrecord.adapters.capture.answer import Answer
from onrecord.domain.jsontext import JsonObject


def as_object(value: object) -> JsonObject | None:
    """Return a value that is an object; None for any other."""
    return cast("JsonObject", value) if isinstance(value, dict) else None


def deferred(api: str, said: JsonObject, provider_id: str | None, what: str) -> Answer:
    """Return what a service says to requests that it took, and answers later.

    `provider_id` is the id that it gave them; None where it gave none: then this is no `what`.
    """
    if provider_id is None:
        return Answer(api, envelope=said, interruption="malformed", detail=f"this is no {what}")
    return Answer(api, envelope=said, provider_id=provider_id, interruption="deferred")
