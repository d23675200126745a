"""What stays of the blocks amid which a response ended, or was cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from hansard.domain.content import Native
from hansard.domain.events import ResponseCompleted, ResponseInterrupted, Unfinished
from hansard.domain.jsontext import JsonObject


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
    text_of = _TEXT_OF.get(api)
    return text_of(part) if text_of else None


def _anthropic(part: Unfinished) -> JsonObject | None:
    begun = part.value.get("text")
    if part.value.get("type") != "text" or not isinstance(begun, str):
        return None
    text = begun + part.partial
    return {**part.value, "text": text} if text.strip() else None


def _openai_chat(part: Unfinished) -> JsonObject | None:
    """Return a message that says something; of calls and reasoning nothing stays."""
    value = part.value
    said = _says(value.get("content"), "text") or _says(value.get("refusal"), "")
    return value if said else None


def _openai_responses(part: Unfinished) -> JsonObject | None:
    """Return a message that says something; no other item may stay."""
    value = part.value
    content = value.get("content") if value.get("type") == "message" else None
    return value if _says(content, "text") or _says(content, "refusal") else None


def _says(content: Any, member: str) -> bool:
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
            return any(_says(part.get(member), "") for part in parts)
        case _:
            return False


_TEXT_OF: Final[dict[str, Callable[[Unfinished], JsonObject | None]]] = {
    "anthropic-messages": _anthropic,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
}
