"""Cache marks: at most four, placed by where things stand, never by what was sent before (R16)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import MARK
from onrecord.projections.requests.anthropic_draft import Draft, Message, kind_of

_CACHED: Final = {"type": "ephemeral"}
_MARKABLE: Final = frozenset({"text", "image", "document", "tool_result", "search_result"})
_TURNS: Final = 2


def place_marks(draft: Draft) -> None:
    """Mark the ends of the tools, of the instructions, and of the user's last two turns.

    The mark of the turn before the last finds what the last request cached. Thinking and empty
    texts take no mark: "cache_control cannot be set for empty text blocks".
    """
    if draft.tools:
        draft.tools = [*draft.tools[:-1], _marked(draft.tools[-1])]
    if isinstance(draft.system, str):
        draft.system = [{"type": "text", "text": draft.system}]
    if draft.system:
        draft.system = [*draft.system[:-1], _marked(draft.system[-1])]
    users = [index for index, message in enumerate(draft.messages) if message.role == "user"]
    for index in users[-_TURNS:]:
        draft.messages[index] = _with_mark(draft.messages[index])


def _with_mark(message: Message) -> Message:
    content = list(message.content)
    for place in range(len(content) - 1, -1, -1):
        if kind_of(content[place]) in _MARKABLE:
            content[place] = _marked(content[place])
            break
    return replace(message, content=content)


def _marked(value: JsonObject) -> dict[str, Any]:
    return {**value, MARK: dict(_CACHED)}
