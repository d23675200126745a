"""What an agent read over MCP, as the access log is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar
from uuid import UUID

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Read:
    """A read by a tool or of a resource: what was asked, and how much of which conversations is shown."""

    name: str
    which: UUID | None
    asked: Mapping[str, object]
    entries: int
    conversations: tuple[UUID, ...] = ()


Record: TypeAlias = Callable[[Read], None]
"""Tells the access log of a read, before anything is shown."""


class Runs(Protocol):
    """Runs reads beside the event loop."""

    async def __call__(self, name: str, step: Callable[[], T]) -> T:
        """Return what a step gives that reads for a tool, or for `resource`; StorageBusy where that is too much."""
        ...
