"""What a request had not seen: it comes after the response, whenever it was recorded."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.conversation import CANCELLED
from onrecord.domain.errors import NothingToSend
from onrecord.projections.history.amendments import as_seen
from onrecord.projections.history.history import Turn
from onrecord.projections.history.responses import seen_by
from onrecord.projections.history.turns import history, turns
from tests.projections.happenings import Story, flat, tool_use, words
from tests.projections.recorded import recorded


def told(given: tuple[Turn, ...]) -> list[tuple[str, list[str]]]:
    return [(turn.role, [words(block) for block in turn.blocks]) for turn in given]


def both(story: Story) -> list[tuple[str, list[str]]]:
    """What is told of a story, the same from events and from what a log has."""
    from_log = told(turns(recorded(story)))
    assert from_log == told(turns(story.events))
    return from_log


def test_a_prompt_that_a_request_had_not_seen_comes_after_its_response() -> None:
    story = Story()
    seen = story.user("one")
    story.user("slipped in")
    story.ask(seen=seen)
    story.answer("answer")
    assert both(story) == [
        ("user", ["one"]),
        ("assistant", ["answer"]),
        ("user", ["slipped in"]),
    ]


def test_a_result_that_a_request_had_not_seen_is_late() -> None:
    story = Story()
    story.user("one")
    story.ask()
    story.answer(tool_use("toolu_1"), stop="tool_use")
    seen = len(story.events)
    story.result("toolu_1", "came too late")
    story.ask(seen=seen)
    story.answer("without it, then")
    assert both(story)[2:] == [
        ("user", [f"toolu_1: {CANCELLED}"]),
        ("assistant", ["without it, then"]),
        ("user", ["toolu_1: came too late"]),
    ]


def test_a_response_that_a_request_had_not_seen_is_left_out_and_said_so() -> None:
    story = Story()
    seen = story.user("one")
    story.ask()
    story.cut("I was say")
    story.ask(seen=seen)
    story.answer("answer")
    assert both(story) == [("user", ["one"]), ("assistant", ["answer"])]
    notes = history(recorded(story)).notes
    assert [(note.rule, note.version) for note in notes] == [("unseen", 3), ("unseen", 4)]


def test_a_request_tried_again_as_it_was_has_still_not_seen_it() -> None:
    story = Story()
    seen = story.user("one")
    story.user("slipped in")
    story.ask(seen=seen)
    story.user("and this")
    story.ask(seen=seen)
    story.answer("answer")
    story.user("two")
    assert both(story)[1:] == [
        ("assistant", ["answer"]),
        ("user", ["slipped in", "and this", "two"]),
    ]


def test_a_request_on_a_side_line_moves_nothing() -> None:
    story = Story()
    seen = story.user("one")
    story.user("two")
    story.ask(seen=seen, line=UUID(int=9))
    assert both(story) == [("user", ["one", "two"])]
    assert [seen_by(item) for item in story.events] == [None] * 3
    assert [seen_by(item) for item in recorded(story)] == [None] * 3


def test_what_a_fork_goes_on_from_was_seen() -> None:
    origin, own = Story(), Story()
    origin.user("one")
    origin.user("two")
    own.user("slipped in")
    own.ask(seen=0)
    own.answer("answer")
    items = [*recorded(origin), *recorded(own, UUID(int=77))]
    assert told(turns(items)) == [
        ("user", ["one", "two"]),
        ("assistant", ["answer"]),
        ("user", ["slipped in"]),
    ]


def test_a_window_that_begins_with_what_was_not_seen_begins_with_it() -> None:
    story = Story()
    seen = story.user("one")
    story.user("slipped in")
    story.ask(seen=seen)
    story.answer("answer")
    assert told(turns(recorded(story)[1:])) == [("user", ["slipped in"]), ("assistant", ["answer"])]


def test_other_events_stay_where_they_are() -> None:
    story = Story()
    seen = story.user("one")
    story.instruct("Be brief.")
    story.redact(story.user("slipped in"))
    story.ask(seen=seen)
    ordered, notes = as_seen(story.events)
    assert [item[0] for item in ordered] == [1, 2, 4, 5, 3]
    assert notes == ()
    assert told(turns(story.events)) == [("user", ["one"])]


said = st.sampled_from(["user", "result 1", "result 2", "answer", "call", "cut", "ask"])


@given(st.lists(st.tuples(said, st.integers(0, 4)), max_size=16))
def test_what_was_sent_stays_whatever_came_before_it_was(deeds: list[tuple[str, int]]) -> None:
    story = Story()
    sent: list[tuple[str, dict[str, object]]] = []
    answered = asked = 0
    for number, (deed, back) in enumerate(deeds):
        match deed:
            case "user":
                story.user(f"said {number}")
            case "result 1" | "result 2":
                story.result(f"toolu_{deed[-1]}", f"found {number}")
            case "cut" if answered < asked:
                story.cut(f"cut {number}")
            case "answer" | "call" if answered < asked:
                calls = [tool_use("toolu_1"), tool_use("toolu_2")] if deed == "call" else []
                story.answer(f"answer {number}", *calls, stop="tool_use" if calls else "end_turn")
                answered = len(story.events)
            case "ask":
                seen = max(len(story.events) - back, asked, answered)
                try:
                    now = flat(story.request(at=seen))
                except NothingToSend:
                    continue
                assert now[: len(sent)] == sent
                asked = story.ask(seen=seen if seen < len(story.events) else None)
                sent = now
            case _:
                continue
        if sent:
            assert flat(story.request())[: len(sent)] == sent
