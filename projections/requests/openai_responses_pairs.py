"""Calls and their outputs, in pairs over the whole input (O1, O2, O8)."""

from __future__ import annotations

from typing import Final

from onrecord.projections.report import Deed
from onrecord.projections.requests.openai_responses_draft import Draft, Piece, piece_of
from onrecord.projections.requests.openai_responses_items import (
    CALLS,
    OUTPUTS,
    caller_of,
    link_of,
)
from onrecord.projections.requests.openai_responses_words import as_words

_PROGRAM: Final = "program"
_SEARCH: Final = "tool_search_call"


def pair_outputs(draft: Draft) -> None:
    """Tell calls and outputs in words that lack the other half.

    "No tool output found for function call call_..." and "No tool call found for function call
    output with call_id call_...". A program may be in flight while only outputs of the calls that
    it made follow it.
    """
    alone = _unpaired(draft.pieces)
    if alone:
        draft.pieces = [
            kept
            for index, piece in enumerate(draft.pieces)
            if (kept := _told(draft, piece) if index in alone else piece) is not None
        ]
    if _PROGRAM in draft.types:
        _forget_callers(draft)


def _unpaired(pieces: list[Piece]) -> set[int]:
    """Return the places of the calls and outputs that lack the other half."""
    waiting: dict[tuple[str, str | None], int] = {}
    alone: set[int] = set()
    for index, piece in enumerate(pieces):
        kind = piece.kind
        if kind in OUTPUTS:
            before = waiting.pop((kind, link_of(piece.value)), None)
            alone |= set[int]() if before is None else {before}
            waiting[kind, link_of(piece.value)] = index
        elif kind in CALLS and waiting.pop((CALLS[kind], link_of(piece.value)), None) is None:
            alone.add(index)
    alone.update(waiting.values())
    return {index for index in alone if not _may_stand_alone(pieces, index)}


def _may_stand_alone(pieces: list[Piece], place: int) -> bool:
    """Whether a call may go without output: a program in flight, a search that the service ran.

    Recorded: such a search was taken without what it found.
    """
    piece = pieces[place]
    if piece.kind == _PROGRAM:
        return _is_in_flight(pieces, place)
    return piece.kind == _SEARCH and piece.value.get("execution") != "client"


def _is_in_flight(pieces: list[Piece], place: int) -> bool:
    """Whether nothing but the calls that a program made, and their outputs, follows it."""
    return all(
        piece.kind in CALLS or caller_of(piece.value) == link_of(pieces[place].value)
        for piece in pieces[place + 1 :]
    )


def _told(draft: Draft, piece: Piece) -> Piece | None:
    is_call = piece.kind in OUTPUTS
    why = "a call without output" if is_call else "an output without call"
    draft.break_up(piece.block, f"it holds {why}")
    told = as_words(piece)
    rule = "O1" if is_call else "O2"
    if piece.block.response is not None and piece.block.call is None:
        rule = "O8"
    deed: Deed = "translated" if told else "left out"
    draft.note(deed, rule, piece.block.version, f"{why} goes as words" if told else why)
    return told


def _forget_callers(draft: Draft) -> None:
    """Take the program out of calls and outputs that it made, where it does not go itself."""
    programs = {link_of(piece.value) for piece in draft.pieces if piece.kind == _PROGRAM}
    for index, piece in enumerate(draft.pieces):
        caller = caller_of(piece.value)
        if caller is not None and caller not in programs:
            draft.note("repaired", "O8", piece.block.version, "the caller of the call is gone")
            value = {key: held for key, held in piece.value.items() if key != "caller"}
            draft.pieces[index] = piece_of(value, piece.block)
