"""What a history with compactions, fallbacks or signed blocks needs so that Anthropic takes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import groupby
from typing import Any, ClassVar, Final

from onrecord.domain.request_template import Prefix
from onrecord.projections.apis.anthropic.draft import (
    API,
    SERVER_CALLS,
    THINKING,
    AnthropicDraft,
    Message,
    Piece,
    is_server_result,
    message_of,
    text_member,
)
from onrecord.projections.apis.draft import Draft
from onrecord.projections.history.history import Block

# Compaction: the provider's own summary stands for all that came before it (R18).


def begin_at_compaction(draft: AnthropicDraft) -> None:
    """Begin with the last compaction that has content; leave out what precedes it.

    The service takes one such block, and only as the first of a conversation
    (`compaction_block_ambiguous`, `compaction_block_misplaced`); what precedes it would not be
    read. A compaction without content failed: it changes nothing and stays where it is. One that
    another account was given cannot go: then all that precedes it does.
    """
    _leave_out_foreign(draft)
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
    rest = message_of(message.role, message.pieces[offset:])
    after = draft.messages[index + 1 :]
    draft.messages = [rest, *(_without_results(draft, later, calls) for later in after)]


def _without_results(draft: AnthropicDraft, message: Message, calls: set[Any]) -> Message:
    """Return the message without the results of calls that the compaction stands for (R2)."""
    if not calls:
        return message
    gone = [piece for piece in message.pieces if piece.value.get("tool_use_id") in calls]
    for piece in gone:
        draft.leave_out("R18", piece.block, "the compaction stands for its call")
    return message_of(message.role, (piece for piece in message.pieces if piece not in gone))


def _last(draft: AnthropicDraft) -> tuple[int, int] | None:
    for index in range(len(draft.messages) - 1, -1, -1):
        pieces = draft.messages[index].pieces
        for offset in range(len(pieces) - 1, -1, -1):
            if _is_summary(pieces[offset]):
                return index, offset
    return None


def _leave_out_foreign(draft: AnthropicDraft) -> None:
    responses, account = draft.history.responses, draft.options.account

    def stays(piece: Piece) -> bool:
        block = piece.block
        # What it is comes first: whose it is takes the reading of a whole request.
        if not _is_summary(piece):
            return True
        if not responses.is_of_another(block.response, block.asked, account):
            return True
        draft.leave_out("R18", block, "the compaction was made for another account")
        return False

    draft.messages = [
        message_of(message.role, filter(stays, message.pieces)) for message in draft.messages
    ]


def _is_summary(piece: Piece) -> bool:
    return piece.type == "compaction" and bool(
        piece.value.get("content") or piece.value.get("encrypted_content")
    )


# Fallbacks: where one model declined amid its answer and another one went on with it (R19).
#
# What the first had said may be read on; what it thought and called may not. The service's guide
# ("Refusals and fallback", "Continuing the conversation") says of each block what is to be kept.

FALLBACK: Final = "fallback"
_DECLINED: Final = THINKING | {"connector_text", "tool_use"}


def leave_out_declined(draft: AnthropicDraft) -> None:
    """Leave out what stands before a turn's last fallback and is void since.

    That is thinking, narration, calls of the caller's tools with their results, and calls of the
    service's own that have no result.
    """
    ended = {
        text_member(piece.value, "tool_use_id")
        for message in draft.messages
        for piece in message.pieces
        if is_server_result(piece.type)
    }
    void: set[str | None] = set()
    draft.messages = [
        message_of(message.role, _kept(draft, message, ended, void)) for message in draft.messages
    ]


def _kept(
    draft: AnthropicDraft, message: Message, ended: set[str | None], void: set[str | None]
) -> list[Piece]:
    """Return the pieces of the next message that stay; `void` takes in the calls that do not."""
    pieces = message.pieces
    last = max((place for place, p in enumerate(pieces) if p.type == FALLBACK), default=-1)
    rest: list[Piece] = []
    for place, piece in enumerate(pieces):
        call_id = text_member(piece.value, "id")
        if piece.type == "tool_result" and text_member(piece.value, "tool_use_id") in void:
            draft.leave_out("R19", piece.block, "its call was declined amid the answer")
        elif place < last and _is_void(piece, ended):
            void |= {call_id} if piece.type == "tool_use" else set()
            draft.leave_out(
                "R19", piece.block, "its model declined to go on: another one took over"
            )
        else:
            rest.append(piece)
    return rest


def _is_void(piece: Piece, ended: set[str | None]) -> bool:
    if piece.type in SERVER_CALLS:
        return text_member(piece.value, "id") not in ended
    return piece.type in _DECLINED


# Signed blocks: thinking goes back only behind the prefix it was made under.
#
# R8, R9 (platform.claude.com, "Preserved thinking" and "Prefix checks"): a block is valid only if
# system, tools and all messages before it are what they were, for the same model and account, and
# no thinking block between others was left out. "Invalid `signature` in `thinking` block. The
# block is bound to a different conversation."


def check_signed(draft: AnthropicDraft) -> None:
    """Leave out the thinking that would be refused."""
    checked = _Thinking(draft)
    draft.messages = [message_of(message.role, checked.kept(message)) for message in draft.messages]
    if checked.is_loop_bare():
        why = "the tool loop goes on without its thinking: older models want thinking disabled"
        draft.note("noted", "R6", None, why)


class SignedPrefix(ABC):
    """The prefix of what is about to be sent, as far as the messages were looked at.

    Claude checks what it signed alike behind each API that serves it.
    """

    NAME: ClassVar[str]
    """What is signed, as the API calls it."""
    RULES: ClassVar[tuple[str, str]]
    """The rules by which it stays away: it is not the reader's own, or not behind its prefix."""

    def __init__(self, draft: Draft, prefix: Prefix) -> None:
        """Begin before the first message."""
        self.prefix = prefix
        # Whether something signed was left out before: then an unknown prefix is not this one.
        self.is_broken = False
        self._options = draft.options
        self._responses = draft.history.responses

    @abstractmethod
    def is_anothers(self, models: frozenset[str]) -> bool:
        """Whether the model of a response, by its names, is not the one that reads the request."""

    def objection(self, block: Block) -> tuple[str, str] | None:
        """Return the rule by which what a response signed stays away, and why; None: it goes."""
        name, (of_another, behind_another) = self.NAME, self.RULES
        if self._options.thinking == "drop":
            return "thinking", f"{name} is dropped, as asked"
        if block.response is None:
            return of_another, f"the {name} is of no recorded response"
        response = self._responses.of(block.response, block.asked)
        if self.is_anothers(response.models):
            return of_another, f"the {name} is another model's"
        if self._responses.is_of_another(block.response, block.asked, self._options.account):
            return of_another, f"the {name} was made for another account"
        bound = response.sent.prefix if response.sent else None
        if bound is None:
            why = f"{name} before it was left out"
            return (behind_another, why) if self.is_broken else None
        if bound != self.prefix.digest():
            return behind_another, "what stands before it is not what it was made under"
        return None


class _Thinking(SignedPrefix):
    """Which thinking goes, in the order of the messages."""

    NAME = "thinking"
    RULES = ("R9", "R8")

    def __init__(self, draft: AnthropicDraft) -> None:
        super().__init__(draft, Prefix(draft.system, draft.tools))
        self._draft = draft
        self._readers = draft.history.responses.readers(API, draft.options.model)
        self._place = -1
        self._bare = -1

    def is_anothers(self, models: frozenset[str]) -> bool:
        """Whether both are known, and share no name."""
        return bool(models and self._readers) and self._readers.isdisjoint(models)

    def kept(self, message: Message) -> Iterator[Piece]:
        """Yield the pieces of the next message that go."""
        self._place += 1
        if message.role != "assistant":
            self.prefix.add(message.role, message.content)
            yield from message.pieces
            return
        for _, group in groupby(message.pieces, lambda piece: piece.block.response):
            pieces = list(group)
            if any(piece.type in THINKING for piece in pieces):
                pieces = self._checked(pieces)
            self.prefix.add("assistant", [piece.value for piece in pieces])
            yield from pieces

    def is_loop_bare(self) -> bool:
        """Whether thinking was left out of the turn that a tool loop is in."""
        return self._bare == self._place - 1 >= 0 and any(
            block.get("type") == "tool_result" for block in self._draft.messages[-1].content
        )

    def _checked(self, pieces: list[Piece]) -> list[Piece]:
        objection = self.objection(pieces[0].block)
        if objection is None:
            return pieces
        rule, why = objection
        self.is_broken = True
        self._bare = self._place
        for piece in pieces:
            if piece.type in THINKING:
                self._draft.leave_out(rule, piece.block, why)
        return [piece for piece in pieces if piece.type not in THINKING]
