"""Compaction: the provider's own summary stands for all that came before it (R18)."""

from __future__ import annotations

from hansard.projections.requests.anthropic_draft import Draft, Message, Piece
from hansard.projections.requests.request import Options
from hansard.projections.responses import Responses


def begin_at_compaction(draft: Draft, responses: Responses, options: Options) -> None:
    """Begin with the last compaction that has content; leave out what precedes it.

    The service takes one such block, and only as the first of a conversation
    (`compaction_block_ambiguous`, `compaction_block_misplaced`); what precedes it would not be
    read. A compaction without content failed: it changes nothing and stays where it is. One that
    another account was given cannot go: then all that precedes it does.
    """
    _leave_out_foreign(draft, responses, options)
    place = _last(draft)
    if place is None:
        return
    index, offset = place
    message = draft.messages[index]
    version = message.pieces[offset].block.version
    before = sum(len(earlier.pieces) for earlier in draft.messages[:index]) + offset
    if before:
        why = f"the compaction stands for the {before} blocks before it"
        draft.note("left out", "R18", version, why)
    kept = Message(message.role, message.pieces[offset:])
    draft.messages = [kept, *draft.messages[index + 1 :]]


def _last(draft: Draft) -> tuple[int, int] | None:
    for index in range(len(draft.messages) - 1, -1, -1):
        pieces = draft.messages[index].pieces
        for offset in range(len(pieces) - 1, -1, -1):
            if _is_summary(pieces[offset]):
                return index, offset
    return None


def _leave_out_foreign(draft: Draft, responses: Responses, options: Options) -> None:
    for message in draft.messages:
        for piece in [piece for piece in message.pieces if _is_summary(piece)]:
            block = piece.block
            sent = responses.of(block.response, block.asked).sent if block.response else None
            account = sent.account if sent else None
            if options.account and account and options.account != account:
                message.pieces.remove(piece)
                draft.leave_out("R18", piece, "the compaction was made for another account")


def _is_summary(piece: Piece) -> bool:
    return piece.type == "compaction" and bool(
        piece.value.get("content") or piece.value.get("encrypted_content")
    )
