"""An item of a Responses stream that never became whole, put together from what came of it.

Deltas are only for this: an item that is done, or stands in the final response, is taken from
there.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, cast

from onrecord.adapters.capture.characters import in_whole_characters
from onrecord.adapters.capture.openai_responses_pieces import (
    PARTS,
    PRINTED,
    SILENT,
    TEXTS,
    Misfit,
    Path,
    Text,
    number,
    subject_of,
)
from onrecord.domain.jsontext import JsonObject


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
        said = _string(piece)
        if path not in self._texts:
            begun = _held(holder, path[-1])
            self._texts[path] = [begun] if isinstance(begun, str) else []
        self._texts[path].append(said)

    def _replace(self, path: tuple[str, int], value: Any) -> None:
        """Set a part to what closes it, whatever came of it before."""
        _put(self._holder(path), path[-1], copy.deepcopy(value))
        self._texts = {at: said for at, said in self._texts.items() if at[:2] != path}

    def _holder(self, path: Path, part: str | None = None) -> Any:
        """Return what holds the last key of a path, made where missing, a part by its type."""
        here: Any = self._value
        for key, following in pairwise(path):
            found = _held(here, key)
            if found is None:
                _put(here, key, _begun(key, following, part))
                found = _held(here, key)
            here = found
        return here


def _begun(key: str | int, following: str | int, part: str | None) -> list[Any] | JsonObject:
    """Return what begins where nothing stood yet: a list of parts, or a part."""
    if isinstance(following, int):
        return []
    return {} if part is None or isinstance(key, str) else {"type": part}


def _held(holder: Any, key: str | int) -> Any:
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
    found = _held(holder, member)
    if found is None:
        _put(holder, member, found := [])
    if not isinstance(found, list):
        raise Misfit
    return cast("list[Any]", found)


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise Misfit
