"""A history that grows is at any time what a fold of all its events gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain import events, jsontext
from onrecord.domain.errors import CorruptRecord, NothingToSend, UnsupportedDocument
from onrecord.domain.log import Told
from onrecord.projections.api import names
from onrecord.projections.apis.request import Options, render
from onrecord.projections.history import fold
from onrecord.projections.history.history import History, Missing
from onrecord.projections.history.responses import Responses
from onrecord.projections.history.turns import GrowingHistory, history
from tests.projections.happenings import Story, tool_use
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


@st.composite
def converses(draw: st.DrawFn) -> Callable[[Story], object]:
    """Exchanges as most are, some with a call; a result may come once more, or of an earlier call."""
    kinds = st.sampled_from(["", "", "result", "late"])
    results = draw(st.lists(st.tuples(kinds, st.integers(0, 3)), min_size=1, max_size=5))

    def converse(story: Story) -> None:
        for result, number in results:
            story.user("and now?")
            story.ask()
            if result:
                call = f"toolu_{number}"
                story.answer("looking", tool_use(call), stop="tool_use")
                if result == "result":
                    story.result(call)
                story.ask()
            story.answer("well")
            if result == "late":
                story.result(f"toolu_{(number + 1) % 4}")

    return converse


def as_numbered(folded: History) -> list[bytes | str]:
    """What a history says, its requests and its calls numbered from the first that it has."""
    calls: dict[int | None, int | None] = {None: None}
    turns = [
        (
            turn.role,
            [
                replace(
                    block,
                    asked=block.asked - folded.responses.before,
                    call=calls.setdefault(block.call, len(calls)),
                )
                for block in turn.blocks
            ],
        )
        for turn in folded.turns
    ]
    return [repr((turns, folded.notes, folded.left_out, folded.torn, folded.has_prefills))]


@examples(400)
@given(
    deeds=st.lists(everything | converses() | converses() | compacts() | asks_unseen()),
    begin=st.integers(0, 3),
    steps=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=5),
    missing=st.sampled_from(MISSING),
)
def test_whatever_happens_a_history_that_begins_later_is_what_a_fold_from_there_gives(
    deeds: list[Callable[[Story], object]],
    begin: int,
    steps: list[tuple[int, int]],
    missing: Missing,
) -> None:
    story = Story()
    story.happen(events.ConversationStarted(key="k", rules=1))
    for deed in deeds:
        deed(story)
    told = recorded(story)[begin:]
    growing, first, taken = GrowingHistory((), missing), begin, 0
    for more, later in steps:
        growing.take(told[taken : taken + more])
        taken = min(taken + more, len(told))
        prompts = [
            item.version
            for item in told[:taken]
            if item.version > first and item.type in ("message.recorded", "signal.received")
        ]
        if not prompts:
            continue
        first = prompts[later % len(prompts)]
        growing.begin_at(first, in_force(told, first))
        kept = [item for item in told[:taken] if item.version >= first]
        scratch = history([*in_force(told, first), *kept], missing)
        assert said(growing.history())[1:] == said(scratch)[1:]
        assert as_numbered(growing.history()) == as_numbered(scratch)


def in_force(told: Sequence[Told], version: int) -> list[Told]:
    """What set the instructions and the tools that are in force at a version."""
    setters = ("instructions.set", "tools.declared")
    last = {item.type: item for item in told if item.version < version and item.type in setters}
    return sorted(last.values(), key=lambda item: item.version)


def test_where_a_history_begins_later_nothing_is_folded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story()
    for number in range(4):
        story.user(f"and {number}?")
        story.ask()
        story.answer("looking", tool_use(f"toolu_{number}"), stop="tool_use")
        story.result(f"toolu_{number}")
        story.ask()
        story.answer("well")
    told = recorded(story)
    growing = GrowingHistory(told)
    growing.history()
    prompts = [item.version for item in told if b'"role":"user"' in (item.body or b"")]
    monkeypatch.setattr(fold, "plain_of", pytest.fail)
    for version in prompts[1:]:
        growing.begin_at(version, ())
        assert growing.history().turns[0].blocks[0].version == version


def test_what_answers_a_request_before_the_first_was_asked_by_none_that_is_known() -> None:
    story = Story()
    story.ask(model="early")
    story.ask(model="late")
    responses = Responses(recorded(story)[1:], before=1)
    assert (responses.model_asked(1), responses.model_asked(2)) == (None, "late")
    sent = responses.of("a response that nothing closed", 1).sent
    assert sent is None


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
