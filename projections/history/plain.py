"""Recorded events as plain JSON, for folds that read many and need few members of each.

A body was checked when it was recorded, so its members are taken as they stand in it. Making the
event's model from it would cost more than all else that a fold does.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from onrecord.domain import jsontext
from onrecord.domain.encoding import VERSIONS, Erased, Unrecognised, encode
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent, Told


def plain_of(recorded: Told | RecordedEvent) -> JsonObject | Unrecognised | Erased:
    """Return the members of a recorded event's body, lifted to the present shape of its name.

    Members at their default are absent. Raises CorruptRecord if the bytes are not an event's.
    """
    body = recorded.body
    if body is not None and VERSIONS.get(recorded.type) == recorded.schema_version:
        try:
            plain: JsonObject | list[Any] | str | float | None = from_json(body)
            if isinstance(plain, dict):
                return plain
        except ValueError:
            # A lone surrogate is legal JSON, but not for the fast reader; all else is corrupt.
            pass
    event = recorded.event()
    return event if isinstance(event, Unrecognised | Erased) else plain_of_event(event)


def plain_of_event(event: Event) -> JsonObject:
    """Return the members that the body of an event has."""
    return jsontext.read_object(encode(event))
