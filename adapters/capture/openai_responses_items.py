"""The items of one response, brought together from all that told of them, by output index.

Ids are no key: servers change them within one stream.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Final, cast

from onrecord.adapters.capture.answer import Anomaly, Answer, Block
from onrecord.adapters.capture.openai_responses_agreement import agree
from onrecord.adapters.capture.openai_responses_deltas import put_together
from onrecord.adapters.capture.openai_responses_envelope import VARIANTS, gaps, variants
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject

_MOST: Final = 100_000
"""How many items a response may have: a larger index is none."""

_BALLAST: Final = frozenset({"item_id", "obfuscation", "output_index", "sequence_number"})
_DISAGREES: Final = "an item that is not what was told of it in pieces"


class Items:
    """What came of each item: how it began, what told more of it since, and it itself when done."""

    __slots__ = ("_begun", "_done", "_final", "_told")

    def __init__(self) -> None:
        """Begin without any item."""
        self._begun: dict[int, JsonObject] = {}
        self._told: dict[int, list[JsonObject]] = {}
        self._done: dict[int, JsonObject] = {}
        self._final: dict[int, JsonObject] = {}

    def begin(self, event: JsonObject) -> str | None:
        """Take an output_item.added in; return why it could not be."""
        index, item = _index(event), event.get("item")
        if index is None or not isinstance(item, dict):
            return "an output_item.added out of place"
        if index in self._begun or index in self._done:
            return "an output_item.added at an index that is taken"
        self._begun[index] = cast("JsonObject", item)
        return None

    def tell(self, event: JsonObject) -> bool:
        """Take more of an item in; return whether it is one that has begun and is not done."""
        index = _index(event)
        if index is None or index not in self._begun or index in self._done:
            return False
        self._told.setdefault(index, []).append(_without_ballast(event))
        return True

    def finish(self, event: JsonObject) -> str | None:
        """Take an output_item.done in; return why it could not be, or what is odd about it."""
        index, item = _index(event), event.get("item")
        if index is None or not isinstance(item, dict):
            return "an output_item.done out of place"
        if index in self._done:
            return "a second output_item.done at one index"
        self._done[index] = cast("JsonObject", item)
        return None if self._agrees(index, self._done[index]) else _DISAGREES

    def conclude(self, output: Any) -> list[str]:
        """Take the final response's output in; return what is odd about it.

        An item there is one that is known by its id, or else by its place and kind. None at all is
        nothing odd: some servers leave their output out once it was streamed.
        """
        odd: list[str] = []
        following = 0
        listed = cast("list[Any]", output) if isinstance(output, list) else []
        for position, item in enumerate(listed):
            if not isinstance(item, dict):
                odd.append(f"an entry of the final response that is no item, at {position}")
                continue
            index = self._place_of(cast("JsonObject", item), position)
            if index is None:
                index = self._free_from(following)
                odd.append(f"an item of the final response whose place is taken, at {position}")
            self._final[index] = cast("JsonObject", item)
            following = index + 1
            if not self._agrees(index, self._final[index]):
                odd.append(_DISAGREES)
        return odd

    def brought_together(self, answer: Answer, taken_back: JsonObject) -> Answer:
        """Return the answer with these items, what is odd about them, and their other tellings.

        `taken_back` is what the response itself said before its end, and no more then.
        """
        whole = {**self._final, **self._done}
        unfinished, misfits = self._unfinished(whole)
        told = variants(whole, self._begun, self._final)
        if taken_back:
            told["response"] = taken_back
        odd = [*gaps({*whole, *self._begun}), *_misfitting(misfits)]
        return Answer(
            api=answer.api,
            blocks=tuple(Block(index, whole[index]) for index in sorted(whole)),
            envelope={**answer.envelope, VARIANTS: told} if told else answer.envelope,
            unfinished=tuple(unfinished),
            interruption=answer.interruption,
            detail=answer.detail,
            error=answer.error,
            anomalies=(*answer.anomalies, *odd),
        )

    def are_whole(self) -> bool:
        """Whether every item that began is done, or stands in the final response."""
        return self._begun.keys() <= {*self._done, *self._final}

    def _agrees(self, index: int, item: JsonObject) -> bool:
        """Whether an item is what was told of it, which is dropped then."""
        return agree(self._told.pop(index, ()), item)

    def _unfinished(self, whole: dict[int, JsonObject]) -> tuple[list[Unfinished], int]:
        found: list[Unfinished] = []
        misfits = 0
        for index in sorted(self._begun.keys() - whole.keys()):
            value, missed = put_together(self._begun[index], self._told.get(index, ()))
            found.append(Unfinished(index=index, value=value, partial=""))
            misfits += missed
        return found, misfits

    def _place_of(self, item: JsonObject, position: int) -> int | None:
        known = {**self._begun, **self._done}
        by_id = (index for index, other in known.items() if _same(item, other, "id"))
        index = next((index for index in by_id if index not in self._final), None)
        if index is not None:
            return index
        is_free = position not in self._final
        fits = position not in known or _same(item, known[position], "type")
        return position if is_free and fits else None

    def _free_from(self, index: int) -> int:
        while index in self._final or index in self._done or index in self._begun:
            index += 1
        return index


def _without_ballast(event: JsonObject) -> JsonObject:
    """Return an event without what tells nothing of its item: there may be a million of them."""
    kept = {name: value for name, value in event.items() if name not in _BALLAST}
    if not kept.get("logprobs", True):
        del kept["logprobs"]
    if isinstance(kept.get("type"), str):
        kept["type"] = sys.intern(kept["type"])
    return kept


def _same(item: JsonObject, other: JsonObject, member: str) -> bool:
    value = item.get(member)
    return isinstance(value, str) and value == other.get(member)


def _misfitting(count: int) -> Iterable[Anomaly]:
    return [Anomaly(f"{count} events that have no place in their item")] if count else []


def _index(event: JsonObject) -> int | None:
    value = event.get("output_index")
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST:
        return value
    return None
