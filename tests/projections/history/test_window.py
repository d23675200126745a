"""Windows: where the edge lies, and that it moves in steps only."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.content import Text
from onrecord.domain.errors import InvalidInput
from onrecord.domain.events import MessageRecorded
from onrecord.projections.apis.request import APIS, Options, render
from onrecord.projections.history.windows import EVERYTHING, MessageWindow, Window, edge

windows = st.builds(
    Window,
    exchanges=st.integers(1, 50),
    step=st.integers(1, 20),
    pinned=st.integers(0, 5),
)


def test_the_edge_of_the_usual_window() -> None:
    window = Window()
    edges = {closed: edge(closed, window) for closed in (0, 19, 20, 29, 30, 39, 40, 1000)}
    assert edges == {0: 1, 19: 1, 20: 1, 29: 1, 30: 11, 39: 11, 40: 21, 1000: 981}


def test_no_window_keeps_everything() -> None:
    assert edge(10_000, None) == EVERYTHING


def test_pinned_exchanges_that_reach_the_edge_cut_nothing() -> None:
    assert edge(30, Window(pinned=10)) == EVERYTHING
    assert edge(30, Window(pinned=9)) == 11


@given(windows, st.integers(0, 2000))
def test_the_edge_moves_by_whole_steps_and_never_back(window: Window, closed: int) -> None:
    before, after = edge(closed, window), edge(closed + 1, window)
    assert before <= after
    assert (after - EVERYTHING) % window.step == 0


@given(windows, st.integers(0, 2000))
def test_a_window_keeps_what_it_says_and_less_than_a_step_more(window: Window, closed: int) -> None:
    kept = closed - edge(closed, window) + 1
    first_cut = max(window.exchanges + window.step, window.pinned + 1 + window.exchanges)
    assert kept >= min(closed, window.exchanges)
    assert kept < window.exchanges + window.step or closed <= first_cut + window.step


@pytest.mark.parametrize("api", list(APIS))
def test_without_a_window_nothing_stands_outside_of_one(api: str) -> None:
    """Of a main branch that was given up twice, one branch within the other, versions are missing."""
    said = MessageRecorded(role="user", content=(Text(text="Hello"),))
    kept = [(1, said), (5, said)]
    assert not render(kept, Options(api=api)).report.of("window")
    window = Window(exchanges=2, step=1)
    (note,) = render(kept, Options(api=api, window=window)).report.of("window")
    assert "3 events" in note.why
    assert not render([(1, said), (2, said)], Options(api=api, window=window)).report.of("window")


@pytest.mark.parametrize(
    ("kind", "members", "why"),
    [
        (Window, {"exchanges": 0}, "Window.exchanges: Input should be greater than or equal to 1"),
        (Window, {"messages": 5}, "Window.messages: is not one of exchanges, step, pinned"),
        (MessageWindow, {"strategy": "half"}, "MessageWindow.strategy: Input should be "),
    ],
)
def test_what_is_wrong_in_a_window_is_named(
    kind: type[Window | MessageWindow], members: dict[str, Any], why: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        kind(**members)
    assert str(caught.value).startswith(why)
