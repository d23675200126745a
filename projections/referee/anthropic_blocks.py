"""The blocks of a request to Anthropic's Messages API, by message and by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.referee.members import objects, text
from onrecord.projections.referee.violation import Path

THINKING: Final = frozenset({"thinking", "redacted_thinking"})
SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})


@dataclass(frozen=True, slots=True)
class Placed:
    """A block and where it stands."""

    path: Path
    message: int
    role: str
    block: JsonObject

    @property
    def kind(self) -> str:
        """The block's type."""
        return text(self.block.get("type"))

    @property
    def id(self) -> str:
        """The id of a call."""
        return text(self.block.get("id"))

    @property
    def answers(self) -> str:
        """The id of the call that a result is for."""
        return text(self.block.get("tool_use_id"))

    @property
    def is_server_result(self) -> bool:
        """Whether it is what a tool of the provider's gave."""
        return self.kind.endswith("_tool_result")


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring messages of one role: the service joins them (R5)."""

    index: int
    role: str
    blocks: tuple[Placed, ...]

    @property
    def has_only_results(self) -> bool:
        """Whether it says nothing but what the caller's tools gave."""
        return all(placed.kind == "tool_result" for placed in self.blocks)

    def spelled(self, place: int) -> str:
        """Return how the service names a block: recorded, it counts after it has joined them."""
        return f"messages.{self.index}.content.{place}"


def blocks_of(request: Mapping[str, Any]) -> tuple[Placed, ...]:
    """Return all blocks of the messages; a content that is a string is one text."""
    placed: list[Placed] = []
    for index, message in objects(request.get("messages")):
        role, content = text(message.get("role")), message.get("content")
        path: Path = ("messages", index, "content")
        if isinstance(content, str) and content:
            placed.append(Placed(path, index, role, {"type": "text", "text": content}))
        for place, block in objects(content):
            placed.append(Placed((*path, place), index, role, block))
    return tuple(placed)


def turns_of(request: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Return the turns that have blocks, in order."""
    grouped = groupby(blocks_of(request), key=lambda placed: placed.role)
    return tuple(Turn(index, role, tuple(blocks)) for index, (role, blocks) in enumerate(grouped))


def goes_on_from_thread(request: Mapping[str, Any]) -> bool:
    """Whether the service holds what comes before the messages (R22)."""
    thread: Any = request.get("thread")
    return isinstance(thread, dict) and cast("JsonObject", thread).get("type") == "continue"


def goes_on(turns: Sequence[Turn]) -> bool:
    """Whether the last turn is one that the service may have paused, and goes on with (R4).

    It pauses amid its own tools and after a compaction only.
    """
    if not turns or turns[-1].role != "assistant":
        return False
    return any(
        placed.kind in SERVER_CALLS or placed.kind == "compaction" or placed.is_server_result
        for placed in turns[-1].blocks
    )
