"""How a request to Bedrock ends where the assistant has the last word (B14)."""

from __future__ import annotations

from typing import Final

from onrecord.projections.neutral_bedrock import kind_of
from onrecord.projections.requests.anthropic_draft import Message, Piece, message_of
from onrecord.projections.requests.bedrock_converse_draft import Draft

_NEVER: Final = 1 << 62


def mended(draft: Draft, messages: list[Message]) -> list[Message]:
    """Return the messages, those of the assistant that end a request, or ended one, mended.

    "messages: final assistant content cannot end with trailing whitespace"; nor may its last block
    be reasoning.
    """
    may_be_mixed = draft.history.has_prefills or draft.has_gaps
    if not may_be_mixed and messages[-1].role != "assistant":
        return messages
    kept = list(messages)
    asked_after = _NEVER
    for index in range(len(kept) - 1, -1, -1):
        blocks = kept[index].blocks
        asked = blocks[0].asked
        if kept[index].role == "assistant":
            if asked_after == _NEVER:
                why = (
                    "the assistant has the last word: newer models refuse that; say something first"
                )
                draft.note("noted", "B14", blocks[-1].version, why)
            kept[index] = _mended(draft, kept[index], asked_after)
        asked_after = asked
    return kept


def _mended(draft: Draft, message: Message, asked_after: int) -> Message:
    """Return a message each part of which, if a request ended with it, ends with words."""
    pieces: list[Piece] = []
    for piece in message.pieces:
        if pieces and pieces[-1].block.asked != piece.block.asked:
            pieces = _as_prefill(draft, pieces)
        pieces.append(piece)
    if pieces and asked_after > pieces[-1].block.asked:
        pieces = _as_prefill(draft, pieces)
    return message_of("assistant", pieces)


def _as_prefill(draft: Draft, pieces: list[Piece]) -> list[Piece]:
    kept = list(pieces)
    while kept and (ending := _without_space(kept[-1])) is not kept[-1]:
        version = kept.pop().block.version
        if ending is not None:
            draft.note("repaired", "B14", version, "whitespace at the end of the last text")
            kept.append(ending)
            break
        draft.note("left out", "B14", version, "nothing but text may come last")
    return kept


def _without_space(piece: Piece) -> Piece | None:
    """Return the piece as it may come last; None where it may not."""
    if kind_of(piece.value) == "reasoningContent":
        return None
    text = piece.value.get("text")
    if not isinstance(text, str) or text == text.rstrip():
        return piece
    return Piece({**piece.value, "text": text.rstrip()}, piece.block)
