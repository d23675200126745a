"""The items of one response, brought together from all that told of them, by output index.

Ids are no key: servers change them within one stream.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Anomaly, Answer
from onrecord.adapters.wire.blocks import AnswerBlock
from onrecord.adapters.wire.openai_responses.answers import VARIANTS, gaps, variants
from onrecord.adapters.wire.openai_responses.pieces import (
    PARTS,
    PRINTED,
    SILENT,
    TEXTS,
    Misfit,
    Path,
    Text,
    agree,
    number,
    subject_of,
)
from onrecord.adapters.wire.stream_reader import in_whole_characters
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.members import list_of

# An item of a Responses stream that never became whole, put together from what came of it.
#
# Deltas are only for this: an item that is done, or stands in the final response, is taken from
# there.


def put_together(begun: JsonObject, events: Iterable[JsonObject]) -> tuple[JsonObject, int]:
    """Return an item as far as it was told, and how many events had no place in it."""
    writing = _Writing(copy.deepcopy(begun))
    misfits = 0
    for event in events:
        try:
            writing.take(event)
        except Misfit:
            misfits += 1
    return writing.stop(), misfits


class _Writing:
    """An item that is being written: its value, and pieces of texts that belong in it."""

    def __init__(self, value: JsonObject) -> None:
        self._value = value
        self._texts: dict[Path, list[str]] = {}

    def take(self, event: JsonObject) -> None:
        """Take an event in; Misfit where it has no place."""
        subject, end = subject_of(event)
        if subject in TEXTS:
            self._take_text(TEXTS[subject], end, event)
        elif subject in PARTS:
            self._take_part(PARTS[subject], event)
        elif subject == "output_text.annotation" and end == "added":
            self._take_annotation(event)
        elif subject == PRINTED and end == "delta":
            self._take_printed(event)
        elif subject == PRINTED:
            self._take_outcomes(event)
        elif end not in SILENT:
            raise Misfit

    def stop(self) -> JsonObject:
        """Return the item with its texts in."""
        for path, pieces in self._texts.items():
            _put(self._holder(path), path[-1], in_whole_characters("".join(pieces)))
        return self._value

    def _take_text(self, text: Text, end: str, event: JsonObject) -> None:
        path = text.path(event)
        holder = self._holder(path, text.part)
        if end != "delta":
            self._texts[path] = [_string(event.get(text.done))]
            return
        self._add(holder, path, event.get("delta"))
        logprobs = event.get("logprobs")
        if isinstance(logprobs, list) and logprobs:
            _listed(holder, "logprobs").extend(cast("list[Any]", logprobs))

    def _take_annotation(self, event: JsonObject) -> None:
        path = ("content", number(event, "content_index"), "annotations")
        _listed(self._holder(path, "output_text"), "annotations").append(event.get("annotation"))

    def _take_part(self, names: tuple[str, str], event: JsonObject) -> None:
        part = event.get("part")
        if not isinstance(part, dict):
            raise Misfit
        self._replace((names[0], number(event, names[1])), cast("JsonObject", part))

    def _take_printed(self, event: JsonObject) -> None:
        """Take what a command printed since, by stream."""
        printed = event.get("delta")
        if not isinstance(printed, dict):
            raise Misfit
        for stream in cast("JsonObject", printed):
            path = ("output", number(event, "command_index"), stream)
            self._add(self._holder(path), path, cast("JsonObject", printed)[stream])

    def _take_outcomes(self, event: JsonObject) -> None:
        """Take all that a command printed, and how it ended."""
        outcomes = event.get("output")
        if not isinstance(outcomes, list):
            raise Misfit
        first = number(event, "command_index")
        for place, outcome in enumerate(cast("list[Any]", outcomes), first):
            self._replace(("output", place), outcome)

    def _add(self, holder: Any, path: Path, piece: object) -> None:
        text = _string(piece)
        if path not in self._texts:
            begun = _child(holder, path[-1])
            self._texts[path] = [begun] if isinstance(begun, str) else []
        self._texts[path].append(text)

    def _replace(self, path: tuple[str, int], value: Any) -> None:
        """Set a part to what closes it, whatever came of it before."""
        _put(self._holder(path), path[-1], copy.deepcopy(value))
        self._texts = {at: text for at, text in self._texts.items() if at[:2] != path}

    def _holder(self, path: Path, part: str | None = None) -> Any:
        """Return what holds the last key of a path, made where missing, a part by its type."""
        holder: Any = self._value
        for key, following in pairwise(path):
            inner = _child(holder, key)
            if inner is None:
                _put(holder, key, _begun(key, following, part))
                inner = _child(holder, key)
            holder = inner
        return holder


def _begun(key: str | int, following: str | int, part: str | None) -> list[Any] | JsonObject:
    """Return what begins where nothing stood yet: a list of parts, or a part."""
    if isinstance(following, int):
        return []
    return {} if part is None or isinstance(key, str) else {"type": part}


def _child(holder: Any, key: str | int) -> Any:
    match holder, key:
        case dict(), str():
            return cast("JsonObject", holder).get(key)
        case list(), int():
            listed = cast("list[Any]", holder)
            return listed[key] if key < len(listed) else None
        case _:
            raise Misfit


def _put(holder: Any, key: str | int, value: Any) -> None:
    """Set what stands at a key; in a list that may be the next place, none beyond it."""
    match holder, key:
        case dict(), str():
            holder[key] = value
        case list(), int() if key < len(cast("list[Any]", holder)):
            holder[key] = value
        case list(), int() if key == len(cast("list[Any]", holder)):
            cast("list[Any]", holder).append(value)
        case _:
            raise Misfit


def _listed(holder: Any, member: str) -> list[Any]:
    listed = _child(holder, member)
    if listed is None:
        _put(holder, member, listed := [])
    if not isinstance(listed, list):
        raise Misfit
    return cast("list[Any]", listed)


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise Misfit


_MOST: Final = 100_000
"""How many items a response may have: a larger index is none."""

_BALLAST: Final = frozenset({"item_id", "obfuscation", "output_index", "sequence_number"})
_DISAGREES: Final = "an item that is not what was told of it in pieces"


class Items:
    """What came of each item: how it began, what told more of it since, and it itself when done."""

    __slots__ = ("_begun", "_done", "_events", "_final")

    def __init__(self) -> None:
        """Begin without any item."""
        self._begun: dict[int, JsonObject] = {}
        self._events: dict[int, list[JsonObject]] = {}
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
        self._events.setdefault(index, []).append(_without_ballast(event))
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
        listed = list_of(output)
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
        differences = variants(whole, self._begun, self._final)
        if taken_back:
            differences["response"] = taken_back
        odd = [*gaps({*whole, *self._begun}), *_misfitting(misfits)]
        return Answer(
            api=answer.api,
            blocks=tuple(AnswerBlock(index, whole[index]) for index in sorted(whole)),
            envelope={**answer.envelope, VARIANTS: differences} if differences else answer.envelope,
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
        return agree(self._events.pop(index, ()), item)

    def _unfinished(self, whole: dict[int, JsonObject]) -> tuple[list[Unfinished], int]:
        blocks: list[Unfinished] = []
        misfits = 0
        for index in sorted(self._begun.keys() - whole.keys()):
            value, missed = put_together(self._begun[index], self._events.get(index, ()))
            blocks.append(Unfinished(index=index, value=value, partial=""))
            misfits += missed
        return blocks, misfits

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
    slim = {name: value for name, value in event.items() if name not in _BALLAST}
    if not slim.get("logprobs", True):
        del slim["logprobs"]
    if isinstance(slim.get("type"), str):
        slim["type"] = sys.intern(slim["type"])
    return slim


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
