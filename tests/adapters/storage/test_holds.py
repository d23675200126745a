"""What is held is believed to be left once its function has ended, and not before."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest

from onrecord.adapters.storage import interrupts
from onrecord.adapters.storage.interrupts import Hold, holds, own_holds, release_left
from onrecord.adapters.storage.sqlite.held_files import HeldFiles

PATIENCE = 60.0


class Held(Hold):
    """Nothing, held; it counts how often somebody asked whether it was left."""

    def __init__(self) -> None:
        self.asked = 0

    def give_back(self) -> None:
        self.drop()

    def is_left(self) -> bool:
        self.asked += 1
        return super().is_left()


class Holder:
    """A thread that holds something, now amid a generator and now not: a step each time it is told."""

    def __init__(self) -> None:
        self.hold = Held()
        self._goes_on, self._stands = threading.Semaphore(0), threading.Semaphore(0)
        self._is_over = False
        self._thread = threading.Thread(target=self._holds)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._stands.acquire(timeout=PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._goes_on.release()
        self._thread.join(PATIENCE)

    def step(self) -> None:
        self._goes_on.release()
        assert self._stands.acquire(timeout=PATIENCE)

    def _holds(self) -> None:
        self.hold.note(0)
        for _ in self._inside():
            self._stand()

    def _inside(self) -> Generator[None]:
        while not self._is_over:
            self._stand()
            yield

    def _stand(self) -> None:
        if not self._is_over:
            self._stands.release()
            assert self._goes_on.acquire(timeout=PATIENCE)


@contextmanager
def a_step_at_each_operation(holder: Holder) -> Generator[None]:
    """Let a holder take a step between any two operations of `holds`."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_globals.get("__name__") != interrupts.__name__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            holder.step()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def test_a_holder_is_not_believed_gone_whatever_it_does_amid_the_look() -> None:
    with Holder() as holder:
        with a_step_at_each_operation(holder):
            looks = [holder.hold.is_left() for _ in range(4)]
        assert looks == [False] * 4
        assert holder.hold in holds()
    assert holder.hold.is_left()
    release_left(everywhere=True)
    assert holder.hold not in holds()


def test_a_function_that_stands_still_holds_what_it_took() -> None:
    hold = Held()

    def holder() -> Generator[None]:
        hold.note(0)
        yield
        hold.give_back()

    standing = holder()
    next(standing)
    assert not hold.is_left()
    gc.freeze()
    try:
        assert not hold.is_left()
    finally:
        gc.unfreeze()
    standing.close()
    assert hold.is_left()
    release_left(everywhere=True)
    assert hold not in holds()


def test_a_function_that_raised_has_left_what_it_took() -> None:
    hold = Held()

    def raising() -> None:
        hold.note(0)
        assert not hold.is_left()
        raise KeyError

    with pytest.raises(KeyError):
        raising()
    assert hold.is_left()
    # The next that this thread takes gives it back.
    other = Held()
    other.note(0)
    assert own_holds() == (other,)
    other.drop()


def test_what_an_exception_kept_from_being_noted_can_be_given_back() -> None:
    hold = Held()
    hold.give_back()
    assert hold not in holds()


def test_who_takes_something_looks_at_what_its_own_thread_holds_alone() -> None:
    with Holder() as holder:
        outer, inner = Held(), Held()
        outer.note(0)
        inner.note(0)
        assert own_holds() == (outer, inner)
        assert (outer.asked, holder.hold.asked) == (1, 0)
        inner.drop()
        outer.drop()
    release_left(everywhere=True)


def test_a_glance_that_is_not_due_asks_for_no_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1.0)
    files = HeldFiles(str(tmp_path / "log.db"), None)
    files.take_note()
    asked: list[None] = []

    def is_open() -> bool:
        asked.append(None)
        return True

    for _ in range(3):
        files.glance(is_open)
    assert len(asked) == 1
