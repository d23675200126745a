"""What a framework did to the streams of its session, in a line of text: for people, not for models."""

from __future__ import annotations

from typing import Any, assert_never

from onrecord.domain import jsontext
from onrecord.domain.items import (
    ItemAmended,
    ItemEvent,
    ItemRecorded,
    ItemsReplaced,
    ItemWithdrawn,
    StatePut,
    StreamCleared,
)


def described(event: ItemEvent) -> tuple[str, str]:
    """Return the kind of what was done, in a word, and a line that tells it."""
    match event:
        case ItemRecorded():
            beside = "" if event.beside is None else f" beside version {event.beside}"
            return "item", f"{_stream(event)}{beside}: {_compact(event.item)}"
        case ItemWithdrawn():
            return "withdrawn", f"the item at version {event.version}"
        case ItemAmended():
            return "amended", f"the item at version {event.version}: {_compact(event.item)}"
        case ItemsReplaced():
            ranges = ", ".join(f"{first} to {last}" for first, last in event.kept)
            kept = f"the items at versions {ranges}" if ranges else "nothing"
            return "replaced", f"{_stream(event)} keeps {kept}"
        case StreamCleared(whole=True):
            return "cleared", f"all streams of {event.framework}"
        case StreamCleared():
            return "cleared", f"{event.framework} {event.stream}".rstrip()
        case StatePut(value=None):
            return "state", f"{_stream(event)} keeps no {event.key}"
        case StatePut():
            return "state", f"{_stream(event)} {event.key}: {_compact(event.value)}"
        case _:
            assert_never(event)


def _stream(event: ItemRecorded | ItemsReplaced | StatePut) -> str:
    return f"{event.framework} {event.stream}".rstrip()


def _compact(value: Any) -> str:
    return jsontext.write(value).decode()
