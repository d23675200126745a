"""Calls told apart where a history uses an id again: a conversation has one result a call."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from uuid import UUID

from onrecord.adapters.histories.history import Doubt, Heard, Spoken
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded


def told_apart(heard: Heard, line: Callable[[int], UUID]) -> Heard:
    """Return the history with each call under an id of its own, its result under the same.

    What was said keeps the id that it came with. A second result of a call goes to a side line
    (`line` gives their ids): the record keeps it, requests hold the first.
    """
    calls = _Calls(line)
    spoken = tuple(calls.apart(said) for said in heard.spoken)
    return replace(heard, spoken=spoken, doubts=(*heard.doubts, *calls.doubts))


class _Calls:
    """The calls so far: ids that are taken, and by the id they came with those not answered yet."""

    def __init__(self, line: Callable[[int], UUID]) -> None:
        self.doubts: list[Doubt] = []
        self._line = line
        self._lines = 0
        self._taken: set[str] = set()
        self._answered: set[str] = set()
        self._waiting: dict[str, deque[str]] = defaultdict(deque)

    def apart(self, said: Spoken) -> Spoken:
        """Return what was said with an id that no other call has."""
        match said.event:
            case ToolCallRecorded() as call:
                return said._replace(event=self._called(call, said.place))
            case ToolResultRecorded() as result:
                return said._replace(event=self._given(result, said.place))
            case _:
                return said

    def _called(self, call: ToolCallRecorded, place: str) -> ToolCallRecorded:
        own = self._free(call.call_id)
        self._taken.add(own)
        self._waiting[call.call_id].append(own)
        if own == call.call_id:
            return call
        self.doubts.append(Doubt("reused id", place, "an earlier call has the same id"))
        return call.model_copy(update={"call_id": own})

    def _given(self, result: ToolResultRecorded, place: str) -> ToolResultRecorded:
        waiting = self._waiting[result.call_id]
        own = waiting.popleft() if waiting else result.call_id
        if own not in self._answered:
            self._answered.add(own)
            return result.model_copy(update={"call_id": own})
        why = "the call has a result already: this one is kept on a side line"
        self.doubts.append(Doubt("second result", place, why))
        self._lines += 1
        return result.model_copy(update={"line": self._line(self._lines)})

    def _free(self, call_id: str) -> str:
        if call_id not in self._taken:
            return call_id
        others = (f"{call_id}-{number}" for number in count(2))
        return next(other for other in others if other not in self._taken)
