"""A projection of one's own that this process keeps: `store.follow`, and `store.run`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final, Protocol, Self

from onrecord.adapters.storage.subscription import Wakeups
from onrecord.adapters.views.ports import ViewStatus
from onrecord.domain.errors import StorageError, ViewStopped

_LOG: Final = logging.getLogger("onrecord.views")

PAUSE: Final = 0.01
"""Seconds between two looks at how far it has come."""


class Runner(Protocol):
    """What folds: a worker on PostgreSQL, on SQLite who reads on."""

    def run(self) -> None:
        """Work until `stop` is called."""
        ...

    def stop(self) -> None:
        """Let `run` return once the batch at hand is done; from any thread."""
        ...

    def ends(self) -> Mapping[int, int]:
        """Return the last position of each shard."""
        ...

    def has_come_to(self, ends: Mapping[int, int]) -> bool:
        """Whether all that is fed has come to these positions, by whomever."""
        ...


class Following(AbstractContextManager["Following"]):
    """A projection that is kept up to date while a `with` lasts, by a thread of this process.

    Leaving the scope finishes the batch at hand. What another process has folded already is not folded
    again.
    """

    def __init__(self, runner: Runner, status: Callable[[], ViewStatus]) -> None:
        """Begin nothing yet; `status` says how the projection stands."""
        self._runner, self._status = runner, status
        self._thread = threading.Thread(target=self._run, name="onrecord-following", daemon=True)
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and return once the batch at hand is done."""
        self._runner.stop()
        self._thread.join()

    @property
    def status(self) -> ViewStatus:
        """Return how the projection stands."""
        return self._status()

    def wait(self, seconds: float | None = None) -> bool:
        """Return once what the log has now is folded, or is parked; False where that took too long.

        Raises ViewStopped where the projection stands still, and what ended the work.
        """
        ends = self.ends()
        until = None if seconds is None else time.monotonic() + seconds
        while not self.has_come_to(ends):
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(PAUSE)
        return True

    def ends(self) -> Mapping[int, int]:
        """Return the last position of each shard of the log: what `has_come_to` is asked of."""
        return self._runner.ends()

    def has_come_to(self, ends: Mapping[int, int]) -> bool:
        """Whether what the log had then is folded, or is parked; errors as `wait`."""
        has_come = self._runner.has_come_to(ends)
        self._must_be_at_work()
        if has_come:
            _must_have_come_to(sum(ends.values()), self.status)
        return has_come

    def _run(self) -> None:
        try:
            self._runner.run()
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            self._error = error
            _LOG.error("the projection is followed no more: %s", type(error).__name__)

    def _must_be_at_work(self) -> None:
        if self._error is not None:
            raise self._error


def _must_have_come_to(position: int, status: ViewStatus) -> None:
    if status.stopped is not None:
        raise ViewStopped(f"{status.view} is stopped: {status.stopped}")
    if status.paused:
        raise ViewStopped(f"{status.view} is paused: resume it")
    if status.position < position:
        raise ViewStopped(f"{status.view} is not fed: another revision made its rows, rebuild it")


class ReadingRunner:
    """Who reads a view on: each step is bounded, and others have their turn between two."""

    def __init__(
        self,
        step: Callable[[], ViewStatus],
        last: Callable[[], int],
        wakeups: Wakeups,
    ) -> None:
        """Take steps; `last` is the log's last position, `wakeups` tell of what is appended."""
        self._step, self._last, self._wakeups = step, last, wakeups
        self._stopped = False
        self._reached: ViewStatus | None = None

    def run(self) -> None:
        """Work until `stop` is called."""
        while not (self._stopped or self._wakeups.closed):
            seen, before = self._wakeups.seen(), self._reached
            try:
                self._reached = self._step()
            except StorageError as error:
                _LOG.warning("nothing is lost, and it is tried again: %s", error)
            if self._reached == before or self._reached is None or not self._reached.behind:
                self._wakeups.wait(seen, lambda: self._stopped)

    def stop(self) -> None:
        """Let `run` return once the step at hand is done."""
        self._stopped = True
        self._wakeups.stir()

    def ends(self) -> Mapping[int, int]:
        """Return the last position, of the one shard."""
        return {0: self._last()}

    def has_come_to(self, ends: Mapping[int, int]) -> bool:
        """Whether it has come to that position, or stands still."""
        reached = self._reached
        if reached is None:
            return False
        return reached.position >= ends[0] or reached.stopped is not None or reached.paused
