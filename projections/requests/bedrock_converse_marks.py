"""Cache points: at most four, placed by where things stand, never by what was sent before (B13)."""

from __future__ import annotations

from typing import Final

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.neutral_bedrock import kind_of
from onrecord.projections.requests.anthropic_draft import Message, Piece, message_of
from onrecord.projections.requests.bedrock_converse_draft import MARK, Draft

_POINT: Final[JsonObject] = {MARK: {"type": "default"}}
_UNMARKED: Final = frozenset({"document", "video"})
_TURNS: Final = 2


def place_marks(draft: Draft) -> None:
    """Put a cache point behind the tools, the instructions, and the user's last two turns.

    The point of the turn before the last finds what the last request cached. None stands behind a
    document or a video: the service refuses it.
    """
    if not draft.model.takes_marks:
        draft.note("noted", "B13", None, "the model takes no cache points")
        return
    if draft.tools and draft.model.takes_marked_tools:
        draft.tools = [*draft.tools, _POINT]
    if draft.system:
        draft.system = [*draft.system, _POINT]
    users = [index for index, message in enumerate(draft.messages) if message.role == "user"]
    for index in users[-_TURNS:]:
        draft.messages[index] = _marked(draft.messages[index])


def _marked(message: Message) -> Message:
    pieces = message.pieces
    for place in range(len(pieces), 0, -1):
        if kind_of(pieces[place - 1].value) not in _UNMARKED:
            point = Piece(_POINT, pieces[place - 1].block)
            return message_of("user", [*pieces[:place], point, *pieces[place:]])
    return message
