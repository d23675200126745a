"""`chat.history`: what was said by turns, and only what is new since a version."""

from pathlib import Path

import pytest

import onrecord
from onrecord.domain.blobs import LIMIT
from onrecord.domain.events import ResponseCompleted
from onrecord.projections.history.history import Turn, Usage
from tests.adapters.recording.own_history import SPELLINGS, Spelling, neutral, worded
from tests.adapters.recording.retold import Retold

each_api = pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling.api)


def told_in(turns: tuple[Turn, ...]) -> list[tuple[str, list[str]]]:
    """Each turn with what its blocks say, those left out that say nothing."""
    said = (
        (turn.role, [worded(neutral(block.content)) for block in turn.blocks]) for turn in turns
    )
    return [(role, [text for text in texts if text]) for role, texts in said]


@each_api
def test_a_turn_gives_only_what_is_new(spelling: Spelling, tmp_path: Path) -> None:
    """The prompt, the calls, their results as one turn in the order of the calls, the answer."""
    told = Retold(tmp_path, spelling)
    told.exchange("u1", "a1")
    before = told.chat.head().version
    told.chat.user("u2")
    told.answered("looking", "call_1", "call_2")
    told.chat.tool_result("call_2", "two")
    told.chat.tool_result("call_1", "one")
    told.answered("a2")
    assert told_in(told.chat.history(since=before)) == [
        ("user", ["u2"]),
        ("assistant", ["looking", "call call_1", "call call_2"]),
        ("user", ["call_1 gave one", "call_2 gave two"]),
        ("assistant", ["a2"]),
    ]
    assert told_in(told.chat.history(since=before, at=before)) == []
    assert told_in(told.chat.history(at=before)) == [("user", ["u1"]), ("assistant", ["a1"])]
    assert told_in(told.chat.history()) == [
        *told_in(told.chat.history(at=before)),
        *told_in(told.chat.history(since=before)),
    ]


@each_api
def test_a_turn_has_its_text_and_how_its_answer_ended(spelling: Spelling, tmp_path: Path) -> None:
    told = Retold(tmp_path, spelling)
    told.chat.user("u1")
    told.answered("looking", "call_1")
    told.chat.tool_result("call_1", "one")
    told.answered("a2")
    turns = told.chat.history()
    assert [turn.text for turn in turns] == ["u1", "looking", "", "a2"]
    events = [event.event() for event in told.chat.events()]
    ended = [event for event in events if isinstance(event, ResponseCompleted)]
    answers = [turn for turn in turns if turn.role == "assistant"]
    assert [turn.stop_reason for turn in answers] == [event.stop_reason for event in ended]
    assert [turn.usage for turn in answers] == [
        Usage(event.input_tokens, event.output_tokens) for event in ended
    ]
    assert [turn.usage for turn in turns if turn.role == "user"] == [None, None]


def test_a_long_text_of_a_provider_is_whole(tmp_path: Path) -> None:
    """It lies in a blob: no reference to one stands in its place."""
    told = Retold(tmp_path)
    told.exchange("u1", long := "a" * (LIMIT + 1))
    assert told.chat.history()[-1].text == long


def test_a_call_that_awaits_its_result_has_none_yet(tmp_path: Path) -> None:
    told = Retold(tmp_path)
    told.chat.user("u1")
    told.answered(None, "call_1", "call_2")
    told.chat.tool_result("call_2", "two")
    assert told_in(told.chat.history())[1:] == [
        ("assistant", ["call call_1", "call call_2"]),
        ("user", ["call_2 gave two"]),
    ]


def test_what_was_said_while_an_answer_came_is_new_behind_it(tmp_path: Path) -> None:
    told = Retold(tmp_path)
    told.chat.user("u1")
    begun = told.send()
    version = told.chat.user("wait").last
    told.program.answer(begun, "a1")
    assert told_in(told.chat.history(since=version)) == [("assistant", ["a1"])]
    assert told_in(told.chat.history(since=version - 1)) == [
        ("assistant", ["a1"]),
        ("user", ["wait"]),
    ]


def test_what_is_given_up_is_not_new_and_a_summary_is(tmp_path: Path) -> None:
    told = Retold(tmp_path)
    told.exchange("u1", "a1")
    version = told.exchange("u2", "a2")
    told.chat.edit_message(version, "u2b")
    assert told_in(told.chat.history(since=version)) == [("user", ["u2b"])]
    told.answered("a2b")
    before = told.chat.head().version
    told.chat.compact("In short.")
    ((role, (said,)),) = told_in(told.chat.history(since=before))
    assert (role, said[-9:]) == ("user", "In short.")


def test_a_fork_has_nothing_new_of_what_it_was_forked_from(tmp_path: Path) -> None:
    told = Retold(tmp_path)
    told.exchange("u1", "a1")
    fork = told.chat.fork("fork")
    fork.user("u2")
    assert told_in(fork.history(since=1)) == [("user", ["u2"])]
    assert [texts for _, texts in told_in(fork.history())] == [["u1"], ["a1"], ["u2"]]


def test_a_fork_tells_all_exchanges_of_what_it_was_forked_from(tmp_path: Path) -> None:
    told = Retold(tmp_path)
    told.exchange("u1", "a1")
    told.exchange("u2", "a2")
    fork = told.chat.fork("fork")
    assert [texts for _, texts in told_in(fork.history())] == [["u1"], ["a1"], ["u2"], ["a2"]]


def test_nothing_is_new_before_anything_was_said() -> None:
    with onrecord.connect("memory://") as store:
        assert store.conversation("new").history() == ()
