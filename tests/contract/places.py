"""Where the contract suite opens its stores: one place a test, empty at first.

A backend joins the suite by a line in PLACES (and in DURABLE, if its data outlive the process).
A place can be pickled, so that other processes open the same store.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.domain.log import Backend
from tests.postgres_places import POSTGRES_PLACES


class Place(Protocol):
    """Somewhere a store can be opened, and opened again."""

    def open(self) -> Backend:
        """Open the store, made at the first time."""
        ...

    def remove(self) -> None:
        """Take away what the test left, once everything is closed."""
        ...


@dataclass(frozen=True)
class MemoryPlace:
    def open(self) -> Backend:
        return Memory()

    def remove(self) -> None:
        """Nothing is left."""


@dataclass(frozen=True)
class SqlitePlace:
    folder: Path

    def open(self) -> Backend:
        return open_sqlite(self.folder / "log.db")

    def remove(self) -> None:
        """The folder goes with the test."""


def _memory(_: Path) -> Place:
    return MemoryPlace()


PLACES: dict[str, Callable[[Path], Place]] = {
    "memory": _memory,
    "sqlite": SqlitePlace,
    **POSTGRES_PLACES,
}
DURABLE: tuple[str, ...] = ("sqlite", *POSTGRES_PLACES)
