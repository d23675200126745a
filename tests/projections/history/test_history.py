"""Histories from a log: what is in force, what cannot be read, windows and forks."""

from __future__ import annotations

from uuid import UUID

import pytest

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import Told
from onrecord.projections.history.history import Turn
from onrecord.projections.history.turns import history
from tests.projections.happenings import Story, thinking, tool_use, words
from tests.projections.recorded import recorded


def told(turns: tuple[Turn, ...]) -> list[tuple[str, list[str]]]:
    return [(turn.role, [words(block) for block in turn.blocks]) for turn in turns]


def test_instructions_and_tools_in_force_are_the_last_ones() -> None:
    story = Story()
    story.instruct("one")
    story.user("hi")
    story.instruct("two")
    folded = history(story.events)
    assert folded.instructions is not None
    assert folded.instructions.content == "two"


def test_recorded_events_fold_as_the_events_do() -> None:
    story = Story()
    story.instruct("Be brief.")
    story.user("hi", {"type": "image", "source": {"type": "file", "file_id": "file_1"}})
    story.ask(prefix="p")
    story.answer(thinking(), "looking", tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1", "one", is_error=True)
    story.note("be kind")
    story.cut("so", unfinished=({"type": "text", "text": ""}, "much"))
    from_log, from_events = history(recorded(story)), history(story.events)
    assert told(from_log.turns) == told(from_events.turns)
    assert from_log.instructions == from_events.instructions
    assert from_log.as_of is not None


def test_events_that_cannot_be_read_are_left_out_and_said_so() -> None:
    story = Story()
    story.user("hi")
    story.user("erased")
    story.user("of tomorrow")
    first, erased, newer = recorded(story)
    folded = history([first, erased._replace(body=None), newer._replace(schema_version=99)])
    assert len(folded.turns[0].blocks) == 1
    assert [(note.rule, note.version) for note in folded.notes] == [("erased", 2), ("unread", 3)]


def test_a_body_without_its_shape_is_a_corrupt_record() -> None:
    story = Story()
    story.user("hi")
    [event] = recorded(story)
    for body in (b"{}", b"[]", b'{"role":"user"', b'{"role":"user","content":7}'):
        with pytest.raises(CorruptRecord):
            history([event._replace(body=body)])


def test_a_window_says_how_many_events_it_left_out() -> None:
    story = Story()
    for number in range(6):
        story.user(f"prompt {number}")
    given = recorded(story)
    assert history(given).left_out == 0
    assert history(given[4:]).left_out == 4
    assert history([given[2], given[0], *given[4:]]).left_out == 2


def test_calls_of_a_fork_and_its_origin_are_told_apart() -> None:
    origin, own = Story(), Story()
    origin.call("toolu_1")
    own.call("toolu_2")
    own.result("toolu_2", "two")
    own.result("toolu_1", "one")
    folded = history([*recorded(origin), *recorded(own, UUID(int=77))])
    assert [words(block) for block in folded.turns[-1].blocks] == ["toolu_1: one", "toolu_2: two"]


def test_a_fork_goes_on_from_its_origin() -> None:
    origin, own = Story(), Story()
    origin.user("hi")
    origin.answer(tool_use("toolu_1"), stop="tool_use")
    own.result("toolu_1", "one")
    own.user("secret")
    own.redact(2)
    events_of_both: list[Told] = [*recorded(origin), *recorded(own, UUID(int=77))]
    folded = history(events_of_both)
    assert [words(block) for block in folded.turns[-1].blocks] == ["toolu_1: one"]
    assert folded.left_out == 0
