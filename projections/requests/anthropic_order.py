"""What an Anthropic message may hold, and in which order its neighbours stand."""

from __future__ import annotations

from collections.abc import Iterable

from hansard.domain.content import Role
from hansard.projections.requests.anthropic_draft import Draft, Message, Piece, is_blank, message_of


def place_notes(draft: Draft) -> None:
    """Put the operator's notes where they may stand: after the user's turn, before the answer.

    R21: a message of role `system` is accepted only immediately before an assistant's turn or at
    the end, and must follow a user's.
    """
    placed: list[Message] = []
    notes: list[Message] = []
    for message in draft.messages:
        if message.role == "assistant":
            _settle(draft, placed, notes)
            placed.append(message)
        elif message.role == "system":
            notes.append(message_of("system", _texts(draft, message.pieces)))
        else:
            _move(draft, notes)
            placed.append(message)
    _settle(draft, placed, notes)
    draft.messages = placed


def _texts(draft: Draft, pieces: list[Piece]) -> list[Piece]:
    for piece in pieces:
        if piece.type != "text":
            draft.leave_out("R21", piece, "a note of the operator's may only hold text")
    return [piece for piece in pieces if piece.type == "text"]


def _move(draft: Draft, notes: list[Message]) -> None:
    for piece in (piece for message in notes for piece in message.pieces):
        why = "the operator's note stands after the user's turn"
        draft.note("moved", "R21", piece.block.version, why)


def _settle(draft: Draft, placed: list[Message], notes: list[Message]) -> None:
    """Place the notes at the end of what is placed."""
    follows_user = bool(placed) and placed[-1].role == "user"
    if not follows_user:
        for piece in (piece for message in notes for piece in message.pieces):
            why = "the operator's note follows no user's turn, so it goes as one"
            draft.note("translated", "R21", piece.block.version, why)
    role: Role = "system" if follows_user else "user"
    placed.extend(message._replace(role=role) for message in notes)
    notes.clear()


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


def _source(piece: Piece) -> str | int:
    return piece.block.response or piece.block.version
