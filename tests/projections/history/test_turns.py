"""The fold of events to turns: who spoke, in which order, and which result belongs to which call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol
from uuid import UUID

import pytest

from onrecord.domain import events
from onrecord.domain.content import Text
from onrecord.domain.conversation import CANCELLED
from onrecord.projections.history.history import Turn
from onrecord.projections.history.turns import history, turns
from tests.projections.happenings import API, Story, server_tool_use, thinking, tool_use, words
from tests.projections.recorded import recorded


class Ending(Protocol):
    """A way in which a response of a story ends."""

    def __call__(
        self, story: Story, *blocks: str, unfinished: tuple[dict[str, Any], str]
    ) -> UUID: ...


def speakers(told: tuple[Turn, ...]) -> list[str]:
    return [turn.role for turn in told]


def told_of_log(story: Story) -> list[tuple[str, list[str]]]:
    """What is told of a story as a log has it."""
    return [(turn.role, [words(block) for block in turn.blocks]) for turn in turns(recorded(story))]


def told(story: Story) -> list[tuple[str, list[str]]]:
    return [(turn.role, [words(block) for block in turn.blocks]) for turn in turns(story.events)]


def test_blocks_of_one_response_are_one_turn_in_wire_order() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.answer(thinking(), "looking", tool_use("toolu_1"), "so", stop="tool_use")
    assert told(story)[1] == ("assistant", ["thinking", "looking", "toolu_1", "so"])


def test_results_of_a_round_stand_in_the_order_of_the_calls_before_what_is_said() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.answer(tool_use("toolu_1"), tool_use("toolu_2"), stop="tool_use")
    story.result("toolu_2", "two")
    story.user("hurry")
    story.result("toolu_1", "one")
    assert told(story)[-1] == ("user", ["toolu_1: one", "toolu_2: two", "hurry"])


def test_a_missing_result_is_a_cancelled_one() -> None:
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), stop="tool_use")
    [block] = turns(story.events)[-1].blocks
    assert (block.mark, words(block), block.is_error) == ("missing", f"toolu_1: {CANCELLED}", True)


def test_a_result_after_the_next_request_stays_where_it_came() -> None:
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), stop="tool_use")
    story.ask()
    story.answer("without it, then")
    story.result("toolu_1", "late")
    story.user("and now?")
    assert told(story)[-3:] == [
        ("user", [f"toolu_1: {CANCELLED}"]),
        ("assistant", ["without it, then"]),
        ("user", ["toolu_1: late", "and now?"]),
    ]
    assert turns(story.events)[-1].blocks[0].mark == "late"


def test_a_request_on_a_side_line_makes_no_result_late() -> None:
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), stop="tool_use")
    story.ask(line=UUID(int=9))
    story.result("toolu_1", "in time")
    assert told(story)[-1] == ("user", ["toolu_1: in time"])


def test_events_on_a_side_line_are_no_part_of_the_history() -> None:
    story = Story()
    story.user("hi")
    story.happen(
        events.MessageRecorded(role="user", content=(Text(text="title?"),), line=UUID(int=9))
    )
    assert told(story) == [("user", ["hi"])]
    assert told(story) == [(t.role, [words(b) for b in t.blocks]) for t in turns(recorded(story))]


def test_a_second_result_of_a_call_is_left_out_and_said_so() -> None:
    story = Story()
    story.answer(tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1", "one")
    version = story.result("toolu_1", "two")
    folded = history(story.events)
    assert [words(block) for block in folded.turns[-1].blocks] == ["toolu_1: one"]
    assert [(note.rule, note.version) for note in folded.notes] == [("duplicate", version)]


def test_an_id_may_be_used_again_in_a_later_round() -> None:
    story = Story()
    story.answer(tool_use("call_0"), stop="tool_use")
    story.result("call_0", "one")
    story.ask()
    story.answer(tool_use("call_0"), stop="tool_use")
    story.result("call_0", "two")
    assert [said for role, said in told(story) if role == "user"] == [
        ["call_0: one"],
        ["call_0: two"],
    ]


def test_what_is_said_while_a_request_is_out_comes_after_its_response() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.user("one more thing")
    story.answer("hello")
    assert told(story) == [
        ("user", ["hi"]),
        ("assistant", ["hello"]),
        ("user", ["one more thing"]),
    ]


def test_what_was_said_while_a_failed_request_was_out_is_in_the_next_one() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.user("still there?")
    story.ask()
    story.answer("yes")
    assert told(story) == [("user", ["hi", "still there?"]), ("assistant", ["yes"])]


def test_a_paused_turn_goes_on_in_the_next_response() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.answer("searching", server_tool_use("srvtoolu_1"), stop="pause_turn")
    story.ask()
    story.answer("found")
    assert told(story)[1:] == [("assistant", ["searching", "srvtoolu_1", "found"])]


def test_a_call_in_a_paused_turn_gets_no_result_while_the_turn_goes_on() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.answer(server_tool_use("srvtoolu_1"), tool_use("toolu_1"), stop="pause_turn")
    assert speakers(turns(story.events)) == ["user", "assistant"]
    story.ask()
    story.answer("done")
    story.user("thanks")
    assert told(story)[1:] == [
        ("assistant", ["srvtoolu_1", "toolu_1", "done"]),
        ("user", [f"toolu_1: {CANCELLED}", "thanks"]),
    ]


@pytest.mark.parametrize("ends", [Story.cut, partial(Story.answer, stop="max_tokens")])
def test_a_response_that_broke_off_keeps_finished_blocks_and_unfinished_text(ends: Ending) -> None:
    story = Story()
    story.user("hi")
    ends(story, "first", unfinished=({"type": "text", "text": ""}, "and then"))
    assert told(story)[1] == ("assistant", ["first", "and then"])
    assert told_of_log(story)[1] == ("assistant", ["first", "and then"])


@pytest.mark.parametrize("ends", [Story.cut, partial(Story.answer, stop="max_tokens")])
@pytest.mark.parametrize(
    "unfinished",
    [
        ({"type": "thinking", "thinking": "", "signature": ""}, "hm"),
        ({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}, '{"a": 1'),
        ({"type": "text", "text": ""}, " "),
    ],
)
def test_an_unfinished_block_without_text_is_left_out(
    unfinished: tuple[dict[str, Any], str], ends: Ending
) -> None:
    story = Story()
    story.user("hi")
    ends(story, "first", unfinished=unfinished)
    for folded in (history(story.events), history(recorded(story))):
        assert [words(block) for block in folded.turns[1].blocks] == ["first"]
        assert [note.rule for note in folded.notes] == ["unfinished"]


@pytest.mark.parametrize("ends", [Story.cut, partial(Story.answer, stop="max_tokens")])
def test_a_response_that_broke_off_amid_its_first_block_keeps_the_text_of_it(ends: Ending) -> None:
    """Also where the caller went on meanwhile: it had not seen that."""
    story = Story()
    story.user("hi")
    story.ask()
    story.user("hurry up")
    ends(story, unfinished=({"type": "text", "text": ""}, "I will"))
    assert told(story) == told_of_log(story)
    assert told(story)[1:] == [("assistant", ["I will"]), ("user", ["hurry up"])]


@pytest.mark.parametrize("ends", [Story.cut, Story.answer])
def test_what_is_said_once_a_response_has_ended_stands_before_what_is_answered_later(
    ends: Callable[[Story, str], UUID],
) -> None:
    story = Story()
    story.user("hi")
    story.ask()
    ends(story, "It ra")
    story.user("go on")
    story.assistant("It rained.")
    assert [said for _, said in told(story)] == [["hi"], ["It ra"], ["go on"], ["It rained."]]


def test_a_call_of_a_cut_response_is_left_out_unless_it_has_a_result() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.cut("calling", tool_use("toolu_1"), tool_use("toolu_2"))
    story.result("toolu_2", "two")
    folded = history(story.events)
    assert told(story)[1:] == [
        ("assistant", ["calling", "toolu_2"]),
        ("user", ["toolu_2: two"]),
    ]
    assert [note.rule for note in folded.notes] == ["cut short"]


def test_a_refused_response_is_no_part_of_the_history() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.answer("I", stop="refusal")
    story.user("then tell me a joke")
    assert told(story) == [("user", ["hi", "then tell me a joke"])]
    assert [note.rule for note in history(story.events).notes] == ["refused"]


def test_nothing_stays_of_a_refused_response_that_broke_off() -> None:
    story = Story()
    story.user("hi")
    story.answer("I", stop="refusal", unfinished=({"type": "text", "text": ""}, "will"))
    assert told(story) == told_of_log(story) == [("user", ["hi"])]


def answered_again(request: UUID, other: UUID) -> Story:
    """A response to a request breaks off; then there is one to another, or to the same."""
    story = Story()
    story.user("hi")
    story.ask()
    cut = story.speak("I w", stop="cut")
    story.happen(
        events.ResponseInterrupted(response=cut, request=request, api=API, reason="deferred")
    )
    whole = story.speak("I will", stop="end_turn")
    story.happen(events.ResponseCompleted(response=whole, request=other, api=API, envelope={}))
    return story


def test_what_came_of_a_response_is_left_out_where_the_request_was_answered_again() -> None:
    one, other = UUID(int=7), UUID(int=8)
    story = answered_again(one, one)
    assert told(story)[1:] == told_of_log(story)[1:] == [("assistant", ["I will"])]
    assert [note.rule for note in history(story.events).notes] == ["again"]
    assert told(answered_again(one, other))[1:] == [("assistant", ["I w", "I will"])]


def test_a_redacted_event_is_left_out_with_its_pair_mended() -> None:
    story = Story()
    story.answer(tool_use("toolu_1"), stop="tool_use")
    version = story.result("toolu_1", "secret")
    story.redact(version)
    assert told(story)[-1] == ("user", [f"toolu_1: {CANCELLED}"])
