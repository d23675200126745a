"""The history in a request, as the service reads it: every block with its place."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from pydantic import JsonValue

from onrecord.adapters.demo.scenes import JsonObject

THINKING = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A content block of a request; `path` names it in an error, as `messages.1.content.0`."""

    message: int
    path: str
    role: str
    block: JsonObject

    @property
    def kind(self) -> str:
        """The block's type; empty when it has none."""
        return text(self.block.get("type"))


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive messages of one role, which the service merges to one."""

    role: str
    blocks: tuple[PlacedBlock, ...]

    @property
    def is_prompt(self) -> bool:
        """Whether a user says something in it, instead of only returning tool results."""
        return self.role == "user" and any(placed.kind != "tool_result" for placed in self.blocks)


def text(value: JsonValue) -> str:
    """Return the value when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def objects(value: JsonValue) -> list[JsonObject]:
    """Return the objects in a list; a string counts as one text block, as the service takes it."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}] if value else []
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def placed_blocks(request: JsonObject) -> tuple[PlacedBlock, ...]:
    """Return every content block of the request's messages, in order."""
    return tuple(_placed(request))


def runs(blocks: tuple[PlacedBlock, ...]) -> tuple[Run, ...]:
    """Return the blocks by speaker: neighbours of one role together."""
    return tuple(
        Run(role, tuple(group)) for role, group in groupby(blocks, lambda placed: placed.role)
    )


def without_cache_marks(value: JsonValue) -> JsonValue:
    """Return the value without any `cache_control`: marks are not part of the history."""
    match value:
        case dict():
            return {
                key: without_cache_marks(inner)
                for key, inner in value.items()
                if key != "cache_control"
            }
        case list():
            return [without_cache_marks(inner) for inner in value]
        case _:
            return value


def _placed(request: JsonObject) -> Iterator[PlacedBlock]:
    for index, message in enumerate(objects(request.get("messages"))):
        for place, block in enumerate(objects(message.get("content"))):
            path = f"messages.{index}.content.{place}"
            yield PlacedBlock(index, path, text(message.get("role")), block)
