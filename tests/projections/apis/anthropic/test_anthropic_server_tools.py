"""Calls of Anthropic's own tools and their results in a request: R2 to R4, R14."""

from __future__ import annotations

from onrecord.domain.content import Native
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from tests.projections.happenings import (
    API,
    Story,
    code_of,
    flat,
    result_of,
    rules,
    search_result,
    server_tool_use,
    text,
    tool_use,
)

HELD: JsonObject = {"container": {"id": "container_1"}}


def test_an_unpaired_server_call_is_left_out_once_the_user_speaks() -> None:
    """R3: "web_search tool use with id ... was found without a corresponding ... block"."""
    story = Story()
    story.user("hi")
    story.answer("searching", server_tool_use("srvtoolu_1"), stop="pause_turn")
    assert flat(story.request())[-1] == ("assistant", server_tool_use("srvtoolu_1"))
    story.user("never mind")
    request = story.request()
    assert flat(request)[1:] == [("assistant", text("searching")), ("user", text("never mind"))]
    assert rules(request) == {"R3"}


def test_a_paused_turn_goes_back_as_it_is_and_last() -> None:
    """R4: a paused turn is sent back unchanged, as the last message."""
    story = Story()
    story.user("hi")
    story.answer("searching ", server_tool_use("srvtoolu_1"), stop="pause_turn")
    request = story.request()
    assert flat(request)[1:] == [
        ("assistant", text("searching ")),
        ("assistant", server_tool_use("srvtoolu_1")),
    ]
    assert len(request.report) == 0


def test_a_result_may_come_in_the_response_after_the_pause() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.answer(server_tool_use("srvtoolu_1"), stop="pause_turn")
    story.ask()
    story.answer(search_result("srvtoolu_1"), "here it is")
    story.user("thanks")
    request = story.request()
    assert request["messages"][1]["content"] == [
        server_tool_use("srvtoolu_1"),
        search_result("srvtoolu_1"),
        text("here it is"),
    ]
    assert len(request.report) == 0


def test_a_server_call_stays_in_flight_while_only_results_follow() -> None:
    """R3's exception: accepted while every message after it holds only tool results."""
    story = Story()
    story.user("hi")
    story.ask()
    story.answer(server_tool_use("srvtoolu_1"), tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1", "one")
    in_flight = story.ask_as_rendered()
    assert flat(in_flight)[1] == ("assistant", server_tool_use("srvtoolu_1"))
    story.answer(search_result("srvtoolu_1"), "both are here")
    story.user("thanks")
    request = story.request()
    assert flat(request)[:4] == flat(in_flight)
    assert flat(request)[4] == ("assistant", search_result("srvtoolu_1"))
    assert len(request.report) == 0


def test_a_server_call_in_flight_is_lost_when_the_user_speaks_too_early() -> None:
    story = Story()
    story.user("hi")
    story.answer(server_tool_use("srvtoolu_1"), tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1", "one")
    story.user("well?")
    request = story.request()
    assert server_tool_use("srvtoolu_1") not in [block for _, block in flat(request)]
    assert rules(request) == {"R3"}


def test_a_server_result_without_call_is_left_out() -> None:
    """R2: "Each `web_search_tool_result` block must have a corresponding `server_tool_use`"."""
    story = Story()
    story.user("hi")
    story.answer(search_result("srvtoolu_1"), "found")
    story.user("thanks")
    request = story.request()
    assert flat(request)[1] == ("assistant", text("found"))
    assert rules(request) == {"R2"}


def test_a_call_made_by_code_forgets_the_code_when_that_does_not_go() -> None:
    story = Story()
    story.user("hi")
    code = server_tool_use("srvtoolu_1", "code_execution")
    caller = code_of("srvtoolu_1")
    story.answer(code, tool_use("toolu_1", caller=caller), stop="tool_use", envelope=HELD)
    story.result("toolu_1", "one")
    assert flat(story.request())[2][1]["caller"] == caller
    story.user("stop it")
    request = story.request()
    assert flat(request)[1] == ("assistant", tool_use("toolu_1"))
    assert rules(request) == {"R3"}


def test_code_that_calls_tools_in_several_rounds_stays_in_flight() -> None:
    """R3: "`code_execution` tool use with id ... was found without a corresponding ... block".

    Refused of a lost call only; code that goes on calling tools is still running, and each answer
    until its result holds nothing but the calls that it makes.
    """
    story = Story()
    story.user("hi")
    story.ask()
    code = server_tool_use("srvtoolu_1", "code_execution")
    calls = [tool_use(f"toolu_{place}", caller=code_of("srvtoolu_1")) for place in range(3)]
    story.answer(code, calls[0], stop="tool_use", envelope=HELD)
    sent: list[tuple[str, JsonObject]] = []
    for place, following in enumerate(calls[1:]):
        story.result(f"toolu_{place}")
        request = story.ask_as_rendered()
        assert flat(request)[: len(sent)] == sent
        assert len(request.report) == 0
        sent = flat(request)
        story.answer(following, stop="tool_use")
    story.result("toolu_2")
    assert [block for _, block in flat(story.ask_as_rendered())][1:] == [
        code,
        calls[0],
        result_of("toolu_0"),
        calls[1],
        result_of("toolu_1"),
        calls[2],
        result_of("toolu_2"),
    ]
    story.answer({**search_result("srvtoolu_1"), "type": "code_execution_tool_result"}, "done")
    story.user("thanks")
    request = story.request()
    assert flat(request)[: len(sent)] == sent
    assert len(request.report) == 0


def test_code_is_lost_when_the_assistant_speaks_again_without_it() -> None:
    """R3: "`code_execution` tool use with id ... was found without a corresponding ... block"."""
    story = Story()
    story.user("hi")
    code = server_tool_use("srvtoolu_1", "code_execution")
    story.answer(code, tool_use("toolu_1", caller=code_of("srvtoolu_1")), stop="tool_use")
    story.result("toolu_1")
    story.ask()
    story.answer(tool_use("toolu_2"), stop="tool_use")
    story.result("toolu_2")
    request = story.request()
    assert [block for _, block in flat(request)][1::2] == [tool_use("toolu_1"), tool_use("toolu_2")]
    assert rules(request) == {"R3"}


def test_what_lost_code_called_forgets_it_whoever_runs_it() -> None:
    story = Story()
    story.user("hi")
    code = server_tool_use("srvtoolu_1", "code_execution")
    search = {**server_tool_use("srvtoolu_2"), "caller": code_of("srvtoolu_1")}
    found = {**search_result("srvtoolu_2"), "caller": code_of("srvtoolu_1")}
    story.answer(code, search, found, "and then", stop="max_tokens")
    story.user("go on")
    request = story.request()
    assert [block for _, block in flat(request)][1:3] == [
        server_tool_use("srvtoolu_2"),
        search_result("srvtoolu_2"),
    ]
    assert rules(request) == {"R3"}


def test_the_advisor_is_heard_only_where_it_is_a_tool() -> None:
    """R14: advisor blocks in history without the advisor tool in the request are refused."""
    story = Story()
    story.user("hi")
    call = server_tool_use("srvtoolu_1", "advisor")
    content = {"type": "advisor_result", "text": "yes"}
    advice = {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1", "content": content}
    story.answer(call, advice, "so be it")
    story.user("thanks")
    request = story.request()
    assert flat(request)[1] == ("assistant", text("so be it"))
    assert rules(request) == {"R14"}
    tool = {"type": "advisor_20260301", "name": "advisor", "model": "claude-opus"}
    story.happen(ToolsDeclared(tools=(Native(api=API, value=tool),)))
    assert [block for _, block in flat(story.request())][1:3] == [call, advice]
