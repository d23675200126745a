"""A Redis that failed is left alone, asked by one caller now and then, and talked about once."""

from __future__ import annotations

import logging

import pytest

from hansard.adapters.redis import breaker
from hansard.adapters.redis.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    stopped = Clock()
    monkeypatch.setattr(breaker, "time", stopped)
    monkeypatch.setattr(breaker, "BACK_OFF", 5.0)
    return stopped


@pytest.fixture
def failing(clock: Clock) -> Breaker:
    guarding = Breaker("redis://there")
    guarding.failed(ConnectionError("gone"))
    return guarding


def test_one_that_never_failed_is_always_asked(clock: Clock) -> None:
    guarding = Breaker("redis://there")
    assert [guarding.lets_ask() for _ in range(3)] == [True] * 3


def test_one_that_failed_is_left_alone_for_a_while(failing: Breaker, clock: Clock) -> None:
    clock.now += 4.9
    assert not failing.lets_ask()


def test_then_one_caller_asks_and_the_others_wait_for_what_it_finds_out(
    failing: Breaker, clock: Clock
) -> None:
    clock.now += 5
    assert [failing.lets_ask() for _ in range(3)] == [True, False, False]


def test_one_that_fails_again_is_left_alone_again(failing: Breaker, clock: Clock) -> None:
    clock.now += 5
    assert failing.lets_ask()
    failing.failed(ConnectionError("gone"))
    clock.now += 4.9
    assert not failing.lets_ask()


def test_one_that_answers_again_is_asked_by_all(failing: Breaker, clock: Clock) -> None:
    failing.answered()
    assert [failing.lets_ask() for _ in range(3)] == [True] * 3


def test_it_is_said_once_that_it_fails_and_once_that_it_is_back(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    guarding = Breaker("redis://there")
    for _ in range(3):
        guarding.failed(ConnectionError("gone"))
    for _ in range(3):
        guarding.answered()
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.WARNING,
            "Redis at redis://there is of no use now (ConnectionError: gone): going on without it",
        ),
        (logging.WARNING, "Redis at redis://there answers again"),
    ]
