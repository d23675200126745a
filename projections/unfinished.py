"""What stays of the blocks amid which a response ended, or was cut."""

from __future__ import annotations

from collections.abc import Iterator

from hansard.domain.content import Native
from hansard.domain.events import ResponseCompleted, ResponseInterrupted, Unfinished
from hansard.domain.jsontext import JsonObject


def text_blocks(closing: ResponseCompleted | ResponseInterrupted) -> Iterator[Native]:
    """Yield the blocks of text that came in part."""
    for part in closing.unfinished:
        if (value := text_block(part)) is not None:
            yield Native(api=closing.api, value=value)


def text_block(part: Unfinished) -> JsonObject | None:
    """Return the block of text that came, as far as it did; None where nothing of it may stay.

    Anthropic's own rule: of the blocks that did not stop, only text that is not empty stays.
    """
    begun = part.value.get("text")
    if part.value.get("type") != "text" or not isinstance(begun, str):
        return None
    text = begun + part.partial
    return {**part.value, "text": text} if text.strip() else None
