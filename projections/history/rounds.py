"""Rounds: how blocks become turns, and which result belongs to which call.

A round is an assistant's turn, the results of its calls, and what the user says after them. It is
open until a request is sent or the assistant speaks again; then each call has its result for good.

A response that broke off keeps its finished blocks and the text of an unfinished one. One that was
refused, and one that came again for the same request, is no part of the history.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from onrecord.domain.content import Role
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history.history import Block, Mark, Missing, Note, Turn
from onrecord.projections.history.responses import Place


class Rounds:
    """The turns so far, and the round that is open."""

    def __init__(self, missing: Missing = "cancel") -> None:
        """Begin before the first turn; `missing` says what becomes of calls without a result.

        `awaits_pause` says whether it may matter that a response is paused; `torn` is where calls
        were left out of responses of which the rest stays.
        """
        self.awaits_pause = False
        self._drops = missing == "drop"
        self.notes: list[Note] = []
        self.torn: set[Place] = set()
        self.has_prefills = False
        self._turns: list[Turn] = []
        self._speaker: Role | None = None
        # The assistant's turn, the calls of it, and by call those results that are in time.
        self._assistant: list[Block] = []
        self._calls: list[Block] = []
        self._answers: dict[int | None, Block] = {}
        # The calls that nobody waits for: what was promoted since goes on without their results.
        self._forgone: set[int | None] = set()
        # The results as they were sent, and the rest of the user's turn.
        self._results: list[Block] = []
        self._user_blocks: list[Block] = []
        self._has_notes = False
        # What the user says while a request is out: the model answers without having seen it.
        self._unseen: list[Block] = []
        self._is_out = False
        # Each call by its id, the ids that have a result, the responses to be gone on with.
        self._known: dict[str, Block] = {}
        self._answered: set[str] = set()
        self._paused: set[str | None] = set()
        # Documents that providers' tools made, each with its response: they come after all of it.
        self._made: list[tuple[str | None, Block]] = []

    def copy(self) -> Rounds:
        """Return rounds of which the turns may be asked; they share what that does not change."""
        twin = Rounds.__new__(Rounds)
        vars(twin).update(vars(self))
        twin.notes, twin.torn = [*self.notes], {*self.torn}
        twin._turns, twin._assistant = [*self._turns], [*self._assistant]
        twin._calls, twin._answers = [*self._calls], {**self._answers}
        twin._results, twin._user_blocks = [*self._results], [*self._user_blocks]
        twin._unseen, twin._made = [*self._unseen], [*self._made]
        return twin

    @property
    def is_settled(self) -> bool:
        """Whether all that was asked has its answer, and nothing was said since the last one."""
        is_open = self._is_out or self._calls or self._answers or self._results
        return not (is_open or self._user_blocks or self._unseen or self._made)

    def begin_at(self, version: int) -> bool:
        """Go on as if nothing had been said before the prompt of a version, with which all was settled.

        False where it may not come to the same; then this is as it was.
        """
        turns = enumerate(self._turns)
        place = next((at for at, turn in turns if turn.blocks[0].version == version), None)
        if place is None or self.notes or self.torn or self.has_prefills or self._paused:
            return False
        del self._turns[:place]
        calls = self._known.items()
        self._known = {call_id: call for call_id, call in calls if call.version > version}
        self._answered &= self._known.keys()
        return True

    def speak(self, block: Block) -> None:
        """Add a block of the assistant's."""
        if not self.can_speak():
            self._end()
        self._assistant.append(block)

    def can_speak(self) -> bool:
        """Whether the assistant's turn is still the last one."""
        return not (self._user_blocks or self._results or self._answers)

    def can_break_off(self) -> bool:
        """Whether a response that ends amid a block may say it: none was given since it began."""
        return self._is_out or self.can_speak()

    def call(self, block: Block, call_id: str) -> None:
        """Add a call of one of the caller's tools."""
        self.speak(block)
        self._calls.append(block)
        if block.mark == "unawaited":
            self.awaits_pause = True
        self._known[call_id] = block
        self._answered.discard(call_id)

    def say(self, block: Block) -> None:
        """Add a block of the user's."""
        if self._made and not self._is_out:
            self._release()
        (self._unseen if self._is_out else self._user_blocks).append(block)

    def find(self, block: Block) -> None:
        """Add a document; one that a provider's tool made comes after the answer that holds it."""
        if block.made_by is None:
            self.say(block)
            return
        response = self._assistant[-1].response if self._assistant else None
        self._made.append((response, block))

    def note(self, block: Block) -> None:
        """Add a note of the operator's."""
        self._has_notes = True
        self.say(block)

    def call_of(self, call_id: str) -> tuple[Block | None, Mark]:
        """Return the call that a result with this id is of, if there is one, and its mark."""
        for call in self._calls:
            if call.call_id == call_id and call.call not in self._answers:
                return call, "result"
        return self._known.get(call_id), "late"

    def answer(self, block: Block, call_id: str) -> None:
        """Add the result of a call: to its round, or where it came if that is over."""
        if block.mark == "result":
            self._answers[block.call] = block
        elif call_id in self._answered:
            self._leave_out("duplicate", block.version, "the call has its result already")
        else:
            self.say(block)
        self._answered.add(call_id)

    def ask(self) -> None:
        """Note that a request is sent: the user's turn was seen, and the round is over."""
        if self._unseen or self._made:
            self._release()
        if self._calls and not self._goes_on():
            self._settle()
        blocks = self._user_blocks
        if not blocks or blocks[0].made_by is not None:
            has_words = any(block.made_by is None for block in blocks)
            self.has_prefills = self.has_prefills or not (self._results or has_words)
        self._is_out = True

    def close_response(self) -> None:
        """Note that the request that was out is answered."""
        self._is_out = False
        if self._unseen:
            self._release()

    def pause(self, response: str) -> None:
        """Note that a response is to be gone on with, just as it is."""
        self._paused.add(response)

    def take_back(self, response: str, rule: str, why: str) -> None:
        """Leave out the blocks of a response: it is no part of the history."""
        for block in [block for block in self._assistant if block.response == response]:
            self._assistant.remove(block)
            self._leave_out(rule, block.version, why)
        for call in [call for call in self._calls if call.response == response]:
            self._calls.remove(call)
            if answer := self._answers.pop(call.call, None):
                self.say(replace(answer, mark="late"))
        self._made = [made for made in self._made if made[0] != response]

    def awaited(self) -> tuple[str, ...]:
        """Return the ids of the calls of the open round that have no result yet."""
        if self._goes_on():
            return ()
        calls = (call for call in self._calls if call.mark == "call")
        settled = self._answers.keys() | self._forgone
        return tuple(call.call_id or "" for call in calls if call.call not in settled)

    def forgo(self) -> None:
        """Await the calls of the open round no more: the line goes on from here without them."""
        self._forgone.update(call.call for call in self._calls)

    def turns(self) -> tuple[Turn, ...]:
        """End the last round and return all turns."""
        if self._unseen or self._made:
            self._release()
        if self._calls and self._goes_on():
            self._calls.clear()
        self._end()
        return tuple(self._turns)

    def _goes_on(self) -> bool:
        """Whether the assistant is to go on with its turn: then nothing may come between."""
        return self.can_speak() and all(map(self._is_paused, self._calls))

    def _is_paused(self, call: Block) -> bool:
        return call.mark == "unawaited" and call.response in self._paused

    def _release(self) -> None:
        self._user_blocks += [*(block for _, block in self._made), *self._unseen]
        self._made.clear()
        self._unseen.clear()

    def _settle(self) -> None:
        """Give each call its result: the one that came, or a stand-in; or leave it out."""
        for call in self._calls:
            result = self._answers.get(call.call)
            if result is not None:
                self._results.append(result)
            elif call.mark == "unawaited" and not self._is_paused(call):
                self._drop(call)
                self._leave_out("cut short", call.version, "the call awaits no result")
            elif self._drops:
                self._drop(call)
                self._leave_out("missing", call.version, "the call has no result")
            else:
                self._results.append(_stand_in(call))
        self._calls.clear()
        self._answers.clear()
        self.awaits_pause = False

    def _drop(self, call: Block) -> None:
        """Take out a call; what else its response says stays."""
        self._assistant.remove(call)
        self.torn.add(call.place)

    def _end(self) -> None:
        if self._calls:
            self._settle()
        if self._assistant:
            self._add("assistant", self._assistant)
            self._assistant = []
        if self._results:
            self._add("user", self._results)
            self._results = []
        if self._user_blocks:
            if self._has_notes:
                self._add_user_blocks(self._user_blocks)
            else:
                self._add("user", self._user_blocks)
            self._user_blocks = []

    def _add_user_blocks(self, user_blocks: list[Block]) -> None:
        for is_note, blocks in groupby(user_blocks, lambda block: block.mark == "note"):
            self._add("system" if is_note else "user", list(blocks))

    def _add(self, role: Role, blocks: list[Block]) -> None:
        turns = self._turns
        if role == self._speaker:
            blocks = [*turns.pop().blocks, *blocks]
        self._speaker = role
        turns.append(Turn(role, blocks))

    def _leave_out(self, rule: str, version: int, why: str) -> None:
        self.notes.append(Note("left out", rule, version, why))


def given_up(call_id: str) -> JsonObject:
    """Return what the result of a call says that was given up."""
    content = [{"kind": "text", "text": CANCELLED}]
    return {"kind": "tool_result", "call_id": call_id, "content": content, "is_error": True}


def _stand_in(call: Block) -> Block:
    call_id = call.call_id or ""
    return Block(
        call.version,
        call.conversation,
        given_up(call_id),
        spilled=False,
        mark="missing",
        call=call.call,
        call_id=call_id,
        name=call.name,
        is_error=True,
        cancelled=True,
    )
