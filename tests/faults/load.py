"""Threads that append all the time, for what is done to a store in use; they tell what was durable."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from uuid import UUID, uuid4

from onrecord.domain.log import Log, Recorded
from tests.factories import appending, prompt
from tests.patience import PATIENCE, join

THREADS = 3


class Load:
    """What the threads were told so far; `failed` is the first error that one of them ended with."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._told: list[UUID] = []
        self._stopped = threading.Event()
        self.failed: BaseException | None = None

    def told(self) -> set[UUID]:
        """Return the ids of the events that are acknowledged by now."""
        return set(self._told)

    def go_on(self, appends: int = 30) -> None:
        """Return when so many more events are acknowledged; fail if they do not come."""
        wanted, deadline = len(self._told) + appends, time.monotonic() + PATIENCE
        while len(self._told) < wanted:
            if self.failed is not None:
                raise self.failed
            assert time.monotonic() < deadline, "the writers stand still"
            time.sleep(0.002)

    def stop(self) -> None:
        """End the threads after the append that each is at."""
        self._stopped.set()

    def work(self) -> None:
        """Append to a conversation of its own until stopped."""
        own = uuid4()
        try:
            while not self._stopped.is_set():
                append = appending(own, prompt(), prompt())
                (verdict,) = self._log.append([append])
                assert isinstance(verdict, Recorded)
                self._told += [event.event_id for event in append.events]
        except BaseException as error:
            self.failed = self.failed or error
            raise


@contextmanager
def under_load(log: Log) -> Generator[Load]:
    """Yield while threads append; at the end all of them have ended, and none with an error."""
    load = Load(log)
    threads = [threading.Thread(target=load.work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        load.go_on()
        yield load
    finally:
        load.stop()
        for thread in threads:
            join(thread)
