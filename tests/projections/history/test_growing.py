"""A history that grows is at any time what a fold of all its events gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain import events, jsontext
from onrecord.domain.errors import CorruptRecord, NothingToSend, UnsupportedDocument
from onrecord.domain.log import Told
from onrecord.projections.api import names
from onrecord.projections.apis.request import Options, render
from onrecord.projections.history.history import History, Missing
from onrecord.projections.history.turns import GrowingHistory, history
from tests.projections.happenings import Story
from tests.projections.marked import BLOBS
from tests.projections.mixed_happenings import everything
from tests.projections.recorded import recorded
from tests.search import examples

MISSING: Sequence[Missing] = ("cancel", "drop")


@st.composite
def compacts(draw: st.DrawFn) -> Callable[[Story], object]:
    place = draw(st.integers(0, 30))
    return lambda story: story.happen(
        events.HistoryCompacted(summary="in short", until=min(place, len(story.events)))
    )


@st.composite
def asks_unseen(draw: st.DrawFn) -> Callable[[Story], object]:
    """A request that had not seen the last events."""
    back = draw(st.integers(0, 4))
    return lambda story: story.ask(seen=max(1, len(story.events) - back))


@st.composite
def goes_back(draw: st.DrawFn) -> Callable[[Story], object]:
    """The main branch goes on from an earlier place."""
    back = draw(st.integers(0, 4))
    return lambda story: story.happen(events.LineAdopted(after=max(1, len(story.events) - back)))


happenings = st.lists(
    everything | everything | everything | compacts() | asks_unseen() | goes_back(), max_size=16
)


def said(folded: History) -> list[bytes | str]:
    """What each API is sent of a history, and why it is not; what the history itself says."""
    requests: list[bytes | str] = [repr((folded.turns, folded.notes, folded.left_out))]
    for api in names():
        try:
            request = render(folded, Options(api=api), BLOBS)
        except (NothingToSend, UnsupportedDocument) as error:
            requests.append(repr(error))
        else:
            requests += (jsontext.write(request.body), str(request.report))
    return requests


@examples(400)
@given(
    deeds=happenings,
    begin=st.integers(0, 3),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    missing=st.sampled_from(MISSING),
)
def test_whatever_happens_a_growing_history_is_what_a_fold_from_scratch_gives(
    deeds: list[Callable[[Story], object]], begin: int, cuts: list[int], missing: Missing
) -> None:
    story = Story()
    for deed in deeds:
        deed(story)
    told = recorded(story)[begin:]
    places = [0, *sorted(min(cut, len(told)) for cut in cuts), len(told)]
    growing = GrowingHistory((), missing)
    before: list[tuple[History, list[bytes | str]]] = []
    for first, last in pairwise(places):
        growing.take(told[first:last])
        folded = growing.history()
        assert said(folded) == said(history(told[:last], missing))
        before.append((folded, said(folded)))
    for folded, requests in before:
        assert said(folded) == requests


def test_what_is_taken_in_later_does_not_change_a_history() -> None:
    story = Story()
    story.user("hello")
    growing = GrowingHistory(recorded(story))
    first = growing.history()
    story.ask()
    story.answer("good day")
    growing.take(recorded(story)[1:])
    assert [turn.text for turn in first.turns] == ["hello"]
    assert [turn.text for turn in growing.history().turns] == ["hello", "good day"]


def test_an_event_without_its_shape_is_told_when_it_is_taken_in() -> None:
    story = Story()
    story.user("hello")
    growing = GrowingHistory(recorded(story))
    (whole,) = recorded(story)
    damaged: Told = whole._replace(version=2, body=b'{"role":"user"}')
    with pytest.raises(CorruptRecord):
        growing.take([damaged])
