"""An item of a Responses stream that never became whole, put together from what came of it.

Deltas are only for this: an item that is done, or stands in the final response, is taken from
there. Kinds: the OpenAPI description of OpenAI's API, "ResponseStreamEvent", and
`response.apply_patch_call_operation_diff`, which services send though it is not described there.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias, cast

from hansard.adapters.capture.characters import in_whole_characters
from hansard.domain.jsontext import JsonObject

Path: TypeAlias = tuple[str | int, ...]

_TOLD: Final = "response."


class _Text(NamedTuple):
    """Where the text of a kind of delta belongs: members, or names of the event's own indexes.

    `done` is the member of the closing event that holds all of it; `part` the type of a part that
    was not announced.
    """

    place: tuple[str, ...]
    done: str
    part: str | None = None


_INDEXES: Final = frozenset({"content_index", "summary_index", "command_index"})
_TEXTS: Final[dict[str, _Text]] = {
    "output_text": _Text(("content", "content_index", "text"), "text", "output_text"),
    "refusal": _Text(("content", "content_index", "refusal"), "refusal", "refusal"),
    "reasoning_text": _Text(("content", "content_index", "text"), "text", "reasoning_text"),
    "reasoning_summary_text": _Text(("summary", "summary_index", "text"), "text", "summary_text"),
    "function_call_arguments": _Text(("arguments",), "arguments"),
    "mcp_call_arguments": _Text(("arguments",), "arguments"),
    "custom_tool_call_input": _Text(("input",), "input"),
    "code_interpreter_call_code": _Text(("code",), "code"),
    "apply_patch_call_operation_diff": _Text(("operation", "diff"), "diff"),
    "shell_call_command": _Text(("action", "commands", "command_index"), "command"),
}
_PARTS: Final[dict[str, tuple[str, str]]] = {
    "content_part": ("content", "content_index"),
    "reasoning_summary_part": ("summary", "summary_index"),
}
_SILENT: Final = frozenset(
    {
        "in_progress",
        "searching",
        "interpreting",
        "generating",
        "compacting",
        "completed",
        "failed",
        "partial_image",
    }
)
"""Ends of events that only tell how far an item is, or show what will be replaced."""

_ENDS: Final = frozenset({"delta", "done", "added", *_SILENT})


class _Misfit(Exception):
    """A delta has no place in its item."""


def is_about_an_item(kind: object) -> bool:
    """Whether an event tells more of an item that has begun, by its type."""
    return isinstance(kind, str) and kind.startswith(_TOLD) and kind.rpartition(".")[2] in _ENDS


def put_together(begun: JsonObject, events: Iterable[JsonObject]) -> tuple[JsonObject, int]:
    """Return an item as far as it was told, and how many events had no place in it."""
    writing = _Writing(copy.deepcopy(begun))
    misfits = 0
    for event in events:
        try:
            writing.take(event)
        except _Misfit:
            misfits += 1
    return writing.stop(), misfits


class _Writing:
    """An item that is being written: its value, and pieces of texts that belong in it."""

    def __init__(self, value: JsonObject) -> None:
        self._value = value
        self._texts: dict[Path, list[str]] = {}

    def take(self, event: JsonObject) -> None:
        """Take an event in; _Misfit where it has no place."""
        subject, _, end = str(event["type"]).removeprefix(_TOLD).rpartition(".")
        if subject in _TEXTS:
            self._take_text(_TEXTS[subject], end, event)
        elif subject in _PARTS:
            self._take_part(_PARTS[subject], event)
        elif subject == "output_text.annotation" and end == "added":
            self._take_annotation(event)
        elif subject == "shell_call_output_content" and end == "delta":
            self._take_printed(event)
        elif subject == "shell_call_output_content":
            self._take_outcomes(event)
        elif end not in _SILENT:
            raise _Misfit

    def stop(self) -> JsonObject:
        """Return the item with its texts in."""
        for path, pieces in self._texts.items():
            _put(self._holder(path), path[-1], in_whole_characters("".join(pieces)))
        return self._value

    def _take_text(self, text: _Text, end: str, event: JsonObject) -> None:
        path = tuple(_number(event, name) if name in _INDEXES else name for name in text.place)
        holder = self._holder(path, text.part)
        if end != "delta":
            self._texts[path] = [_string(event.get(text.done))]
            return
        self._add(holder, path, event.get("delta"))
        logprobs = event.get("logprobs")
        if isinstance(logprobs, list) and logprobs:
            _listed(holder, "logprobs").extend(cast("list[Any]", logprobs))

    def _take_annotation(self, event: JsonObject) -> None:
        path = ("content", _number(event, "content_index"), "annotations")
        _listed(self._holder(path, "output_text"), "annotations").append(event.get("annotation"))

    def _take_part(self, names: tuple[str, str], event: JsonObject) -> None:
        part = event.get("part")
        if not isinstance(part, dict):
            raise _Misfit
        self._replace((names[0], _number(event, names[1])), cast("JsonObject", part))

    def _take_printed(self, event: JsonObject) -> None:
        """Take what a command printed since, by stream."""
        printed = event.get("delta")
        if not isinstance(printed, dict):
            raise _Misfit
        for stream in cast("JsonObject", printed):
            path = ("output", _number(event, "command_index"), stream)
            self._add(self._holder(path), path, cast("JsonObject", printed)[stream])

    def _take_outcomes(self, event: JsonObject) -> None:
        """Take all that a command printed, and how it ended."""
        outcomes = event.get("output")
        if not isinstance(outcomes, list):
            raise _Misfit
        first = _number(event, "command_index")
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
        """Return what holds the last key of a path, made where it is missing, a part by its type."""
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
            raise _Misfit


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
            raise _Misfit


def _listed(holder: Any, member: str) -> list[Any]:
    found = _held(holder, member)
    if found is None:
        _put(holder, member, found := [])
    if not isinstance(found, list):
        raise _Misfit
    return cast("list[Any]", found)


def _number(event: JsonObject, name: str) -> int:
    value = event.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise _Misfit


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _Misfit
