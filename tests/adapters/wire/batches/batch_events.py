"""What a conversation holds of batches, told shortly for tests."""

from __future__ import annotations

from typing import Any

from onrecord.domain.events import (
    Event,
    MessageRecorded,
    ResponseCompleted,
    ResponseInterrupted,
)


def answers(events: list[Event]) -> list[tuple[str, str]]:
    """The name of each entry that was answered, and how it ended."""
    return [
        (
            event.envelope["onrecord:batch"]["custom_id"],
            "said" if isinstance(event, ResponseCompleted) else event.detail or event.reason,
        )
        for event in events
        if isinstance(event, ResponseCompleted | ResponseInterrupted)
        and getattr(event, "reason", None) != "deferred"
    ]


def texts(events: list[Event]) -> list[tuple[str, str]]:
    """Who said each message, and its text."""
    return [
        (event.role, _text(getattr(event.content[0], "value", event.content[0])))
        for event in events
        if isinstance(event, MessageRecorded)
    ]


def _text(said: Any) -> str:
    """The text of a block, in the words of whatever API."""
    match said:
        case str():
            return said
        case {"text": text} | {"content": text}:
            return _text(text)
        case [first, *_]:
            return _text(first)
        case _:
            return str(said.text)
