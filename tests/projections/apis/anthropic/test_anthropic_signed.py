"""What is signed, summarised or marked in a request to Anthropic: R6 to R9, R16, R18."""

from __future__ import annotations

import pytest

from onrecord.domain.content import Native
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Options, Request
from tests.projections.happenings import (
    API,
    MODEL,
    Story,
    flat,
    rules,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)

MARK = {"cache_control": {"type": "ephemeral"}}


def thoughts(request: Request) -> list[JsonObject]:
    kinds = {"thinking", "redacted_thinking"}
    return [block for _, block in flat(request) if block["type"] in kinds]


def thinker() -> Story:
    """A conversation in which the model thought before it answered."""
    story = Story()
    story.instruct("Be brief.")
    story.user("hi")
    story.ask_as_rendered(account="mine")
    story.answer(thinking(), "Hello")
    story.user("and?")
    return story


def test_thinking_goes_back_behind_the_prefix_it_was_made_under() -> None:
    request = thinker().request()
    assert thoughts(request) == [thinking()]
    assert len(request.report) == 0


def test_thinking_with_empty_text_and_redacted_thinking_stay_in_their_place() -> None:
    """R7: "blocks in the latest assistant message cannot be modified"."""
    redacted = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
    story = Story()
    story.user("hi")
    story.ask_as_rendered()
    said = (thinking(""), redacted, "a", thinking("b"), tool_use("toolu_1"))
    story.answer(*said, stop="tool_use")
    story.result("toolu_1")
    kinds = [block["type"] for _, block in flat(story.request())]
    assert kinds[1:6] == ["thinking", "redacted_thinking", "text", "thinking", "tool_use"]


def test_other_instructions_leave_the_thinking_out() -> None:
    """R8: "Invalid `signature` in `thinking` block. The block is bound to a different..."."""
    story = thinker()
    story.instruct("Be verbose.")
    request = story.request()
    assert thoughts(request) == []
    assert [(note.deed, note.rule) for note in request.report] == [("left out", "R8")]


def test_other_tools_leave_the_thinking_out() -> None:
    story = thinker()
    tool = {"type": "web_search_20250305", "name": "web_search"}
    story.happen(ToolsDeclared(tools=(Native(api=API, value=tool),)))
    assert thoughts(story.request()) == []


def test_an_earlier_message_that_is_gone_leaves_the_thinking_out() -> None:
    story = thinker()
    story.redact(2)
    request = story.request()
    assert thoughts(request) == []
    assert rules(request) == {"redacted", "R8"}


def test_thinking_after_thinking_that_was_left_out_is_left_out() -> None:
    """R8: no thinking block between others may be left out."""
    story = thinker()
    story.ask_as_rendered()
    story.answer(thinking("again"), "So")
    story.instruct("Be verbose.")
    story.user("well?")
    assert len(story.request().report.of("R8")) == 2


def test_thinking_of_an_unknown_prefix_goes_back_unless_some_was_left_out() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.answer(thinking(), "Hello")
    story.user("and?")
    assert thoughts(story.request()) == [thinking()]
    changed = thinker()
    changed.ask()
    changed.answer(thinking("unknown"), "So")
    changed.instruct("Be verbose.")
    changed.user("well?")
    assert thoughts(changed.request()) == []


@pytest.mark.parametrize("options", [Options(model="claude-other"), Options(account="theirs")])
def test_encrypted_results_go_back_to_whomever_the_request_is_for(options: Options) -> None:
    """R12: they stay untouched; nothing that is known binds them as thinking is bound."""
    ran = {"type": "encrypted_code_execution_result", "encrypted_stdout": "x", "return_code": 0}
    result = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_2", "content": ran}
    cited = {"type": "web_search_result_location", "encrypted_index": "Eo8="}
    said = [
        *(server_tool_use("srvtoolu_1"), search_result("srvtoolu_1")),
        *(server_tool_use("srvtoolu_2", "code_execution"), result),
        {**text("so"), "citations": [cited]},
    ]
    story = Story()
    story.user("hi")
    story.ask_as_rendered(account="mine")
    story.answer(thinking(), *said)
    story.user("and?")
    request = story.request(options)
    assert [block for _, block in flat(request)][1:-1] == said
    assert rules(request) == {"R9"}


def test_what_was_sent_without_old_thinking_keeps_its_own() -> None:
    story = thinker()
    story.instruct("Be verbose.")
    story.ask_as_rendered()
    story.answer(thinking("anew"), "So")
    story.user("well?")
    assert thoughts(story.request()) == [thinking("anew")]


def test_a_prompt_said_while_the_model_thinks_does_not_cost_the_thinking() -> None:
    story = Story()
    story.user("hi")
    story.ask_as_rendered()
    story.user("one more thing")
    story.answer(thinking(), tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1")
    assert thoughts(story.request()) == [thinking()]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (Options(model=MODEL), 1),
        (Options(model="claude-other"), 0),
        (Options(account="mine"), 1),
        (Options(account="another"), 0),
    ],
)
def test_thinking_is_for_the_model_and_the_account_that_made_it(
    options: Options, kept: int
) -> None:
    """R9: switching the model drops or rejects."""
    request = thinker().request(options)
    assert len(thoughts(request)) == kept
    assert len(request.report.of("R9")) == 1 - kept


def test_thinking_can_be_dropped_to_recover_a_wedged_session() -> None:
    request = thinker().request(Options(thinking="drop"))
    assert thoughts(request) == []
    assert rules(request) == {"thinking"}


def test_a_tool_loop_without_its_thinking_is_noted() -> None:
    """R6: "Expected `thinking` or `redacted_thinking`, but found `text`"."""
    story = Story()
    story.user("hi")
    story.ask_as_rendered()
    story.answer(thinking(), tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1")
    assert "R6" in rules(story.request(Options(thinking="drop")))
    assert "R6" not in rules(story.request())


def test_the_last_compaction_stands_for_all_before_it() -> None:
    """R18: compaction_block_ambiguous, compaction_block_misplaced: one, and first."""
    first = {"type": "compaction", "content": "one", "signature": "s"}
    last = {"type": "compaction", "content": "two", "signature": "s"}
    failed = {"type": "compaction", "content": None}
    story = Story()
    story.user("hi")
    story.answer(first, "a")
    story.user("more")
    story.answer(last, "b")
    story.user("thanks")
    story.answer(failed, "c")
    story.user("and?")
    request = story.request()
    assert flat(request) == [
        ("assistant", last),
        ("assistant", text("b")),
        ("user", text("thanks")),
        ("assistant", failed),
        ("assistant", text("c")),
        ("user", text("and?")),
    ]
    assert [note.rule for note in request.report] == ["R18"]


def test_a_compaction_of_another_account_does_not_go_and_the_rest_does() -> None:
    story = Story()
    story.user("hi")
    story.ask(account="mine")
    story.answer({"type": "compaction", "content": "one"}, "a")
    story.user("thanks")
    request = story.request(Options(account="another"))
    assert [block for _, block in flat(request)] == [text("hi"), text("a"), text("thanks")]
    assert rules(request) == {"R18"}


def test_at_most_four_marks_stand_at_the_ends() -> None:
    """R16: "A maximum of 4 blocks with cache_control may be provided. Found 5."."""
    story = Story()
    story.instruct("Be brief.")
    tools = [{"type": "web_search_20250305", "name": f"search_{n}"} for n in range(2)]
    story.happen(ToolsDeclared(tools=tuple(Native(api=API, value=tool) for tool in tools)))
    for number in range(4):
        story.user({**text(f"prompt {number}"), **MARK}, text("please"))
        story.answer(thinking(), f"answer {number}")
    story.user("last")
    request = story.request(Options(cache=True))
    assert request["system"] == [{**text("Be brief."), **MARK}]
    assert request["tools"] == [tools[0], {**tools[1], **MARK}]
    marked = [block for _, block in flat(request) if "cache_control" in block]
    assert marked == [{**text("please"), **MARK}, {**text("last"), **MARK}]
    assert len(request.report.of("R16")) == 4


def test_marks_of_the_record_do_not_go_back() -> None:
    story = Story()
    story.user({**text("hi"), **MARK})
    assert flat(story.request()) == [("user", text("hi"))]


def test_marks_change_nothing_of_what_is_signed() -> None:
    story = Story()
    story.instruct("Be brief.")
    story.user("hi")
    story.ask_as_rendered(Options(cache=True))
    story.answer(thinking(), "Hello")
    story.user("and?")
    assert thoughts(story.request()) == [thinking()]
    assert thoughts(story.request(Options(cache=True))) == [thinking()]


def test_a_mark_stands_on_the_result_in_a_tool_round() -> None:
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1")
    [block] = story.request(Options(cache=True))["messages"][-1]["content"]
    assert block["type"] == "tool_result"
    assert block["cache_control"] == {"type": "ephemeral"}
