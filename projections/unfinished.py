"""What stays of the blocks amid which a response ended, or was cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from onrecord.domain.content import Native
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted, Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis import api_of


def text_blocks(closing: ResponseCompleted | ResponseInterrupted) -> Iterator[Native]:
    """Yield the blocks of text that came in part."""
    for part in closing.unfinished:
        if (value := text_block(part, closing.api)) is not None:
            yield Native(api=closing.api, value=value)


def text_block(part: Unfinished, api: str) -> JsonObject | None:
    """Return the block of text that came, as far as it did; None where nothing of it may stay.

    Anthropic's own rule, which serves for all: of the blocks that did not stop, only text that is
    not empty stays.
    """
    found = api_of(api)
    partial = found.reader.partial if found else None
    return partial(part) if partial else None


def says(content: Any, member: str) -> bool:
    """Whether a text, or a member of one of the parts of a list, is not blank."""
    match content:
        case str():
            return bool(content.strip())
        case list():
            parts = [
                cast("JsonObject", part)
                for part in cast("list[Any]", content)
                if isinstance(part, dict)
            ]
            return any(says(part.get(member), "") for part in parts)
        case _:
            return False
