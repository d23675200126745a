"""The events that tell an item of a Responses stream in pieces, and where the pieces belong.

Kinds: the OpenAPI description of OpenAI's API, "ResponseStreamEvent", and
`response.apply_patch_call_operation_diff`, which services send though it is not described there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

from onrecord.adapters.wire.stream_reader import in_whole_characters
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.members import list_of, members_of

Path: TypeAlias = tuple[str | int, ...]

TOLD: Final = "response."
"""What the type of every event about an item begins with."""


class Text(NamedTuple):
    """Where the text of a kind of delta belongs: members, or names of the event's own indexes.

    `done` is the member of the closing event that holds all of it; `part` the type of a part that
    was not announced.
    """

    place: tuple[str, ...]
    done: str
    part: str | None = None

    def path(self, event: JsonObject) -> Path:
        """Return where in its item the text of an event belongs; Misfit where that is nowhere."""
        return tuple(number(event, name) if name in _INDEXES else name for name in self.place)


_INDEXES: Final = frozenset({"content_index", "summary_index", "command_index"})
TEXTS: Final[dict[str, Text]] = {
    "output_text": Text(("content", "content_index", "text"), "text", "output_text"),
    "refusal": Text(("content", "content_index", "refusal"), "refusal", "refusal"),
    "reasoning_text": Text(("content", "content_index", "text"), "text", "reasoning_text"),
    "reasoning_summary_text": Text(("summary", "summary_index", "text"), "text", "summary_text"),
    "function_call_arguments": Text(("arguments",), "arguments"),
    "mcp_call_arguments": Text(("arguments",), "arguments"),
    "custom_tool_call_input": Text(("input",), "input"),
    "code_interpreter_call_code": Text(("code",), "code"),
    "apply_patch_call_operation_diff": Text(("operation", "diff"), "diff"),
    "shell_call_command": Text(("action", "commands", "command_index"), "command"),
}
"""Texts that are told in pieces, by what the types of their events tell of."""

PARTS: Final[dict[str, tuple[str, str]]] = {
    "content_part": ("content", "content_index"),
    "reasoning_summary_part": ("summary", "summary_index"),
}
"""Parts that are told as they begin and as they end: the member that lists them, their index."""

PRINTED: Final = "shell_call_output_content"
"""What a command printed, by the stream that it printed to."""

SILENT: Final = frozenset(
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

_ENDS: Final = frozenset({"delta", "done", "added", *SILENT})


class Misfit(Exception):
    """A piece has no place in its item."""


@lru_cache(maxsize=256)
def is_about_an_item(kind: str) -> bool:
    """Whether an event tells more of an item that has begun, by its type."""
    return kind.startswith(TOLD) and kind.rpartition(".")[2] in _ENDS


def subject_of(event: JsonObject) -> tuple[str, str]:
    """Return what an event tells of, and what of that: its type in two parts."""
    subject, _, end = str(event["type"]).removeprefix(TOLD).rpartition(".")
    return subject, end


def number(event: JsonObject, name: str) -> int:
    """Return an index that an event names; Misfit where it names none."""
    value = event.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise Misfit


# Whether what was told of an item in pieces is what it came to: if so, the pieces may be dropped.
#
# A stream says everything twice or more. Only the item is kept, so a piece that says something
# else would be lost; then the bytes of the stream are kept beside it.


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
        return all(_agrees(events_of_kind, item) for events_of_kind in groups.values())
    except Misfit:
        return False


def _agrees(events: list[JsonObject], item: JsonObject) -> bool:
    """Whether events of one kind, about one place in an item, say what stands there."""
    subject, end = subject_of(events[0])
    if subject in TEXTS:
        return _is_text(TEXTS[subject], end, events, item)
    if subject in PARTS:
        member, index = PARTS[subject]
        part = _standing(item, (member, number(events[0], index)))
        if end == "added":
            return all(_begins(event.get("part"), part) for event in events)
        return [event.get("part") for event in events] == [part] * len(events)
    if subject == "output_text.annotation":
        place = ("content", number(events[0], "content_index"), "annotations")
        annotations = _standing(item, place)
        return isinstance(annotations, list) and all(
            event.get("annotation") in annotations for event in events
        )
    if subject == PRINTED:
        return _is_printed(end, events, item)
    return True


def _begins(begun: Any, whole: Any) -> bool:
    """Whether a part says no more as it begins than when it is whole."""
    match begun:
        case None | "":
            return True
        case dict():
            members, known = cast("JsonObject", begun), members_of(whole)
            return all(
                name in known and _begins(value, known[name]) for name, value in members.items()
            )
        case list():
            before = cast("list[Any]", begun)
            return before == list_of(whole)[: len(before)]
        case str():
            return isinstance(whole, str) and whole.startswith(begun)
        case _:
            return bool(begun == whole)


def _is_text(text: Text, end: str, events: list[JsonObject], item: JsonObject) -> bool:
    whole = _standing(item, text.path(events[0]))
    if not (isinstance(whole, str) and _has_logprobs(text.path(events[0]), events, item)):
        return False
    if end == "delta":
        return _joined([event.get("delta") for event in events]) == whole
    texts = [event.get(text.done) for event in events]
    return all(one == whole or (end == "added" and one == "") for one in texts)


def _has_logprobs(path: Path, events: list[JsonObject], item: JsonObject) -> bool:
    """Whether the part has as many log probabilities as were told; it spells them out more."""
    several = [event["logprobs"] for event in events if event.get("logprobs")]
    if not several:
        return True
    whole = _standing(item, (*path[:-1], "logprobs"))
    lists = [whole, *several]
    if not all(isinstance(one, list) for one in lists):
        return False
    return sum(map(len, several)) <= len(cast("list[Any]", whole))


def _is_printed(end: str, events: list[JsonObject], item: JsonObject) -> bool:
    index = number(events[0], "command_index")
    outcome = _standing(item, ("output", index))
    if end != "delta":
        return all(event.get("output") == [outcome] for event in events)
    if not isinstance(outcome, dict):
        return False
    deltas: list[Any] = [event.get("delta") for event in events]
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
    value: Any = item
    for key in path:
        if isinstance(value, dict):
            value = cast("JsonObject", value).get(str(key))
        elif isinstance(value, list) and isinstance(key, int):
            value = next(iter(cast("list[Any]", value)[key : key + 1]), None)
        else:
            return None
    return value
