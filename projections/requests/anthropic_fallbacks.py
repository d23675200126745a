"""Fallbacks: where one model declined amid its answer and another one went on with it (R19).

What the first had said may be read on; what it thought and called may not. The service's guide
("Refusals and fallback", "Continuing the conversation") says of each block what is to be kept.
"""

from __future__ import annotations

from typing import Final

from onrecord.projections.requests.anthropic_draft import (
    SERVER_CALLS,
    THINKING,
    Draft,
    Message,
    Piece,
    is_server_result,
    message_of,
    text_of,
)

FALLBACK: Final = "fallback"
_DECLINED: Final = THINKING | {"connector_text", "tool_use"}


def leave_out_declined(draft: Draft) -> None:
    """Leave out what stands before a turn's last fallback and is void since.

    That is thinking, narration, calls of the caller's tools with their results, and calls of the
    service's own that have no result.
    """
    ended = {
        text_of(piece.value, "tool_use_id")
        for message in draft.messages
        for piece in message.pieces
        if is_server_result(piece.type)
    }
    void: set[str | None] = set()
    draft.messages = [
        message_of(message.role, _kept(draft, message, ended, void)) for message in draft.messages
    ]


def _kept(
    draft: Draft, message: Message, ended: set[str | None], void: set[str | None]
) -> list[Piece]:
    """Return the pieces of the next message that stay; `void` takes in the calls that do not."""
    pieces = message.pieces
    last = max((place for place, p in enumerate(pieces) if p.type == FALLBACK), default=-1)
    kept: list[Piece] = []
    for place, piece in enumerate(pieces):
        call_id = text_of(piece.value, "id")
        if piece.type == "tool_result" and text_of(piece.value, "tool_use_id") in void:
            draft.leave_out("R19", piece, "its call was declined amid the answer")
        elif place < last and _is_void(piece, ended):
            void |= {call_id} if piece.type == "tool_use" else set()
            draft.leave_out("R19", piece, "its model declined to go on: another one took over")
        else:
            kept.append(piece)
    return kept


def _is_void(piece: Piece, ended: set[str | None]) -> bool:
    if piece.type in SERVER_CALLS:
        return text_of(piece.value, "id") not in ended
    return piece.type in _DECLINED
