"""A turn that Anthropic paused, in whatever goes on from it."""

from __future__ import annotations

import pytest

from onrecord.projections.apis.request import APIS, Options
from onrecord.projections.history.turns import history
from tests.projections.happenings import (
    Story,
    flat,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)
from tests.projections.recorded import recorded
from tests.projections.refused import refused


def paused_with_a_call() -> Story:
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), server_tool_use("srvtoolu_1"), stop="pause_turn")
    return story


@pytest.mark.parametrize("api", APIS)
def test_a_call_in_a_paused_turn_is_no_obstacle_to_another_provider(api: str) -> None:
    request = paused_with_a_call().request(Options(api=api))
    assert refused(api, request) == ()


def test_a_call_in_a_paused_turn_is_told_in_words_elsewhere() -> None:
    request = paused_with_a_call().request(Options(api="openai-responses"))
    assert [note.deed for note in request.report.of("O1")] == ["translated"]
    assert "look_up" in str(request["input"])


def test_a_log_tells_of_a_paused_turn_that_goes_on_what_its_events_do() -> None:
    story = paused_with_a_call()
    story.ask()
    story.answer(search_result("srvtoolu_1"), "so")
    folded, of_log = history(story.events), history(recorded(story))
    marks = [[(block.version, block.mark) for block in turn.blocks] for turn in folded.turns]
    assert [turn.role for turn in folded.turns] == ["user", "assistant"]
    assert [[(b.version, b.mark) for b in turn.blocks] for turn in of_log.turns] == marks
    assert of_log.notes == folded.notes


def test_a_paused_turn_whose_own_tools_left_no_trace_is_an_ending_like_others() -> None:
    """Its result stands without a call, so it is left out; thinking cannot come last then (R11)."""
    story = Story()
    story.user("hi")
    story.answer(text("I look."), thinking(), search_result("srvtoolu_1"), stop="pause_turn")
    request = story.request()
    assert [block for _, block in flat(request)] == [text("hi"), text("I look.")]
    assert {"R2", "R11"} <= {note.rule for note in request.report}
