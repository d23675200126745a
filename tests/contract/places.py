"""Where the contract suite opens its stores: one place a test, empty at first.

A backend joins the suite by a line in PLACES (and in DURABLE, if its data outlive the process).
A place can be pickled, so that other processes open the same store.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.domain.log import Backend
from tests.contract.http_places import HTTP_PLACES
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
    **HTTP_PLACES,
}
WHERE_THE_LOG_IS: tuple[str, ...] = tuple(name for name in PLACES if name not in HTTP_PLACES)
"""What no client over HTTP may do, such as making keys, is tried at these."""

DURABLE: tuple[str, ...] = ("sqlite", *POSTGRES_PLACES, "http-sqlite")


def prepared(name: str, folder: Path) -> Iterator[Place]:
    """A place for one test; it is removed in the end."""
    place = PLACES[name](folder)
    yield place
    place.remove()
