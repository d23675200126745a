"""A role that may connect and takes whatever advisory lock it can find, and keeps it."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, LiteralString, Self, TypeAlias

import psycopg

from onrecord.adapters.storage.queries import DEFAULT_SCHEMA, lock_of
from tests.patience import join, until

_Line: TypeAlias = psycopg.Connection[tuple[object, ...]]
_Key: TypeAlias = tuple[int, int]
_BASE: Final = lock_of(DEFAULT_SCHEMA)

_FOUND: Final = """
SELECT DISTINCT classid::bigint::bit(32)::int, objid::bigint::bit(32)::int FROM pg_locks
WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = %s)
"""
_HELD: Final = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = ANY (%s) AND granted = %s
"""

_PAIR: Final[tuple[LiteralString, LiteralString]] = (
    "%s, %s",
    "(%s::bigint << 32) | (%s & x'ffffffff'::bigint)",
)
"""Both spaces of keys: two numbers, or one that is as long as both."""


@dataclass(frozen=True)
class Grip:
    """What a stranger holds, and waits for, and with which sessions."""

    holder: _Line
    waiters: tuple[_Line, ...]

    @property
    def held(self) -> int:
        return self.count(granted=True)

    def count(self, *, granted: bool) -> int:
        pids = [line.info.backend_pid for line in (self.holder, *self.waiters)]
        (count,) = self.holder.execute(_HELD, (pids, granted)).fetchone() or (0,)
        assert isinstance(count, int)
        return count


class Lookout:
    """A thread that notes the key of every advisory lock that anybody takes meanwhile."""

    def __init__(self, url: str) -> None:
        self.keys: set[_Key] = set()
        self._line = psycopg.connect(url, autocommit=True)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        join(self._thread)
        self._line.close()

    def _look(self) -> None:
        while not self._ended.is_set():
            found = self._line.execute(_FOUND, (self._line.info.dbname,)).fetchall()
            self.keys.update((first, second) for first, second in found)


def guessed() -> set[_Key]:
    """Return keys that a reader of the sources would try."""
    return {(_BASE, second) for second in range(-8, 16)}


@contextmanager
def gripped(url: str, keys: Iterable[_Key]) -> Generator[Grip]:
    """Hold each lock alone that is free, share those that are shared, and wait for them alone."""
    with psycopg.connect(url, autocommit=True) as holder:
        shared: list[tuple[LiteralString, _Key]] = [
            (form, key)
            for key in sorted(keys)
            for form in _PAIR
            if not _is_alone(holder, form, key)
        ]
        waiters = tuple(psycopg.connect(url, autocommit=True) for _ in shared)
        threads = [
            threading.Thread(target=_wait, args=(line, f"SELECT pg_advisory_lock({form})", key))
            for line, (form, key) in zip(waiters, shared, strict=True)
        ]
        for thread in threads:
            thread.start()
        grip = Grip(holder, waiters)
        until(lambda: grip.count(granted=False) == len(shared), "the stranger's wait")
        try:
            yield grip
        finally:
            for line in waiters:
                line.cancel()
            join(*threads)
            for line in waiters:
                line.close()


def _is_alone(line: _Line, form: LiteralString, key: _Key) -> bool:
    """Take a lock, alone where that can be, and say whether it was; else shared."""
    alone: list[bool] = []

    def taken() -> bool:
        # Neither can be had in the moment in which somebody else looks whether the lock is free.
        alone.append(_took(line, f"SELECT pg_try_advisory_lock({form})", key))
        return alone[-1] or _took(line, f"SELECT pg_try_advisory_lock_shared({form})", key)

    until(taken, "the lock")
    return alone[-1]


def _took(line: _Line, query: LiteralString, key: _Key) -> bool:
    return line.execute(query, key).fetchone() == (True,)


def _wait(line: _Line, query: LiteralString, key: _Key) -> None:
    with suppress(psycopg.errors.QueryCanceled):
        line.execute(query, key)
