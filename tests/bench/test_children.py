"""No child process outlives its measure, whatever ends the measure or the child."""

import multiprocessing
import os
from contextlib import ExitStack
from multiprocessing.connection import Connection

import pytest

from tests.bench.children import start


def answer(pipe: Connection) -> None:
    while (number := pipe.recv()) is not None:
        pipe.send(number + 1)


def die(pipe: Connection) -> None:
    pipe.recv()
    os._exit(3)


def test_a_child_ends_with_a_measure_that_fails_before_the_child_was_heard() -> None:
    with pytest.raises(ZeroDivisionError), ExitStack() as stack:
        for _ in range(2):
            start(stack, answer)
        raise ZeroDivisionError
    assert multiprocessing.active_children() == []


def test_nobody_waits_for_the_answer_of_a_child_that_died() -> None:
    with ExitStack() as stack:
        other, dead = start(stack, answer), start(stack, die)
        dead.send(1)
        with pytest.raises(EOFError):
            dead.recv()
        other.send(1)
        assert other.recv() == 2
    assert multiprocessing.active_children() == []
