"""The time in which a call waited for a person is told apart from the time that the call took."""

from __future__ import annotations

import pytest

from onrecord.adapters.page.conversation.axis import Span, axis_of
from onrecord.adapters.page.conversation.time_tables import extremes_of, totals_of
from onrecord.adapters.page.conversation.waits import Period, Wait, Waits
from onrecord.adapters.page.conversation.waterfall import Cut, waterfall_of
from onrecord.domain.tools import ApprovalDecided, ApprovalRequested
from tests.adapters.page.test_times import DAY, SECOND, Story


def approve(story: Story, asked: float, decided: float, *, call: int, number: int = 0) -> None:
    """A person is asked about the call at a version, and grants it."""
    story.at(asked, ApprovalRequested(call_id="slow", call=call, number=number, at=0))
    story.at(
        decided,
        ApprovalDecided(call_id="slow", call=call, number=number, at=0, decision="granted"),
    )


def period(asked: float, ended: float | None) -> Period:
    """A wait from one second to another."""
    return Period(
        DAY + round(asked * SECOND), None if ended is None else DAY + round(ended * SECOND)
    )


def test_a_denied_call_is_told_as_such() -> None:
    waits = Waits()
    waits.take({"call": 3, "number": 0}, 1)
    waits.take({"call": 3, "number": 0, "decision": "denied"}, 5)
    waits.take({"call": 4, "number": 0}, 1)
    waits.take({"call": 4, "number": 0, "decision": "granted"}, 5)
    assert waits.wait_for(3, 5) == Wait((Period(1, 5),), is_denied=True)
    assert waits.wait_for(4, 9) == Wait((Period(1, 5),))


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
        Wait((period(3, 7_203), period(7_205, 7_215))),
    )
    assert (large.duration, large.wait) == (7_202 * SECOND, None)
    assert slow.wait is not None
    assert (slow.wait.asked_at, slow.wait.ended_at, slow.wait.total) == (
        *(DAY + 3 * SECOND, DAY + 7_215 * SECOND, 7_210 * SECOND),
    )
    extremes, totals = extremes_of(found), totals_of(found)
    assert (extremes.slowest_call, extremes.longest_wait) == (large, slow)
    assert (totals.calling, totals.waiting) == (7_204 * SECOND, 7_210 * SECOND)
    (group,) = waterfall_of(found).groups
    bars = {bar.name: bar for bar in group.bars}
    assert (bars["slow"].x, bars["slow"].width) == ("99.60%", "0.40%")  # As small as is still seen.
    wait = bars["slow"].wait
    assert wait is not None
    assert (wait.total, wait.x) == (7_210 * SECOND, "0.04%")
    assert float(wait.width.rstrip("%")) == pytest.approx(100 * 7_202 / 7_207, abs=0.01)
    assert bars["large"].wait is None
    assert group.cut == 10 * SECOND, "until 7,204 the other call worked, and then nobody was asked"


def test_a_wait_of_hours_is_cut_out_so_that_what_was_done_is_seen() -> None:
    story = Story()
    story.answer(2, story.ask(0), 1_000, 50, ["slow"])
    approve(story, 3, 7_203, call=2)
    story.record_result(7_205, "slow", "found")
    story.answer(7_209, story.ask(7_205), 1_100, 50)
    waterfall = waterfall_of(story.times())
    (group,) = waterfall.groups
    assert [(bar.x, bar.width) for bar in group.bars] == [
        *(("0.00%", "22.22%"), ("33.33%", "22.22%"), ("55.56%", "44.44%")),
    ]
    assert waterfall.ticks == ((5 * SECOND, "55.56%"),)
    assert (group.took, group.cut) == (7_209 * SECOND, 7_200 * SECOND)
    assert group.cuts == (Cut(7_200 * SECOND, "33.33%"),)


def test_time_is_cut_out_where_something_waits_and_nothing_works() -> None:
    waits = [Span(10, 50), Span(30, 90), Span(200, 100), Span(110, 120)]
    work = [Span(0, 20), Span(40, 45), Span(60, 60), Span(80, 100), Span(105, 130)]
    axis = axis_of(0, waits, work)
    assert axis.cuts == (Span(20, 40), Span(45, 80))
    assert [axis.offset(at) for at in (0, 20, 30, 40, 45, 60, 80, 130)] == [
        *(0, 20, 20, 20, 25, 25, 25, 75),
    ]
    assert axis_of(7, [], work).offset(9) == 2


def test_a_call_that_was_given_up_before_anybody_decided_took_no_time_of_its_own() -> None:
    story = Story()
    story.answer(2, story.ask(0), 1_000, 50, ["slow", "large"])
    for call in (2, 3):
        story.at(3, ApprovalRequested(call_id="slow", call=call, number=0, at=0))
    story.record_result(63, "slow", "cancelled")
    given_up, waiting = story.times().calls
    assert (given_up.duration, given_up.wait) == (
        None,
        Wait((period(3, 63),)),
    )
    assert (waiting.duration, waiting.wait) == (None, Wait((period(3, None),)))
