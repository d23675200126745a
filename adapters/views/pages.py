"""Where the pages of views are read: a port, which each database fills in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from pydantic_core import to_json

from onrecord.adapters.views.kept import KeptViews
from onrecord.projections.views.view import Row, View


@dataclass(frozen=True, slots=True)
class Found:
    """A page's rows, and how the view stood at that moment, in the tenant's shard.

    `position` is how far it has come, `behind` how many events are left, `parked` how many
    conversations wait behind an event that could not be folded; `stopped` says why it stands still.
    """

    rows: tuple[Row, ...]
    position: int
    behind: int
    parked: int
    stopped: str | None = None


def standstill(view: str, stopped: str | None, *, paused: bool) -> str | None:
    """Return why a view stands still, if it does: what stopped it, else that it was paused."""
    if stopped is None and paused:
        return f"it was paused; `onrecord resume {view}` lets it go on"
    return stopped


@dataclass(frozen=True, slots=True)
class Asked:
    """A page that is asked for: `query` is its name, `after` the key that it goes on behind.

    Without a `limit` the query is one of totals, which come all at once.
    """

    view: View
    query: str
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

    def page(self, asked: Asked) -> Found:
        """Return a page of a view as it stands, after it was caught up if that is done by reading."""
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
