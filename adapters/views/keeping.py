"""What a person does to views: look how they stand, pause, resume, retry and rebuild them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.view import View


@dataclass(frozen=True, slots=True)
class Standing:
    """How a view stands: `position` of `events` of the log are in the generation that is read.

    Both are counted over all shards, and of the parts of a shard the one that is behind counts.
    `generation` is None before it was begun. `building` is the one that is made beside it, and
    `built` how far that has come. `stopped` says what made it stand still, in our own words, and
    `build_stopped` the same of what is made beside it.
    """

    view: str
    generation: int | None
    revision: int | None
    position: int
    events: int
    parked: int
    paused: bool = False
    stopped: str | None = None
    building: int | None = None
    built: int | None = None
    build_stopped: str | None = None

    @property
    def behind(self) -> int:
        """Return how many events it has not folded yet."""
        return max(0, self.events - self.position)


@dataclass(frozen=True, slots=True)
class Parked:
    """An event that a view could not fold, and behind which its conversation waits in that view.

    `kind` and `error` say what happened, and nothing of what was said. Times are microseconds since
    1970-01-01 UTC; `retry_at` None waits for a person.
    """

    view: str
    generation: int
    tenant: UUID
    conversation_id: UUID
    shard: int
    position: int
    version: int
    type: str
    kind: str
    error: str
    attempts: int
    parked_at: int
    retry_at: int | None


@dataclass(frozen=True, slots=True)
class AtWork:
    """Who works at the views now: so many `workers`, which hold `held` of the log's `parts`."""

    workers: int
    held: int
    parts: int


Progress = Callable[[int, int], None]
"""What is told of a rebuild: how many events are folded, and how many there are."""


class Keeper(Protocol):
    """Who keeps the views of a store. A name that no view bears is InvalidInput."""

    def status(self) -> list[Standing]:
        """Return how each view stands, by name."""
        ...

    def at_work(self) -> AtWork | None:
        """Return who works at the views now; None where they need nobody."""
        ...

    def parked(self, view: str | None = None) -> list[Parked]:
        """Return the parked events of a view, or of all, by view and position."""
        ...

    def pause(self, view: str) -> None:
        """Let a view stand still until it is resumed; it can still be read."""
        ...

    def resume(self, view: str) -> None:
        """Let a view that was paused, or that stopped by itself, go on from where it stands."""
        ...

    def retry(self, view: str, conversation: UUID | None = None) -> int:
        """Have the parked events of a view, or of one conversation, tried again without delay.

        Returns how many are.
        """
        ...

    def rebuild(self, view: str, progress: Progress | None = None) -> None:
        """Make a view anew beside the one that is read, and return when they are switched.

        One that was begun before and not finished is gone on with.
        """
        ...

    def abandon(self, view: str) -> bool:
        """Drop what an unfinished rebuild has made; return whether there was one."""
        ...


def view_of(name: str) -> View:
    """Return the view of a name; InvalidInput says which there are."""
    if name not in VIEWS:
        raise InvalidInput(f"there is no view of that name: there are {', '.join(sorted(VIEWS))}")
    return VIEWS[name]
