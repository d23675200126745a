"""The events that tell an item of a Responses stream in pieces, and where the pieces belong.

Kinds: the OpenAPI description of OpenAI's API, "ResponseStreamEvent", and
`response.apply_patch_call_operation_diff`, which services send though it is not described there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from onrecord.domain.jsontext import JsonObject

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
