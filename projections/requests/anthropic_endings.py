"""How a request to Anthropic ends: with the user's turn, with one to be gone on with, or else."""

from __future__ import annotations

from typing import Final

from onrecord.projections.history import History
from onrecord.projections.requests.anthropic_draft import (
    SERVER_CALLS,
    THINKING,
    Draft,
    Piece,
    is_server_result,
    message_of,
)
from onrecord.projections.responses import Responses

_NEVER: Final = 1 << 62


def mend_endings(draft: Draft, history: History) -> None:
    """Mend assistant's turns that end a request, or that ended one (R11).

    "messages: final assistant content cannot end with trailing whitespace"; nor may its last block
    be thinking. A turn that the provider paused goes back as it is (R4).
    """
    messages, responses = draft.messages, history.responses
    # Without a prefill, and with no message gone, only the last one can be an ending.
    is_mixed = history.has_prefills or not draft.types.isdisjoint(("blank", "empty"))
    first = 0 if is_mixed else max(0, len(messages) - 1)
    # How many requests had been sent when the next message began.
    asked_after = _NEVER
    for index in range(len(messages) - 1, first - 1, -1):
        blocks = messages[index].blocks
        asked = blocks[0].asked
        if messages[index].role == "assistant":
            if asked != blocks[-1].asked:
                pieces = _mended(draft, messages[index].pieces, responses)
                messages[index] = message_of("assistant", pieces)
            if asked_after > blocks[-1].asked:
                _end(draft, index, responses, is_last=asked_after == _NEVER)
        asked_after = asked


def _end(draft: Draft, index: int, responses: Responses, *, is_last: bool) -> None:
    """Mend a turn after which a request was sent, or will be."""
    message = draft.messages[index]
    if is_last and not _goes_on(message.pieces, responses):
        why = "the assistant has the last word: newer models refuse that; say something first"
        draft.note("noted", "R11", message.blocks[-1].version, why)
    pieces = _as_prefill(draft, message.pieces, responses)
    draft.messages[index] = message_of("assistant", pieces)


def _mended(draft: Draft, pieces: list[Piece], responses: Responses) -> list[Piece]:
    """Return a turn in whose midst requests were sent."""
    mended: list[Piece] = []
    for piece in pieces:
        if mended and mended[-1].block.asked != piece.block.asked:
            mended = _as_prefill(draft, mended, responses)
        mended.append(piece)
    return mended


def _as_prefill(draft: Draft, pieces: list[Piece], responses: Responses) -> list[Piece]:
    """Return pieces that end with words, if a request ended with them."""
    if _goes_on(pieces, responses):
        return pieces
    kept = list(pieces)
    while kept and (ending := _without_space(kept[-1])) is not kept[-1]:
        version = kept.pop().block.version
        if ending is not None:
            draft.note("repaired", "R11", version, "whitespace at the end of the last text")
            kept.append(ending)
            break
        draft.note("left out", "R11", version, "nothing but text may come last")
    return kept


def _without_space(piece: Piece) -> Piece | None:
    """Return the piece as it may come last; None where it may not."""
    if piece.type in THINKING:
        return None
    text = piece.value.get("text")
    if piece.type != "text" or not isinstance(text, str) or text == text.rstrip():
        return piece
    stripped = text.rstrip()
    return Piece({**piece.value, "text": stripped}, piece.block) if stripped else None


def _goes_on(pieces: list[Piece], responses: Responses) -> bool:
    """Whether the provider itself goes on with a turn that ends so.

    It pauses amid its own tools only: of a turn that holds none of them any more, it would not know.
    """
    if not pieces:
        return False
    if pieces[-1].type in SERVER_CALLS or pieces[-1].type == "compaction":
        return True
    block = pieces[-1].block
    if block.response is None or not responses.of(block.response, block.asked).is_paused:
        return False
    return any(piece.type in SERVER_CALLS or is_server_result(piece.type) for piece in pieces)
