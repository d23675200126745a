"""Calls of Anthropic's own tools and their results, in pairs over the whole history.

A result may come in a later message than its call: the turn was paused, or the caller's own tools
were called meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from onrecord.projections.requests.anthropic_containers import stopped_code
from onrecord.projections.requests.anthropic_draft import (
    SERVER_CALLS,
    Draft,
    Message,
    Piece,
    code_of,
    is_server_result,
    kind_of,
    message_of,
    text_of,
)

_ADVISOR = "advisor"


def pair_server_tools(draft: Draft) -> None:
    """Leave out calls and results of Anthropic's own tools that lack the other half.

    R2: "Each `..._tool_result` block must have a corresponding `server_tool_use` block before it."
    R3: "... was found without a corresponding ..._tool_result block"; accepted while every message
    after the call's holds only tool results, or is an answer with calls that its code made. R13: then
    the code needs its container. R14: an advisor's blocks need the advisor's tool.
    """
    pairs = _Pairs(draft)
    draft.messages = [
        message_of(message.role, filter(None, map(pairs.kept, message.pieces)))
        for message in draft.messages
    ]


class _Pairs:
    """Which calls and results of a draft stay, in the order in which they stand."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._whole = _answered(draft.messages)
        self._stopped = stopped_code(draft)
        self._advised = set[str | None]() if _has_advisor(draft) else _advised(draft.messages)
        self._seen: set[str | None] = set()
        self._called: set[str | None] = set()

    def kept(self, piece: Piece) -> Piece | None:
        """Return the piece as it goes, or None."""
        kind = piece.type
        if kind in SERVER_CALLS and not self._stays(piece):
            return None
        if is_server_result(kind) and not self._is_called(piece):
            return None
        return self._without_caller(piece) if "caller" in piece.value else piece

    def _stays(self, call: Piece) -> bool:
        call_id = text_of(call.value, "id")
        if call_id in self._advised:
            self._draft.leave_out("R14", call, "the advisor is not among the tools")
        elif call_id in self._seen:
            self._draft.leave_out("R15", call, "an earlier call has the same id")
        elif call_id not in self._whole:
            self._draft.leave_out("R3", call, "a call of the provider's own tool has no result")
        elif call_id in self._stopped:
            self._draft.leave_out("R13", call, "the container of the code in flight is gone")
        else:
            self._seen.add(call_id)
            self._called.add(call_id)
            return True
        return False

    def _is_called(self, result: Piece) -> bool:
        call_id = text_of(result.value, "tool_use_id")
        if call_id in self._called:
            self._called.discard(call_id)
            return True
        rule = "R14" if call_id in self._advised else "R2"
        self._draft.leave_out(rule, result, "a result of the provider's own tool has no call")
        return False

    def _without_caller(self, piece: Piece) -> Piece:
        """Return the piece without the code that made its call, if that does not go."""
        code = code_of(piece.value)
        if code is None or code in self._seen:
            return piece
        self._draft.note("repaired", "R3", piece.block.version, "the caller of the call is gone")
        return Piece({k: v for k, v in piece.value.items() if k != "caller"}, piece.block)


def _answered(messages: Sequence[Message]) -> set[str | None]:
    """Return the ids of the calls that have their result, or may still get it."""
    waiting: set[str | None] = set()
    answered: set[str | None] = set()
    for message in messages:
        if message.role != "assistant":
            if any(value.get("type") != "tool_result" for value in message.content):
                waiting.clear()
            continue
        running: set[str | None] = set()
        for value in message.content:
            kind = kind_of(value)
            if kind in SERVER_CALLS and (call_id := text_of(value, "id")) is not None:
                running.add(call_id)
                waiting.add(call_id)
            elif is_server_result(kind) and (call_id := text_of(value, "tool_use_id")) in waiting:
                answered.add(call_id)
            if "caller" in value:
                running.add(code_of(value))
        # Once the assistant spoke again without it, the service no longer takes the call; code
        # that goes on calling tools is still running.
        waiting &= running
    return answered | waiting


def _advised(messages: Sequence[Message]) -> set[str | None]:
    return {
        text_of(piece.value, "id")
        for message in messages
        for piece in message.pieces
        if piece.type == "server_tool_use" and piece.value.get("name") == _ADVISOR
    }


def _has_advisor(draft: Draft) -> bool:
    return any(str(tool.get("type", "")).startswith(_ADVISOR) for tool in draft.tools or ())
