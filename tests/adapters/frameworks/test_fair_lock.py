"""Threads get a fair lock in the order in which they asked for it."""

from __future__ import annotations

import signal
import threading

import pytest

from onrecord.adapters.frameworks.langgraph.fair_lock import FairLock
from tests.patience import join, until


def _waiter(lock: FairLock, number: int, order: list[int]) -> threading.Thread:
    """Start a thread that waits for a lock, as so many before it do."""

    def hold() -> None:
        with lock.held():
            order.append(number)

    thread = threading.Thread(target=hold)
    thread.start()
    until(lambda: lock.waiting == number + 1, "the thread that waits")
    return thread


def test_who_asked_first_is_first_and_who_asks_again_is_last() -> None:
    lock, order = FairLock(), list[int]()
    with lock.held():
        threads = [_waiter(lock, number, order) for number in range(5)]
    with lock.held():
        order.append(5)
    join(*threads)
    assert order == list(range(6))


def test_one_that_failed_has_released_it() -> None:
    lock = FairLock()
    with pytest.raises(ValueError, match="nothing"), lock.held():
        raise ValueError("nothing")
    with lock.held():
        assert lock.waiting == 0


def test_one_that_is_interrupted_while_it_waits_stops_nobody() -> None:
    lock, release = FairLock(), threading.Event()

    def hold() -> None:
        with lock.held():
            until(lambda: lock.waiting == 1, "the thread that waits")
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            until(release.is_set)

    thread = threading.Thread(target=hold)
    thread.start()
    until(lambda: lock._queue, "the thread that holds it")  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(KeyboardInterrupt), lock.held():
        raise AssertionError("it was held by two")
    release.set()
    join(thread)
    with lock.held():
        assert lock.waiting == 0
