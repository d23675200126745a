"""An exception of a signal at each step of the spool: what was to be kept is recorded, once."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from onrecord.adapters.recording.spool import RecordingWarning, Spool
from onrecord.adapters.recording.unstored import PendingAppend
from onrecord.adapters.storage.memory.memory import Memory
from tests.adapters.wire.spooled_events import FULL, begin, unstored
from tests.interrupts import Steps, steps_of
from tests.ledger import verified_log

# A file that was opened as the exception came is closed by the interpreter, which says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SEED: Final = 20_261_122


def recorded_once(store: Memory, waiting: PendingAppend) -> bool:
    wanted = [event.event_id for event in waiting.append.events]
    found = [event.event_id for event in verified_log(store)]
    return all(found.count(event_id) == 1 for event_id in wanted)


def taken_in(spool: Spool, store: Memory) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordingWarning)
        spool.settle(store)


def chosen(whole: int, most: int | None) -> list[int]:
    # At the first step nothing was given to the spool yet.
    steps = range(2, whole + 1)
    return list(steps) if most is None else random.Random(SEED).sample(steps, min(most, whole - 1))


def begun(store: Memory, text: str) -> PendingAppend:
    waiting = unstored(text, blob=text.encode())
    begin(store, waiting)
    return waiting


def keep_interrupted(folder: Path, most: int | None) -> None:
    """Interrupt what keeps an answer, then keep another and take both in."""
    whole = steps_of(lambda: Spool(folder / "counted").put(unstored("hello"), FULL))
    for step in chosen(whole, most):
        store, spool = Memory(), Spool(folder / str(step))
        waiting, other = begun(store, "hello"), begun(store, "another")
        Steps(frozenset({step})).run(partial(spool.put, waiting, FULL))
        spool.put(other, FULL)
        must_be_taken_in(folder / str(step), spool, store, [waiting, other])


def take_in_interrupted(folder: Path, most: int | None) -> None:
    """Interrupt what takes two answers in, then take in what is left."""

    def filled(place: Path) -> tuple[Spool, Memory, list[PendingAppend]]:
        store, spool = Memory(), Spool(place)
        all_waiting = [begun(store, text) for text in ("one", "two")]
        for waiting in all_waiting:
            spool.put(waiting, FULL)
        return spool, store, all_waiting

    spool, store, _ = filled(folder / "counted")
    whole = steps_of(lambda: taken_in(spool, store))
    for step in chosen(whole, most):
        spool, store, all_waiting = filled(folder / str(step))
        Steps(frozenset({step})).run(partial(taken_in, spool, store))
        must_be_taken_in(folder / str(step), spool, store, all_waiting)


def must_be_taken_in(
    folder: Path, spool: Spool, store: Memory, all_waiting: list[PendingAppend]
) -> None:
    taken_in(spool, store)
    assert all(recorded_once(store, waiting) for waiting in all_waiting), folder.name
    assert not list(folder.iterdir()), folder.name


VERBS: Final[list[Callable[[Path, int | None], None]]] = [keep_interrupted, take_in_interrupted]


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_spooled_outlasts_an_interrupt_at_any_step(
    tmp_path: Path, verb: Callable[[Path, int | None], None]
) -> None:
    verb(tmp_path, 40)


@pytest.mark.soak
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_spooled_outlasts_an_interrupt_at_each_step(
    tmp_path: Path, verb: Callable[[Path, int | None], None]
) -> None:
    verb(tmp_path, None)
