"""Compaction: the provider's own summary stands for all that came before it (R18)."""

from __future__ import annotations

from typing import Any

from onrecord.projections.requests.anthropic_draft import Draft, Message, Piece, message_of
from onrecord.projections.requests.request import Options
from onrecord.projections.responses import Responses


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
    before = sum(len(earlier.content) for earlier in draft.messages[:index]) + offset
    if before:
        why = f"the compaction stands for the {before} blocks before it"
        draft.note("left out", "R18", version, why)
    calls = {piece.value.get("id") for piece in message.pieces[:offset] if piece.type == "tool_use"}
    kept = message_of(message.role, message.pieces[offset:])
    after = draft.messages[index + 1 :]
    draft.messages = [kept, *(_without_results(draft, later, calls) for later in after)]


def _without_results(draft: Draft, message: Message, calls: set[Any]) -> Message:
    """Return the message without the results of calls that the compaction stands for (R2)."""
    if not calls:
        return message
    gone = [piece for piece in message.pieces if piece.value.get("tool_use_id") in calls]
    for piece in gone:
        draft.leave_out("R18", piece, "the compaction stands for its call")
    return message_of(message.role, (piece for piece in message.pieces if piece not in gone))


def _last(draft: Draft) -> tuple[int, int] | None:
    for index in range(len(draft.messages) - 1, -1, -1):
        pieces = draft.messages[index].pieces
        for offset in range(len(pieces) - 1, -1, -1):
            if _is_summary(pieces[offset]):
                return index, offset
    return None


def _leave_out_foreign(draft: Draft, responses: Responses, options: Options) -> None:
    def stays(piece: Piece) -> bool:
        block = piece.block
        if not _is_summary(piece) or block.response is None or options.account is None:
            return True
        sent = responses.of(block.response, block.asked).sent
        if sent is None or sent.account in (None, options.account):
            return True
        draft.leave_out("R18", piece, "the compaction was made for another account")
        return False

    draft.messages = [
        message_of(message.role, filter(stays, message.pieces)) for message in draft.messages
    ]


def _is_summary(piece: Piece) -> bool:
    return piece.type == "compaction" and bool(
        piece.value.get("content") or piece.value.get("encrypted_content")
    )
