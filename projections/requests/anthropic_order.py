"""What an Anthropic message may hold, and in which order its neighbours stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from onrecord.projections.requests.anthropic_draft import (
    Draft,
    Message,
    Piece,
    is_blank,
    message_of,
)
from onrecord.projections.responses import Place

_CHANGES: Final = frozenset({"tool_addition", "tool_removal"})
"""Directives of the operator's that stand in no message but one of role `system`."""

_NOTED: Final = _CHANGES | {"text"}


def place_notes(draft: Draft) -> None:
    """Put the operator's notes where they may stand: after the user's turn, before the answer.

    R21: a message of role `system` is accepted only immediately before an assistant's turn or at
    the end, and must follow a user's. It holds text and changes of tools (beta, "mid-conversation
    tool changes"). Where no user's turn precedes, text goes as one; a change of tools cannot.
    """
    placed: list[Message] = []
    notes: list[Piece] = []
    for message in draft.messages:
        if message.role == "assistant":
            _settle(draft, placed, notes)
            notes = []
            placed.append(message)
        elif message.role == "system":
            notes += _notes(draft, message.pieces)
        else:
            for piece in notes:
                why = "the operator's note stands after the user's turn"
                draft.note("moved", "R21", piece.block.version, why)
            placed.append(message)
    _settle(draft, placed, notes)
    draft.messages = placed


def _notes(draft: Draft, pieces: list[Piece]) -> list[Piece]:
    for piece in pieces:
        if piece.type not in _NOTED:
            why = "a note of the operator's may only hold text and changes of tools"
            draft.leave_out("R21", piece, why)
    return [piece for piece in pieces if piece.type in _NOTED]


def _settle(draft: Draft, placed: list[Message], notes: list[Piece]) -> None:
    """Place notes at the end of what is placed."""
    if not notes:
        return
    if placed and placed[-1].role == "user":
        placed.append(message_of("system", notes))
        return
    texts = [piece for piece in notes if piece.type == "text"]
    changes = [piece for piece in notes if piece.type in _CHANGES]
    for piece in texts:
        why = "the operator's note follows no user's turn, so it goes as one"
        draft.note("translated", "R21", piece.block.version, why)
    if texts:
        placed += [message_of("user", texts), message_of("system", changes)]
        return
    for piece in changes:
        draft.leave_out("R21", piece, "a change of tools stands only after a user's turn")


def drop_blank_text(draft: Draft) -> None:
    """Leave out blank text (R10).

    "messages: text content blocks must be non-empty" for an empty one; "messages: text content
    blocks must contain non-whitespace text" for a blank one, unless another text of the same
    response or message is not blank.
    """
    draft.messages = [
        message_of(message.role, _worded(draft, message.pieces)) for message in draft.messages
    ]


def _worded(draft: Draft, pieces: list[Piece]) -> Iterable[Piece]:
    worded = {
        _source(piece) for piece in pieces if piece.type == "text" and not is_blank(piece.value)
    }
    for piece in pieces:
        if is_blank(piece.value) and not (piece.value["text"] and _source(piece) in worded):
            draft.leave_out("R10", piece, "blank text")
        else:
            yield piece


def _source(piece: Piece) -> str | Place:
    return piece.block.response or piece.block.place
