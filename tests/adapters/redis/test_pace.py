"""A Redis that answers late, one time after the other, is left alone; a late answer alone is not."""

from __future__ import annotations

import pytest

from onrecord.adapters.redis import connection as breaker
from onrecord.adapters.redis import connection as pace
from onrecord.adapters.redis.connection import LATE_IN_A_ROW, LATE_SECONDS, Pace
from tests.adapters.redis.clock import Clock

LATE = 2 * LATE_SECONDS


@pytest.fixture(autouse=True)
def as_in_earnest(waits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "LATE_SECONDS", LATE_SECONDS)


@pytest.fixture
def late(clock: Clock) -> Pace:
    watching = Pace("redis://there")
    for _ in range(LATE_IN_A_ROW):
        watching.took(LATE)
    return watching


def test_one_that_is_late_now_and_then_is_asked(clock: Clock) -> None:
    watching = Pace("redis://there")
    for _ in range(10):
        for seconds in (*[LATE] * (LATE_IN_A_ROW - 1), 0.0):
            watching.took(seconds)
            assert watching.lets_ask()


def test_one_that_is_late_time_after_time_is_left_alone_for_a_while(
    late: Pace, clock: Clock
) -> None:
    assert not late.lets_ask()
    clock.now += breaker.BACK_OFF
    assert [late.lets_ask() for _ in range(2)] == [True, False]


def test_one_that_is_late_again_is_left_alone_again(late: Pace, clock: Clock) -> None:
    clock.now += breaker.BACK_OFF
    late.took(LATE)
    assert not late.lets_ask()


def test_one_that_is_in_time_again_is_asked_by_all(late: Pace, clock: Clock) -> None:
    clock.now += breaker.BACK_OFF
    late.took(0.0)
    assert [late.lets_ask() for _ in range(3)] == [True] * 3


@pytest.mark.usefixtures("late")
def test_it_is_said_why_it_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    (record,) = caplog.get_records("setup")
    assert record.getMessage() == (
        "Redis at redis://there is of no use now "
        "(TimeoutError: its answers take over 0.05 seconds): going on without it"
    )
