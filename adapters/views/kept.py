"""What is kept of views, row by row, for `onrecord verify --views`: a port that each database fills."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from onrecord.domain.inventory import Moment
from onrecord.projections.views.planning import Build, Part
from onrecord.projections.views.view import Row


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
