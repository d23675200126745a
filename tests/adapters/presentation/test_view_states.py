"""How views and their workers stand, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onrecord.adapters.presentation.view_states import state_of, workers_at_work
from onrecord.adapters.views.ports import ViewStatus, Workforce

DONE = ViewStatus("audit", 1, 1, position=7, events=7, parked=0)
WORKING = Workforce(workers=2, held=3, parts=4)
IDLE = Workforce(workers=0, held=0, parts=4)
OWN_BEHIND = replace(DONE, view="refunds", position=2)
UNKNOWN = "no worker knows it: start one with --projection module:NAME"


@pytest.mark.parametrize(
    ("status", "working", "state"),
    [
        (DONE, WORKING, ""),
        (replace(DONE, generation=None), None, "not begun: nobody has read it"),
        (replace(DONE, generation=None), IDLE, "not begun"),
        (
            replace(DONE, paused=True, stopped="the disk is full"),
            None,
            "paused; stopped: the disk is full",
        ),
        (replace(DONE, built=1000, events=2000), None, "rebuilding, 1,000 of 2,000"),
        (
            replace(DONE, built=1, build_stopped="no room"),
            None,
            "its rebuild is stopped: no room, 1 of 7",
        ),
        (OWN_BEHIND, WORKING, UNKNOWN),
        (OWN_BEHIND, replace(WORKING, own={"refunds": 1}), ""),
        (OWN_BEHIND, IDLE, ""),
    ],
)
def test_a_view_that_does_not_do_what_it_should_is_said(
    status: ViewStatus, working: Workforce | None, state: str
) -> None:
    assert state_of(status, working) == state


def test_the_workers_are_counted_with_their_share_of_the_log() -> None:
    assert workers_at_work(WORKING) == "2 workers at work, on 3 of 4 parts of the log"
    assert workers_at_work(IDLE).startswith("no worker is at work: `onrecord worker`")
