"""Compaction: the provider's own summary stands for all that came before it (O10)."""

from __future__ import annotations

from typing import Final

from onrecord.projections.requests.openai_responses_draft import Draft, Piece
from onrecord.projections.requests.request import Options
from onrecord.projections.responses import Responses

_WHOLE: Final = "response.compaction"
"""What a response is that was asked for a compaction: all of its items are to be kept."""


def begin_at_compaction(draft: Draft, responses: Responses, options: Options) -> None:
    """Begin with the last compaction, and with what was returned beside it by `/responses/compact`.

    It is encrypted for the account it was made for: for another one it is left out, with what was
    returned beside it, and all that it stands for goes.
    """
    _leave_out_foreign(draft, responses, options)
    places = [place for place, piece in enumerate(draft.pieces) if _is_summary(piece)]
    if not places:
        return
    begin = last = places[-1]
    response = draft.pieces[last].block.response
    while begin and response is not None and draft.pieces[begin - 1].block.response == response:
        begin -= 1
    if not _is_whole(draft.pieces[last], responses):
        begin = last
    if begin:
        why = f"the compaction stands for the {begin} items before it"
        draft.note("left out", "O10", draft.pieces[last].block.version, why)
        draft.pieces = draft.pieces[begin:]


def _leave_out_foreign(draft: Draft, responses: Responses, options: Options) -> None:
    if options.account is None:
        return
    foreign = {
        piece.block.response: _is_whole(piece, responses)
        for piece in draft.pieces
        if _is_summary(piece) and _account_of(piece, responses) not in (None, options.account)
    }
    kept: list[Piece] = []
    for piece in draft.pieces:
        if foreign.get(piece.block.response) or (
            piece.block.response in foreign and _is_summary(piece)
        ):
            why = "the compaction was made for another account"
            draft.note("left out", "O10", piece.block.version, why)
        else:
            kept.append(piece)
    draft.pieces = kept


def _account_of(piece: Piece, responses: Responses) -> str | None:
    block = piece.block
    sent = responses.of(block.response, block.asked).sent if block.response else None
    return sent.account if sent else None


def _is_whole(piece: Piece, responses: Responses) -> bool:
    """Whether a compaction's response holds nothing but what is to be gone on with."""
    block = piece.block
    closing = responses.of(block.response, block.asked).closing if block.response else None
    return closing is not None and closing.envelope.get("object") == _WHOLE


def _is_summary(piece: Piece) -> bool:
    return piece.kind == "compaction" and bool(piece.value.get("encrypted_content"))
