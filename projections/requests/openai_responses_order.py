"""The order in which DeepSeek's own `/responses` takes an answer's items (O17).

"No tool output found for tool call call-a." is what it says where words stand after a call and
before its output; recorded, it takes them where they stand before all calls of the answer.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

from onrecord.projections.history import History
from onrecord.projections.neutral_openai_responses import API
from onrecord.projections.requests.openai_chat_models import family_of
from onrecord.projections.requests.openai_responses_draft import Draft, Piece
from onrecord.projections.requests.openai_responses_items import CALLS, OUTPUTS
from onrecord.projections.requests.request import Options

_CALLS_LAST: Final = frozenset({"deepseek"})
"""Families of models whose server wants calls right before their outputs."""


def put_calls_last(draft: Draft, history: History, options: Options) -> None:
    """Put what an answer says beside its calls before them, where its reader wants that."""
    if family_of(options.model or history.responses.last_model(API)) not in _CALLS_LAST:
        return
    ordered: list[Piece] = []
    for is_said, group in groupby(draft.pieces, _is_said):
        pieces = list(group)
        ordered += _calls_last(draft, pieces) if is_said else pieces
    draft.pieces = ordered


def _calls_last(draft: Draft, pieces: list[Piece]) -> list[Piece]:
    first = next((place for place, piece in enumerate(pieces) if piece.kind in OUTPUTS), None)
    if first is None:
        return pieces
    before, after = pieces[:first], pieces[first:]
    for piece in after:
        if piece.kind not in OUTPUTS:
            why = "words between calls go before them: the service would miss the outputs"
            draft.note("moved", "O17", piece.block.version, why)
    said = [piece for piece in after if piece.kind not in OUTPUTS]
    return [*before, *said, *(piece for piece in after if piece.kind in OUTPUTS)]


def _is_said(piece: Piece) -> bool:
    """Whether an item is of an answer."""
    if piece.kind == "message":
        return piece.value.get("role") == "assistant"
    return piece.kind not in CALLS
