"""The caller's own summary in the history: what it leaves out, what is signed, what a provider sums up."""

from __future__ import annotations

from uuid import UUID

import pytest

from onrecord.domain import events
from onrecord.projections.apis.request import Options
from onrecord.projections.history.turns import history, turns
from tests.projections.happenings import Story, flat, rules, text, thinking, tool_use, words

SUMMARY = "Summary of the conversation so far:\n\nShe asked twice."


def sum_up(story: Story, until: int, summary: str = "She asked twice.") -> int:
    return story.happen(events.HistoryCompacted(summary=summary, until=until))


def said(story: Story) -> list[list[str]]:
    return [[words(block) for block in turn.blocks] for turn in turns(story.events)]


def exchanges(*answers: str) -> Story:
    story = Story()
    for number, answer in enumerate(answers, 1):
        story.user(f"q{number}")
        story.ask()
        story.answer(answer)
    return story


def test_a_summary_is_one_with_what_the_user_says_behind_it() -> None:
    story = exchanges("a1", "a2", "a3")
    sum_up(story, until=8)
    assert said(story) == [[SUMMARY, "q3"], ["a3"]]


def test_a_summary_may_be_all_that_there_is() -> None:
    story = exchanges("a1", "a2")
    sum_up(story, until=8)
    assert said(story) == [[SUMMARY]]
    assert history(story.events).left_out == 0


def test_what_was_in_force_stays_in_force_and_what_comes_behind_replaces_it() -> None:
    story = Story()
    story.instruct("one")
    story.user("q1")
    story.answer("a1")
    sum_up(story, until=4)
    assert story.request()["system"] == "one"
    story.instruct("two")
    assert story.request()["system"] == "two"


def test_instructions_that_were_redacted_are_not_in_force_behind_a_summary() -> None:
    story = Story()
    story.instruct("one")
    version = story.instruct("secret")
    story.user("q1")
    story.answer("a1")
    story.redact(version)
    sum_up(story, until=5)
    assert story.request()["system"] == "one"


def test_a_summary_on_a_side_line_is_none() -> None:
    story = exchanges("a1")
    line = events.HistoryCompacted(summary="no", until=4, line=UUID(int=7))
    story.happen(line)
    assert said(story) == [["q1"], ["a1"]]


def test_the_report_says_what_a_summary_stands_for() -> None:
    story = exchanges("a1", "a2")
    version = sum_up(story, until=4)
    (note,) = (note for note in story.request().report if note.rule == "compacted")
    assert (note.deed, note.version) == ("left out", version)
    assert note.why == "its summary stands for what was said up to version 4"


def test_thinking_that_was_signed_over_what_is_summed_up_stays_away() -> None:
    """R8: it is bound to all that stood before it."""
    story = Story()
    story.user("q1")
    story.ask_as_rendered()
    story.answer("a1")
    story.user("q2")
    story.ask_as_rendered()
    story.answer(thinking(), "a2")
    assert thinking() in [block for _, block in flat(story.request())]
    sum_up(story, until=4)
    story.user("q3")
    request = story.request()
    assert thinking() not in [block for _, block in flat(request)]
    assert "R8" in rules(request)
    story.ask_as_rendered()
    story.answer(thinking("anew"), "a3")
    story.user("q4")
    kept = [block for _, block in flat(story.request()) if block["type"] == "thinking"]
    assert kept == [thinking("anew")]


def test_a_redacted_summary_gives_back_the_thinking_that_was_signed_before_it() -> None:
    story = Story()
    story.user("q1")
    story.ask_as_rendered()
    story.answer(thinking(), "a1")
    story.user("q2")
    before = dict(story.request())
    version = sum_up(story, until=4)
    story.redact(version)
    assert dict(story.request()) == before


def test_a_tool_loop_goes_on_behind_a_summary() -> None:
    story = Story()
    result = story.user("q1")
    for number in range(2):
        story.ask()
        story.answer(tool_use(f"toolu_{number}"), stop="tool_use")
        result = story.result(f"toolu_{number}")
    sum_up(story, until=result)
    story.ask()
    story.answer(tool_use("toolu_2"), stop="tool_use")
    story.result("toolu_2")
    request = story.request()
    assert [role for role, _ in flat(request)] == ["user", "assistant", "user"]
    assert rules(request) == {"compacted"}


COMPACTION = {"type": "compaction", "content": "The provider's own.", "encrypted_content": "Eo8="}


def test_a_providers_compaction_stands_for_a_summary_before_it() -> None:
    story = exchanges("a1", "a2")
    sum_up(story, until=4)
    story.user("q3")
    story.ask()
    story.answer(COMPACTION, "a3")
    story.user("q4")
    blocks = [block for _, block in flat(story.request())]
    assert blocks == [COMPACTION, text("a3"), text("q4")]


def test_a_summary_stands_for_a_providers_compaction_before_it() -> None:
    story = exchanges("a1")
    story.user("q2")
    story.ask()
    story.answer(COMPACTION, "a2")
    sum_up(story, until=len(story.events))
    story.user("q3")
    assert [block["text"] for _, block in flat(story.request())] == [SUMMARY, "q3"]


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-chat", "openai-responses"])
def test_summaries_of_both_kinds_follow_one_another(api: str) -> None:
    story = exchanges("a1")
    sum_up(story, until=4, summary="First.")
    story.user("q2")
    story.ask()
    story.answer(COMPACTION, "a2")
    story.user("q3")
    story.ask()
    story.answer("a3")
    sum_up(story, until=len(story.events), summary="Second.")
    story.user("q4")
    said = str(dict(story.request(Options(api=api))))
    assert "Second." in said
    assert "q4" in said
    assert not any(word in said for word in ("First.", "q1", "q2", "q3", "provider's own"))
