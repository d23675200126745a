"""A Redis that failed is left alone, asked by one caller now and then, and talked about once."""

from __future__ import annotations

import logging

import pytest

from onrecord.adapters.redis.connection import Breaker
from tests.adapters.redis.clock import Clock


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
        clock.now += 5
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            logging.WARNING,
            "Redis at redis://there is of no use now (ConnectionError: gone): going on without it",
        ),
        (logging.WARNING, "Redis at redis://there answers again"),
    ]


def test_one_that_fails_at_some_of_what_it_is_asked_is_not_said_to_be_back(
    failing: Breaker, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        clock.now += 5
        assert failing.lets_ask()
        failing.answered()
        clock.now += 4.9
        assert failing.lets_ask()
        failing.failed(ConnectionError("only to be read"))
        assert not failing.lets_ask()
    assert caplog.records == []  # It was said once that it failed.


def test_one_that_fails_after_it_was_back_is_talked_about_again(
    failing: Breaker, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    failing.answered()
    clock.now += 5
    failing.answered()
    failing.failed(ConnectionError("gone"))
    assert [record.getMessage().split(" (")[0] for record in caplog.records] == [
        "Redis at redis://there answers again",
        "Redis at redis://there is of no use now",
    ]
