"""What each database that keeps views fills in its own way: reading them, keeping them, verifying them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from pydantic_core import to_json

from onrecord.domain.errors import InvalidInput
from onrecord.domain.header import time_of
from onrecord.domain.inventory import Moment
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.planning import Build, Part
from onrecord.projections.views.projection import ProjectionTransaction
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.view import Row, View

# Read: pages of rows.


@dataclass(frozen=True, slots=True)
class PageRows:
    """A page's rows, and how the view stood at that moment, in the tenant's shard.

    `position` is how far it has come, `behind` how many events are left, `parked` how many
    conversations wait behind an event that could not be folded; `stopped` says why it stands still.
    `redacted` are the versions that the log says are redacted, and that the rows still quote, by conversation.
    """

    rows: tuple[Row, ...]
    position: int
    behind: int
    parked: int
    stopped: str | None = None
    redacted: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])


def standstill(view: str, stopped: str | None, *, paused: bool) -> str | None:
    """Return why a view stands still, if it does: what stopped it, else that it was paused."""
    if stopped is None and paused:
        return f"it was paused; `onrecord resume {view}` lets it go on"
    return stopped


@dataclass(frozen=True, slots=True)
class PageQuery:
    """A page that is asked for: `name` is the query's, `after` the key that it goes on behind.

    Without a `limit` the query is one of totals, which come all at once.
    """

    view: View
    name: str
    tenant: UUID
    filters: Row
    after: Row
    limit: int | None

    def parameters(self) -> tuple[str | int, ...]:
        """Return what the query takes behind the generation and the tenant."""
        filters = to_json(self.filters).decode()
        if self.limit is None:
            return (filters,)
        return filters, to_json(self.after).decode(), self.limit


class Pages(Protocol):
    """The views of a store, for reading."""

    def page(self, query: PageQuery) -> PageRows:
        """Return a page of a view as it stands, after it was caught up if that is done by reading."""
        ...

    def reading(self, view: View) -> AbstractContextManager[ProjectionTransaction]:
        """Lend a transaction that reads, and cannot write, the tables of a projection of one's own."""
        ...

    def erase(self) -> None:
        """Return once no row says any more what the log has erased.

        StorageBusy where another program still needs what was there before.
        """
        ...

    def residue(self) -> tuple[str, ...]:
        """Say where rows that were erased may still be on the disk, as the log does of its own."""
        ...

    def rewrite(self) -> tuple[str, ...]:
        """Write anew what may hold rows that were erased; return the names of what holds none now."""
        ...

    def kept(self) -> KeptViews:
        """Return what is kept, row by row, to be verified."""
        ...

    def close(self) -> None:
        """Let go of what is not the log's own."""
        ...


# Keep: what a person does to views.


@dataclass(frozen=True, slots=True)
class ViewStatus:
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
    1970-01-01 UTC; `retry_at` None waits for a person. `key` is the conversation's: None once it was
    forgotten, and of other tenants' conversations.
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
    key: str | None = None

    @property
    def parked_time(self) -> datetime:
        """Return `parked_at` as a datetime, in UTC."""
        return time_of(self.parked_at)

    @property
    def retry_time(self) -> datetime | None:
        """Return `retry_at` as a datetime, in UTC; None where it is None."""
        return None if self.retry_at is None else time_of(self.retry_at)


Reading = Callable[[Sequence[RecordedEvent]], list[RecordedEvent]]
"""What gives events with their bodies as text, where a log has them encrypted; one that it cannot, as it is."""

Naming = Callable[[list[Parked]], list[Parked]]
"""What gives parked events the keys of their conversations, which only the log has."""


@dataclass(frozen=True, slots=True)
class Workforce:
    """Who works at the maintained views now: so many `workers`, which hold `held` of the log's `parts`.

    `own` are the workers at each projection of one's own that has some: only these know it.
    """

    workers: int
    held: int
    parts: int
    own: Mapping[str, int] = field(default_factory=dict[str, int])

    def at(self, view: str) -> int:
        """Return how many work at a view, or at a projection of one's own."""
        return self.workers if view in VIEWS else self.own.get(view, 0)


Progress = Callable[[int, int], None]
"""What is told of a rebuild: how many events are folded, and how many there are."""


class Keeper(Protocol):
    """Who keeps the views of a store. A name that no view bears is InvalidInput."""

    def status(self) -> list[ViewStatus]:
        """Return how each view stands, by name."""
        ...

    def at_work(self) -> Workforce | None:
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


def view_of(name: str, views: Mapping[str, View]) -> View:
    """Return the view of a name; InvalidInput says which there are."""
    if name not in views:
        raise unknown_view(views)
    return views[name]


def unknown_view(names: Iterable[str]) -> InvalidInput:
    """Return the error for a name that is none of these views'."""
    return InvalidInput(
        f"there is no view of that name: there are {', '.join(sorted(names))}; a projection of your "
        "own is known by store.views.register(...), by --projection or by an entry point"
    )


# Verify: what is kept, row by row, for `onrecord verify --views`.


class KeptMoment(Protocol):
    """The views as they were at one moment, and the log then, or a little later."""

    @property
    def log(self) -> Moment:
        """Return the log, which has all events that the views had folded."""
        ...

    @property
    def pending(self) -> Collection[str]:
        """Return the conversations that the log has erased and the views have still to."""
        ...

    def builds(self) -> list[Build]:
        """Return every generation of every view."""
        ...

    def positions(self, build: Build) -> Mapping[Part, int]:
        """Return how far a generation has come in each part."""
        ...

    def parked(self, build: Build) -> Mapping[str, int]:
        """Return the conversations that wait in a generation, and from which version on."""
        ...

    def rows(self, build: Build, conversation: str, after: int, limit: int) -> list[Row]:
        """Return rows of a conversation in order of version, those behind a version."""
        ...

    def sums(self, build: Build) -> list[Row]:
        """Return all rows of a generation of `usage`."""
        ...

    def conversations(self, build: Build, after: str | None, limit: int) -> list[str]:
        """Return of which conversations there are rows, in order, those behind one."""
        ...

    def generations(self, view: str) -> set[int]:
        """Return of which generations of a view there are rows."""
        ...


class KeptViews(Protocol):
    """The views of a log as its database has them. Nothing that is asked changes them."""

    @property
    def views(self) -> Mapping[str, View]:
        """Return the maintained views as they are kept here."""
        ...

    def readable(self, events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
        """Return events of the log with their bodies as text."""
        ...

    @property
    def parts(self) -> int:
        """Return into how many parts each shard is divided."""
        ...

    def unreadable(self) -> str | None:
        """Return why there is nothing to compare, if so."""
        ...

    def moment(self) -> AbstractContextManager[KeptMoment]:
        """Lend the views as they are now, for a short while."""
        ...

    def index_faults(self) -> list[str]:
        """Return what does not hold of indexes that are kept beside the rows."""
        ...
