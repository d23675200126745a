"""The time in which a call waited for a person is told apart from the time that the call took."""

from __future__ import annotations

import pytest

from onrecord.adapters.page.conversation.time_tables import extremes_of, totals_of
from onrecord.adapters.page.conversation.waits import Wait
from onrecord.adapters.page.conversation.waterfall import waterfall_of
from onrecord.domain.tools import ApprovalDecided, ApprovalRequested
from tests.adapters.page.test_times import DAY, SECOND, Story


def approve(story: Story, asked: float, decided: float, *, call: int, number: int = 0) -> None:
    """A person is asked about the call at a version, and grants it."""
    story.at(asked, ApprovalRequested(call_id="slow", call=call, number=number, at=0))
    story.at(
        decided,
        ApprovalDecided(call_id="slow", call=call, number=number, at=0, decision="granted"),
    )


def test_a_wait_for_a_person_is_no_time_of_the_call_and_is_told_apart() -> None:
    story = Story()
    story.answer(2, story.ask(0), 1_000, 50, ["slow", "large"])
    approve(story, 3, 7_203, call=2)
    story.record_result(7_204, "large", "x")
    approve(story, 7_205, 7_215, call=2, number=1)
    story.record_result(7_217, "slow", "found")
    found = story.times()
    slow, large = found.calls
    assert (slow.duration, slow.wait) == (
        2 * SECOND,
        Wait(DAY + 3 * SECOND, DAY + 7_215 * SECOND, 7_210 * SECOND),
    )
    assert (large.duration, large.wait) == (7_202 * SECOND, None)
    extremes, totals = extremes_of(found), totals_of(found)
    assert (extremes.slowest_call, extremes.longest_wait) == (large, slow)
    assert (totals.calling, totals.waiting) == (7_204 * SECOND, 7_210 * SECOND)
    (group,) = waterfall_of(found).groups
    bars = {bar.name: bar for bar in group.bars}
    assert (bars["slow"].x, bars["slow"].width) == ("99.60%", "0.40%")  # As small as is still seen.
    wait = bars["slow"].wait
    assert wait is not None
    assert (wait.waited, wait.x) == (7_210 * SECOND, "0.04%")
    assert float(wait.width.rstrip("%")) == pytest.approx(100 * 7_212 / 7_217, abs=0.01)
    assert bars["large"].wait is None


def test_a_call_that_was_given_up_before_anybody_decided_took_no_time_of_its_own() -> None:
    story = Story()
    story.answer(2, story.ask(0), 1_000, 50, ["slow", "large"])
    for call in (2, 3):
        story.at(3, ApprovalRequested(call_id="slow", call=call, number=0, at=0))
    story.record_result(63, "slow", "cancelled")
    given_up, waiting = story.times().calls
    assert (given_up.duration, given_up.wait) == (
        None,
        Wait(DAY + 3 * SECOND, DAY + 63 * SECOND, 60 * SECOND),
    )
    assert (waiting.duration, waiting.wait) == (None, Wait(DAY + 3 * SECOND, None, 0))
