"""Calls and their outputs, in pairs over the whole input (O1, O2, O8)."""

from __future__ import annotations

from typing import Any, Final

from hansard.projections.report import Deed
from hansard.projections.requests.openai_responses_draft import Draft, Piece, piece_of
from hansard.projections.requests.openai_responses_items import (
    CALLS,
    OUTPUTS,
    caller_of,
    link_of,
)
from hansard.projections.requests.openai_responses_words import as_words

_PROGRAM: Final = "program"


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
    waiting: dict[tuple[str, Any], int] = {}
    alone: set[int] = set()
    for index, piece in enumerate(pieces):
        kind = piece.kind
        if _is_hosted_search(piece):
            continue
        if kind in OUTPUTS:
            key = kind, link_of(piece.value)
            if key in waiting:
                alone.add(waiting[key])
            waiting[key] = index
        elif kind in CALLS and waiting.pop((CALLS[kind], link_of(piece.value)), None) is None:
            alone.add(index)
    running = (index for (kind, _), index in waiting.items() if kind == _PROGRAM)
    in_flight = {index for index in running if _is_in_flight(pieces, index)}
    return alone | (set(waiting.values()) - in_flight)


def _is_hosted_search(piece: Piece) -> bool:
    """Whether an item is of a search for tools that the service ran: either half goes alone."""
    is_search = piece.kind in ("tool_search_call", "tool_search_output")
    return is_search and piece.value.get("execution") != "client"


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
