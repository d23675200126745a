"""Requests to Anthropic's Messages API: each rule in turn, from a history to what is sent.

The rules R1 to R23 are those that the service was seen to enforce; docs/rendering.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hansard.domain.errors import NothingToSend
from hansard.projections.history import History, Turn
from hansard.projections.report import report_of
from hansard.projections.requests.anthropic_compaction import begin_at_compaction
from hansard.projections.requests.anthropic_draft import (
    SERVER_CALLS,
    THINKING,
    Draft,
    Message,
    Piece,
    is_server_result,
    joined,
)
from hansard.projections.requests.anthropic_endings import container_of, mend_endings
from hansard.projections.requests.anthropic_instructions import (
    spell_instructions,
    spell_tools,
)
from hansard.projections.requests.anthropic_marks import place_marks
from hansard.projections.requests.anthropic_order import drop_blank_text, place_notes
from hansard.projections.requests.anthropic_pairs import pair_server_tools
from hansard.projections.requests.anthropic_signed import check_signed
from hansard.projections.requests.anthropic_spelling import Speller
from hansard.projections.requests.request import Options, Request


def render(history: History, options: Options, blobs: Mapping[str, bytes]) -> Request:
    """Return the arguments `system`, `tools`, `messages` and `container`, those that there are.

    `blobs` holds the bytes of `needed_blobs`, by digest. Raises NothingToSend for a history without
    turns, CorruptRecord where a blob is missing.
    """
    draft = _draft(history, options, blobs)
    _obey(draft, history, options)
    if not draft.messages:
        raise NothingToSend("the conversation has no turn that can be sent: say something first")
    if options.cache:
        place_marks(draft)
    arguments: dict[str, Any] = {
        "system": draft.system,
        "tools": draft.tools,
        "messages": [
            {"role": message.role, "content": [piece.value for piece in message.pieces]}
            for message in draft.messages
        ],
        "container": container_of(history),
    }
    given = {name: value for name, value in arguments.items() if value is not None}
    return Request(given, options, report_of([*history.notes, *draft.notes]))


def _draft(history: History, options: Options, blobs: Mapping[str, bytes]) -> Draft:
    draft = Draft()
    speller = Speller(draft, blobs)
    draft.system = spell_instructions(draft, history.instructions, blobs)
    draft.tools = spell_tools(draft, history.tools, blobs)
    draft.messages = [_spelled(turn, speller, draft) for turn in history.turns]
    if history.left_out:
        why = f"the {history.left_out} events before stand outside of the window"
        draft.note("left out", "window", None, why)
    return draft


def _spelled(turn: Turn, speller: Speller, draft: Draft) -> Message:
    pieces = [Piece(value, block) for block in turn.blocks for value in speller.spell(block)]
    draft.types.update(piece.value.get("type") for piece in pieces)
    return Message(turn.role, pieces)


def _obey(draft: Draft, history: History, options: Options) -> None:
    """Apply the rules that concern more than one block, where there is such a block at all."""
    types = draft.types
    if any(message.role == "system" for message in draft.messages):
        place_notes(draft)
    if "compaction" in types:
        begin_at_compaction(draft, history.responses, options)
    drop_blank_text(draft)
    draft.messages = joined(draft.messages)
    if types & SERVER_CALLS or any(map(is_server_result, types)):
        pair_server_tools(draft)
        draft.messages = joined(draft.messages)
    mend_endings(draft, history.responses)
    if types & THINKING:
        check_signed(draft, history.responses, options)
    draft.messages = joined(draft.messages)
