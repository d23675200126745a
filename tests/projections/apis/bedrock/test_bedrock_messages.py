"""Turns as messages of Bedrock's Converse API: who speaks when, what says nothing, how it ends."""

from __future__ import annotations

from uuid import UUID

import pytest

from onrecord.domain.content import Text
from onrecord.domain.errors import NothingToSend, UnsupportedTool
from onrecord.domain.events import InstructionsSet, MessageRecorded, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import BuiltinTool, ToolDefinition
from onrecord.projections.apis.request import Options
from tests.projections.apis.bedrock import bedrock_happenings as bedrock
from tests.projections.apis.bedrock.bedrock_happenings import CLAUDE, LLAMA, NOVA, WRITER, converse
from tests.projections.happenings import Story, rules, server_tool_use, tool_use

_ID = UUID(int=1)
SCHEMA: JsonObject = {"type": "object", "properties": {}}


def begun() -> Story:
    story = Story()
    story.user("hi")
    return story


def test_a_conversation_goes_back_as_it_was() -> None:
    story = begun()
    story.happen(
        ToolsDeclared(tools=(ToolDefinition(name="look_up", description="x", input_schema=SCHEMA),))
    )
    cited = {"citationsContent": {"content": [{"text": "so"}], "citations": [{"title": "t"}]}}
    unknown = {"hologram": {"format": "3d"}}
    said: list[JsonObject] = [
        cited,
        unknown,
        {"text": "I look."},
        bedrock.call("t1", type="tool_use"),
    ]
    bedrock.answers(story, *said, model=CLAUDE)
    bedrock.gives(story, "t1", {"json": {"n": 12345678901234567890}})
    request = converse(story)
    assert list(request) == ["toolConfig", "messages"]
    assert request["messages"][1] == {"role": "assistant", "content": said}
    assert len(request.report) == 0


def test_tools_and_instructions_are_spelled() -> None:
    story = begun()
    story.instruct("be kind")
    tools = (
        ToolDefinition(name="look_up", description="Looks.", input_schema=SCHEMA),
        ToolDefinition(name="bare", description=" ", input_schema=SCHEMA),
        bedrock.native({"systemTool": {"name": "nova_grounding"}}),
        bedrock.native({"cachePoint": {"type": "default"}}),
        BuiltinTool(name="code_execution"),
    )
    story.happen(ToolsDeclared(tools=tools))
    request = converse(story)
    assert request["system"] == [{"text": "be kind"}]
    assert request["toolConfig"]["tools"] == [
        {
            "toolSpec": {
                "name": "look_up",
                "description": "Looks.",
                "inputSchema": {"json": SCHEMA},
            }
        },
        {"toolSpec": {"name": "bare", "inputSchema": {"json": SCHEMA}}},
        {"systemTool": {"name": "nova_grounding"}},
        {"systemTool": {"name": "nova_code_interpreter"}},
    ]


def test_a_tool_that_bedrock_does_not_have_is_refused() -> None:
    story = begun()
    story.happen(ToolsDeclared(tools=(BuiltinTool(name="image_generation"),)))
    with pytest.raises(UnsupportedTool):
        converse(story)


def test_own_instructions_go_back_without_cache_points_and_blank_texts() -> None:
    story = begun()
    guarded = {"guardContent": {"text": {"text": "be safe"}}}
    blocks = [{"text": "be kind"}, {"cachePoint": {"type": "default"}}, {"text": " "}, guarded]
    story.happen(InstructionsSet(content=bedrock.native({"system": blocks})))
    assert converse(story)["system"] == [{"text": "be kind"}, guarded]


def test_without_tools_in_force_a_tool_that_the_service_ran_is_declared() -> None:
    """What it was asked and gave are blocks that want a `toolConfig`, too (B3)."""
    story = Story()
    story.user("What is new?")
    bedrock.answers(story, bedrock.server_call("s"), bedrock.server_result("s"), "This.")
    bedrock.breaks_off(story, bedrock.server_call("t"), begun=({"text": ""}, "And"))
    story.user("And else?")
    request = bedrock.converse(story)
    assert request["toolConfig"] == {"tools": [{"systemTool": {"name": "nova_grounding"}}]}
    assert {note.rule for note in request.report} >= {"B3", "B15"}


def test_without_tools_in_force_those_that_were_called_are_declared() -> None:
    """ "toolConfig field must be defined when using toolUse and toolResult content blocks" """
    story = begun()
    bedrock.answers(story, bedrock.call("t1"), bedrock.call("t2", "a.b"), model=CLAUDE)
    story.result("t1")
    request = converse(story)
    specs = [tool["toolSpec"] for tool in request["toolConfig"]["tools"]]
    called = [block["toolUse"]["name"] for block in request["messages"][1]["content"]]
    assert [spec["name"] for spec in specs] == called
    assert all(spec["inputSchema"] == {"json": {"type": "object"}} for spec in specs)
    assert {"B3", "B11"} <= rules(request)


def test_results_begin_the_next_message_in_the_order_of_the_calls() -> None:
    story = begun()
    bedrock.answers(story, bedrock.call("t1"), bedrock.call("t2"), bedrock.call("t3"), model=CLAUDE)
    story.result("t2", "r2")
    story.user("Are you there?")
    story.result("t1", "r1")
    request = converse(story)
    ids = [block["toolResult"]["toolUseId"] for block in request["messages"][2]["content"][:3]]
    assert ids == ["t1", "t2", "t3"]
    assert request["messages"][2]["content"][2]["toolResult"]["status"] == "error"
    assert request["messages"][2]["content"][3:] == [{"text": "Are you there?"}]
    assert [note.version for note in request.report.of("B1")] == [5]


def test_a_result_of_no_call_goes_as_text() -> None:
    story = begun()
    bedrock.gives(story, "t9", {"text": "found"})
    request = converse(story)
    assert bedrock.kinds(request) == [["text", "text", "text"]]
    assert "t9" in request["messages"][0]["content"][1]["text"]


def test_a_call_that_can_have_no_result_is_left_out() -> None:
    story = begun()
    story.answer(tool_use("toolu_1"), server_tool_use("srvtoolu_1"), stop="pause_turn")
    request = converse(story)
    assert "toolUse" not in str(dict(request))
    assert [note.version for note in request.report.of("B1")] == [2]


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
def test_blank_text_goes_nowhere(blank: str) -> None:
    """ "The text field in the ContentBlock object at messages.15.content.0 is blank." """
    story = begun()
    bedrock.answers(story, blank, model=CLAUDE)
    story.user(blank)
    story.happen(MessageRecorded(role="user", content=(bedrock.native({"text": blank}),)))
    story.user("on")
    request = converse(story)
    assert bedrock.messages(story) == [("user", {"text": "hi"}), ("user", {"text": "on"})]
    assert [note.version for note in request.report.of("B4")] == [3, 5, 6]


def test_nothing_but_blanks_is_no_request() -> None:
    story = Story()
    story.user(" ")
    with pytest.raises(NothingToSend):
        converse(story)


@pytest.mark.parametrize(("model", "is_first"), [(CLAUDE, True), (NOVA, False), (None, False)])
def test_a_conversation_starts_with_a_user_message(model: str | None, is_first: bool) -> None:
    story = Story()
    story.assistant("Welcome.")
    story.user("hi")
    request = converse(story, model)
    assert (bedrock.roles(request)[0] == "assistant") == is_first
    assert bool(request.report.of("B5")) != is_first


def test_neighbours_of_one_role_are_one_message() -> None:
    story = begun()
    story.note("be brief")
    bedrock.answers(story, bedrock.reasoning(signature=None), model="openai.gpt-oss-120b-1:0")
    story.user("on")
    request = converse(story)
    assert bedrock.roles(request) == ["user"]
    assert {"B10", "B17"} <= rules(request)


@pytest.mark.parametrize("model", [LLAMA, "mistral.mistral-large-2402-v1:0"])
def test_results_stand_alone_for_those_who_want_it(model: str) -> None:
    story = begun()
    bedrock.answers(story, bedrock.call("t1"), model=model)
    bedrock.gives(story, "t1", {"text": "ok"})
    story.user("Thanks.")
    request = converse(story)
    assert bedrock.kinds(request)[2:] == [["toolResult"], ["text"], ["text"]]
    assert bedrock.roles(request)[2:] == ["user", "assistant", "user"]
    assert bedrock.roles(converse(story, CLAUDE)) == ["user", "assistant", "user"]


def test_writer_is_told_in_words_that_a_tool_failed() -> None:
    story = begun()
    bedrock.answers(story, bedrock.call("t1"), bedrock.call("t2"), model=WRITER)
    bedrock.gives(story, "t1", {"text": "no"}, status="error")
    bedrock.gives(story, "t2", {"text": "yes"})
    results = [block["toolResult"] for _, block in bedrock.messages(story)[-2:]]
    assert [list(result) for result in results] == [["toolUseId", "content"]] * 2
    assert [part["text"] for part in results[0]["content"]] == ["The tool failed:", "no"]
    assert "B12" in rules(converse(story))
    assert bedrock.messages(story, CLAUDE)[-2][1]["toolResult"]["status"] == "error"


def test_llama_is_told_in_words_that_a_tool_failed_for_it_reads_no_status() -> None:
    story = begun()
    bedrock.answers(story, bedrock.call("t1"), bedrock.call("t2"), model=LLAMA)
    bedrock.gives(story, "t1", {"text": "no"}, status="error")
    bedrock.gives(story, "t2", {"text": "yes"})
    no, yes = (block["toolResult"] for _, block in bedrock.messages(story)[-2:])
    assert [part["text"] for part in no["content"]] == ["The tool failed:", "no"]
    assert (no["status"], yes["status"]) == ("error", "success")


def test_a_result_says_something() -> None:
    story = begun()
    bedrock.answers(story, bedrock.call("t1"), bedrock.call("t2"), model=CLAUDE)
    bedrock.gives(story, "t1", {"text": " "})
    story.result("t2", "")
    held = [block["toolResult"]["content"] for _, block in bedrock.messages(story)[-2:]]
    assert held == [[{"text": "Tool execution succeeded, but returned no result."}]] * 2


def test_ids_and_inputs_that_do_not_fit_are_mapped_on_both_ends() -> None:
    story = begun()
    for wrong in ("functions.x:0", "a b", "x" * 65, "t1", "t1"):
        story.happen(bedrock.event_of(_ID, 0, bedrock.call(wrong), awaited=True))
    story.happen(bedrock.event_of(_ID, 1, bedrock.call("t3", input="SELECT 1"), awaited=True))
    for model, kept in ((NOVA, 3), (CLAUDE, 2)):
        request = converse(story, model)
        calls = [block["toolUse"] for block in request["messages"][1]["content"]]
        ids = [block["toolResult"]["toolUseId"] for block in request["messages"][2]["content"]]
        assert [call["toolUseId"] for call in calls] == ids
        assert len(set(ids)) == 6
        assert len(set(ids) & {"functions.x:0", "t1", "t3"}) == kept
        assert calls[-1]["input"] == {"arguments": "SELECT 1"}


def test_a_block_is_its_one_member() -> None:
    story = begun()
    bedrock.answers(story, {"type": "text", "text": "so"}, model=CLAUDE)
    story.user("on")
    assert bedrock.messages(story)[1] == ("assistant", {"text": "so"})
    assert [note.version for note in converse(story).report.of("B18")] == [3]


def test_a_block_with_two_members_goes_as_its_first() -> None:
    story = begun()
    both = {"text": "so", "image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
    bedrock.answers(story, both, model=CLAUDE)
    story.user("on")
    assert bedrock.messages(story)[1] == ("assistant", {"text": "so"})
    [note] = converse(story).report.of("B18")
    assert (note.version, note.why.partition(":")[0]) == (3, "image")


def test_the_last_word_of_the_assistant_is_mended_and_noted() -> None:
    story = begun()
    bedrock.answers(story, "I said ", bedrock.reasoning(), model=CLAUDE)
    request = converse(story)
    assert request["messages"][-1]["content"] == [{"text": "I said"}]
    assert {note.deed for note in request.report.of("B14")} == {"noted", "repaired", "left out"}


def test_an_answer_of_a_guardrail_is_noted() -> None:
    story = begun()
    bedrock.answers(story, "I cannot.", stop="guardrail_intervened", model=CLAUDE)
    story.user("on")
    request = converse(story)
    assert len(bedrock.messages(story)) == 3
    assert [note.deed for note in request.report.of("B16")] == ["noted"]


def test_own_tools_of_the_service_go_in_pairs() -> None:
    story = begun()
    said = [bedrock.server_call("s1"), bedrock.server_result("s1"), {"text": "so"}]
    bedrock.answers(
        story, *said, bedrock.server_call("s2"), bedrock.server_result("s3"), model=NOVA
    )
    story.user("on")
    request = converse(story)
    assert request["messages"][1]["content"] == said
    assert [note.version for note in request.report.of("B15")] == [6, 7]


def test_an_own_tool_of_which_half_a_pair_is_left_is_not_declared() -> None:
    story = begun()
    bedrock.answers(story, "so", bedrock.server_call("s2"), model=NOVA)
    story.user("on")
    request = converse(story)
    assert request["messages"][1]["content"] == [{"text": "so"}]
    assert "toolConfig" not in request


def test_other_families_are_told_in_words_what_a_tool_of_the_service_did() -> None:
    story = begun()
    said = [bedrock.server_call("s1"), bedrock.server_result("s1"), {"text": "so"}]
    bedrock.answers(story, *said, model=NOVA)
    story.user("on")
    request = converse(story, CLAUDE)
    assert bedrock.kinds(request)[1] == ["text", "text", "text"]
    assert "web_search" in str(request["messages"][1])
    assert request.report.of("foreign")


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-chat", "openai-responses"])
def test_elsewhere_a_text_goes_without_what_it_cites_and_the_note_says_so(api: str) -> None:
    story = begun()
    cited = {"citationsContent": {"content": [{"text": "so"}], "citations": [{"title": "t"}]}}
    bedrock.answers(story, cited, model=NOVA)
    story.user("on")
    request = story.request(Options(api=api))
    assert "so" in str(dict(request))
    assert [note.why for note in request.report.of("foreign")] == [
        "a text of bedrock-converse, without its citations"
    ]


def test_text_of_a_block_that_broke_off_stays() -> None:
    story = begun()
    bedrock.asks(story)
    bedrock.breaks_off(story, {"text": "One."}, begun=({"text": ""}, "Two, th"))
    story.user("on")
    assert ("assistant", {"text": "Two, th"}) in bedrock.messages(story)


def test_a_cited_text_that_broke_off_stays_with_what_it_cites() -> None:
    story = begun()
    bedrock.asks(story)
    cited = {"citationsContent": {"content": [{"text": ""}], "citations": [{"title": "t"}]}}
    bedrock.breaks_off(story, begun=(cited, "so f"))
    story.user("on")
    whole = {"citationsContent": {"content": [{"text": "so f"}], "citations": [{"title": "t"}]}}
    assert bedrock.messages(story)[1] == ("assistant", whole)


def test_cache_points_are_placed_anew_and_are_four_at_most() -> None:
    story = begun()
    story.instruct("be kind")
    story.happen(ToolsDeclared(tools=(ToolDefinition(name="f", input_schema=SCHEMA),)))
    for _ in range(3):
        bedrock.answers(story, "so", model=CLAUDE)
        mark = bedrock.native({"cachePoint": {"type": "default"}})
        story.happen(MessageRecorded(role="user", content=(Text(text="on"), mark)))
    for model, points in ((CLAUDE, 4), (NOVA, 3), (LLAMA, 0), (None, 4)):
        request = story.request(bedrock.asked_of(model, cache=True))
        assert str(dict(request)).count("cachePoint") == points
        assert "B13" in rules(request)
        assert "cachePoint" not in str(dict(converse(story, model)))
