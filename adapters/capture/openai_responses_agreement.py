"""Whether what was told of an item in pieces is what it came to: if so, the pieces may be dropped.

A stream says everything twice or more. Only the item is kept, so a piece that says something else
would be lost; then the bytes of the stream are kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from onrecord.adapters.capture.characters import in_whole_characters
from onrecord.adapters.capture.openai_responses_pieces import (
    PARTS,
    PRINTED,
    TEXTS,
    Misfit,
    Path,
    Text,
    number,
    subject_of,
)
from onrecord.domain.jsontext import JsonObject


def agree(events: Iterable[JsonObject], item: JsonObject) -> bool:
    """Return whether events that told of an item before it was done say nothing else than it."""
    groups: dict[tuple[Any, ...], list[JsonObject]] = {}
    for event in events:
        get = event.get
        place = (get("content_index"), get("summary_index"), get("command_index"))
        try:
            groups.setdefault((event["type"], *place), []).append(event)
        except TypeError:  # An index that is none.
            return False
    try:
        return all(_agrees(told, item) for told in groups.values())
    except Misfit:
        return False


def _agrees(told: list[JsonObject], item: JsonObject) -> bool:
    """Whether events of one kind, about one place in an item, say what stands there."""
    subject, end = subject_of(told[0])
    if subject in TEXTS:
        return _is_text(TEXTS[subject], end, told, item)
    if subject in PARTS and end == "done":
        member, index = PARTS[subject]
        part = _standing(item, (member, number(told[0], index)))
        return [event.get("part") for event in told] == [part] * len(told)
    if subject == "output_text.annotation":
        place = ("content", number(told[0], "content_index"), "annotations")
        annotations = _standing(item, place)
        return isinstance(annotations, list) and all(
            event.get("annotation") in annotations for event in told
        )
    if subject == PRINTED:
        return _is_printed(end, told, item)
    return True


def _is_text(text: Text, end: str, told: list[JsonObject], item: JsonObject) -> bool:
    whole = _standing(item, text.path(told[0]))
    if not (isinstance(whole, str) and _has_logprobs(text.path(told[0]), told, item)):
        return False
    if end == "delta":
        return _joined([event.get("delta") for event in told]) == whole
    said = [event.get(text.done) for event in told]
    return all(one == whole or (end == "added" and one == "") for one in said)


def _has_logprobs(path: Path, told: list[JsonObject], item: JsonObject) -> bool:
    """Whether the part has as many log probabilities as were told; it spells them out more."""
    several = [event["logprobs"] for event in told if event.get("logprobs")]
    if not several:
        return True
    held = _standing(item, (*path[:-1], "logprobs"))
    lists = [held, *several]
    if not all(isinstance(one, list) for one in lists):
        return False
    return sum(map(len, several)) <= len(cast("list[Any]", held))


def _is_printed(end: str, told: list[JsonObject], item: JsonObject) -> bool:
    index = number(told[0], "command_index")
    outcome = _standing(item, ("output", index))
    if end != "delta":
        return all(event.get("output") == [outcome] for event in told)
    if not isinstance(outcome, dict):
        return False
    deltas: list[Any] = [event.get("delta") for event in told]
    if not all(isinstance(delta, dict) for delta in deltas):
        return False
    streams: set[str] = {name for delta in deltas for name in delta}
    whole = cast("JsonObject", outcome)
    return all(
        name in whole and _joined([one[name] for one in deltas if name in one]) == whole[name]
        for name in streams
    )


def _joined(pieces: list[Any]) -> str | None:
    """Return the text that pieces make; None where one of them is no text."""
    if not all(isinstance(piece, str) for piece in pieces):
        return None
    return in_whole_characters("".join(pieces))


def _standing(item: JsonObject, path: Path) -> Any:
    """Return what stands at a path, None where nothing does."""
    here: Any = item
    for key in path:
        if isinstance(here, dict):
            here = cast("JsonObject", here).get(str(key))
        elif isinstance(here, list) and isinstance(key, int):
            here = next(iter(cast("list[Any]", here)[key : key + 1]), None)
        else:
            return None
    return here
