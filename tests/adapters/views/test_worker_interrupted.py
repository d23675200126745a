"""Ctrl-C, or what else a signal raises, ends a worker: its threads end, and its parts are free."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

import pytest

from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.projections.views.registry import VIEWS
from tests.adapters.views.workers import asked, caught_up


class Alarm(BaseException):
    """What the handler raises."""


def alarm(_number: int, _frame: FrameType | None) -> None:
    raise Alarm


def interrupt_once_at_work(worker: Worker) -> None:
    while not worker.held:
        threading.Event().wait(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)


def test_an_exception_that_ends_a_worker_gives_back_all_that_it_holds(
    url: str, log: Postgres
) -> None:
    del log
    worker = Worker(url, VIEWS, threads=2)
    before = signal.signal(signal.SIGUSR1, alarm)
    threads = set(threading.enumerate())
    ringing = threading.Thread(target=interrupt_once_at_work, args=(worker,))
    try:
        ringing.start()
        with pytest.raises(Alarm):
            worker.run()
    finally:
        signal.signal(signal.SIGUSR1, before)
        ringing.join(60)
    own = [each for each in set(threading.enumerate()) - threads if "psycopg" not in each.name]
    for thread in own:
        thread.join(60)
    assert not any(thread.is_alive() for thread in own)
    assert asked(url, "SELECT owner FROM onrecord.part WHERE owner IS NOT NULL") == []
    caught_up(url, VIEWS)
