"""Where it is measured: a folder on a real disk, a PostgreSQL of its own, and what both are."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import apsw
import psycopg

from tests.bench.measure import Pace
from tests.postgres_server import Server, server

POSTGRES: Final = "18"
_IN_MEMORY: Final = {"tmpfs", "ramfs"}
_PACKAGES: Final = (
    *("apsw", "psycopg", "eventsourcing", "openai-agents", "sqlalchemy", "asyncpg"),
    *("langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres"),
    *("google-adk", "aiosqlite"),
)
_SETTINGS: Final = """
    SELECT name, current_setting(name) FROM unnest(ARRAY['server_version', 'fsync',
    'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'shared_buffers', 'max_wal_size'])
    AS name
"""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: sizes in messages, events of a log that is sealed, rounds, seconds or starts of a round."""

    sizes: tuple[int, ...]
    checkpoint_sizes: tuple[int, ...]
    sealed: int
    pace: Pace
    callers: tuple[int, ...]
    seconds: float
    starts: int


SMALLEST: Final = Scale((10, 20), (10, 20), 20, Pace(2, 2), callers=(2,), seconds=0.2, starts=1)
QUICK: Final = Scale(
    (100, 5_000), (100, 500), 50_000, Pace(10, 5), callers=(16,), seconds=1, starts=2
)
USUAL: Final = Scale(
    (100, 5_000, 100_000),
    (100, 500, 2_000),
    1_000_000,
    Pace(20, 10),
    callers=(16, 64),
    seconds=2,
    starts=5,
)
FULL: Final = replace(USUAL, pace=Pace(40, 20), seconds=5, starts=10)


@dataclass(eq=False)
class Workspace:
    """What a measure needs: how much to do, whether against peers, and places to do it in."""

    scale: Scale
    peers: bool
    folder: Path
    closing: ExitStack
    say: Callable[[str], None]
    tell: Callable[[dict[str, Any]], None]
    _numbers: Iterator[int] = field(default_factory=count)

    def path(self, name: str) -> Path:
        """Return a path that nothing has used."""
        return self.folder / f"{next(self._numbers)}-{name}"

    def database(self) -> str:
        """Return the URL of a new, empty PostgreSQL database."""
        name = f"onrecord_bench_{os.getpid()}_{next(self._numbers)}"
        self.server.execute("CREATE DATABASE {}", name)
        self.closing.callback(self.server.execute, "DROP DATABASE {} WITH (FORCE)", name)
        return self.server.url_of(name)

    @cached_property
    def server(self) -> Server:
        """The PostgreSQL server of the tests, started at the first use."""
        self.say("starting PostgreSQL")
        started = server(POSTGRES)
        self.tell(_promises(started))
        return started

    def environment(self) -> dict[str, Any]:
        """Return what the figures depend on, as one JSON object."""
        return {
            "name": "environment",
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
            "load": os.getloadavg(),
            "file_system": file_system(self.folder),
            "fdatasync_us": round(_fdatasync(self.folder) * 1e6, 1),
            "sqlite": apsw.sqlite_lib_version(),
            "sqlite_of_python": sqlite3.sqlite_version,
            "packages": {name: found for name in _PACKAGES if (found := _version(name))},
        }


@contextmanager
def workspace(
    scale: Scale,
    *,
    peers: bool,
    folder: Path | None,
    say: Callable[[str], None],
    tell: Callable[[dict[str, Any]], None],
) -> Generator[Workspace]:
    """Yield a workspace in a folder of its own, on a disk; it is gone afterwards."""
    place = folder or _on_disk()
    with (
        tempfile.TemporaryDirectory(prefix="onrecord-bench-", dir=place) as made,
        ExitStack() as closing,
    ):
        yield Workspace(scale, peers, Path(made), closing, say, tell)


def file_system(path: Path) -> str:
    """Return the type of the file system that holds a path; `unknown` where /proc does not say."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return "unknown"
    rows = (line.split() for line in mounts.read_text(encoding="utf-8").splitlines())
    above = [(row[1], row[2]) for row in rows if path.resolve().is_relative_to(row[1])]
    return max(above, key=lambda mount: len(mount[0]))[1]


def _promises(started: Server) -> dict[str, Any]:
    """Return how durable a PostgreSQL server is, as one JSON object."""
    with psycopg.connect(started.url) as connection:
        settings = dict[str, str](connection.execute(_SETTINGS).fetchall())
    place = None if started.carried is None else file_system(Path(started.carried.pgdata))
    return {"name": "postgres", "file_system": place, **settings}


def _on_disk() -> Path:
    """Return the folder for temporary files, or the present one if that is kept in memory."""
    usual = Path(tempfile.gettempdir())
    return Path.cwd() if file_system(usual) in _IN_MEMORY else usual


def _fdatasync(folder: Path) -> float:
    """Return the seconds that one durable write of 4 KB takes, for a sense of the disk."""
    file = os.open(folder / "fdatasync", os.O_RDWR | os.O_CREAT)
    try:
        return median(_durable_write(file) for _ in range(101))
    finally:
        os.close(file)


def _durable_write(file: int) -> float:
    began = perf_counter()
    os.pwrite(file, b"x" * 4096, 0)
    os.fdatasync(file)
    return perf_counter() - began


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
