"""Signed blocks: thinking goes back only behind the prefix it was made under.

R8, R9 (platform.claude.com, "Preserved thinking" and "Prefix checks"): a block is valid only if
system, tools and all messages before it are what they were, for the same model and account, and no
thinking block between others was left out. "Invalid `signature` in `thinking` block. The block is
bound to a different conversation."
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from onrecord.domain.prefix import Prefix
from onrecord.projections.history import Block
from onrecord.projections.requests.anthropic_draft import (
    API,
    THINKING,
    Draft,
    Message,
    Piece,
    message_of,
)
from onrecord.projections.requests.request import Options
from onrecord.projections.responses import Response, Responses


def check_signed(draft: Draft, responses: Responses, options: Options) -> None:
    """Leave out the thinking that would be refused."""
    checked = _Signed(draft, responses, options)
    draft.messages = [message_of(message.role, checked.kept(message)) for message in draft.messages]
    if checked.is_loop_bare():
        why = "the tool loop goes on without its thinking: older models want thinking disabled"
        draft.note("noted", "R6", None, why)


class _Signed:
    """The prefix of what is about to be sent, as far as the messages were looked at."""

    def __init__(self, draft: Draft, responses: Responses, options: Options) -> None:
        self._draft = draft
        self._responses = responses
        self._options = options
        self._readers = responses.readers(API, options.model)
        self._prefix = Prefix(draft.system, draft.tools)
        # Whether thinking was left out before: then an unknown prefix is not this one.
        self._is_broken = False
        self._place = -1
        self._bare = -1

    def kept(self, message: Message) -> Iterator[Piece]:
        """Yield the pieces of the next message that go."""
        self._place += 1
        if message.role != "assistant":
            self._prefix.add(message.role, message.content)
            yield from message.pieces
            return
        for _, group in groupby(message.pieces, lambda piece: piece.block.response):
            pieces = list(group)
            if any(piece.type in THINKING for piece in pieces):
                pieces = self._checked(pieces)
            self._prefix.add("assistant", [piece.value for piece in pieces])
            yield from pieces

    def is_loop_bare(self) -> bool:
        """Whether thinking was left out of the turn that a tool loop is in."""
        return self._bare == self._place - 1 >= 0 and any(
            block.get("type") == "tool_result" for block in self._draft.messages[-1].content
        )

    def _checked(self, pieces: list[Piece]) -> list[Piece]:
        objection = self._objection(pieces[0].block)
        if objection is None:
            return pieces
        rule, why = objection
        self._is_broken = True
        self._bare = self._place
        for piece in pieces:
            if piece.type in THINKING:
                self._draft.leave_out(rule, piece, why)
        return [piece for piece in pieces if piece.type not in THINKING]

    def _objection(self, block: Block) -> tuple[str, str] | None:
        """Return the rule by which a response's thinking stays away, and why; None: it goes."""
        if self._options.thinking == "drop":
            return "thinking", "thinking is dropped, as asked"
        if block.response is None:
            return "R9", "the thinking is of no recorded response"
        response = self._responses.of(block.response, block.asked)
        if self._readers.isdisjoint(models := response.models) and models and self._readers:
            return "R9", "the thinking is another model's"
        if _is_anothers(response, self._options):
            return "R9", "the thinking was made for another account"
        bound = response.sent.prefix if response.sent else None
        if bound is None:
            why = "thinking before it was left out"
            return ("R8", why) if self._is_broken else None
        if bound != self._prefix.digest():
            return "R8", "what stands before it is not what it was made under"
        return None


def _is_anothers(response: Response, options: Options) -> bool:
    account = response.sent.account if response.sent else None
    return None not in (options.account, account) and options.account != account
