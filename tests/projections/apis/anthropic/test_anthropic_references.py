"""References to tools in a request to Anthropic: R14."""

from __future__ import annotations

from onrecord.domain.content import Native
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import NO_RESULT
from tests.projections.happenings import (
    API,
    Story,
    flat,
    result_of,
    rules,
    server_tool_use,
    text,
    thinking,
    tool_use,
)
from tests.projections.refused import refused

SEARCH = server_tool_use("srvtoolu_1", "tool_search_tool_regex")


def reference(name: str) -> JsonObject:
    return {"type": "tool_reference", "tool_name": name}


def found(*names: str) -> JsonObject:
    content = {
        "type": "tool_search_tool_search_result",
        "tool_references": [reference(name) for name in names],
    }
    return {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}


def define(story: Story, *names: str) -> None:
    tools: list[JsonObject] = [
        {"name": name, "input_schema": {"type": "object"}, "defer_loading": True} for name in names
    ]
    story.happen(ToolsDeclared(tools=tuple(Native(api=API, value=tool) for tool in tools)))


def searched(*names: str) -> Story:
    story = Story()
    define(story, "weather", "news")
    story.user("hi")
    story.ask()
    story.answer(SEARCH, found(*names), "There.")
    story.user("thanks")
    return story


def test_what_was_found_goes_as_it_came_while_the_tools_are_there() -> None:
    request = searched("weather", "news").request()
    assert ("assistant", found("weather", "news")) in flat(request)
    assert len(request.report) == 0


def test_a_reference_to_a_tool_that_was_taken_away_is_left_out() -> None:
    story = searched("weather", "news")
    define(story, "news")
    request = story.request()
    assert flat(request)[1:4] == [
        ("assistant", SEARCH),
        ("assistant", found("news")),
        ("assistant", text("There.")),
    ]
    assert [note.deed for note in request.report.of("R14")] == ["left out"]
    assert refused(API, request) == ()


def test_a_search_for_tools_that_are_gone_goes_as_words() -> None:
    """R14: an empty list of what was found is refused."""
    story = searched("weather")
    define(story, "news")
    request = story.request()
    assert flat(request)[1:4] == [
        ("assistant", text("[tool_search was used.]\nquery: x")),
        ("assistant", text("[tool_search gave:]\nweather")),
        ("assistant", text("There.")),
    ]
    assert rules(request) == {"R14"}
    assert refused(API, request) == ()


def test_a_search_that_found_nothing_goes_as_it_came() -> None:
    request = searched().request()
    assert ("assistant", found()) in flat(request)
    assert len(request.report) == 0


def test_a_result_of_the_callers_search_keeps_what_is_known() -> None:
    story = Story()
    define(story, "news")
    story.answer(tool_use("toolu_1"), tool_use("toolu_2"), stop="tool_use")
    mixed = {**result_of("toolu_1"), "content": [reference("weather"), reference("news")]}
    story.native_result(mixed)
    story.native_result({**result_of("toolu_2"), "content": [reference("weather")]})
    request = story.request()
    assert request["messages"][-1]["content"] == [
        {**mixed, "content": [reference("news")]},
        {**result_of("toolu_2"), "content": [text(NO_RESULT)]},
    ]
    assert rules(request) == {"R14"}


def test_a_tool_that_was_defined_before_amid_the_messages_is_known() -> None:
    story = Story()
    story.user("hi")
    story.note({"type": "tool_addition", "tool": {"name": "weather", "input_schema": {}}})
    story.answer(tool_use("toolu_1"), stop="tool_use")
    result = {**result_of("toolu_1"), "content": [reference("weather")]}
    story.native_result(result)
    request = story.request()
    assert request["messages"][-1]["content"] == [result]
    assert rules(request) == set()


def test_the_tools_of_an_mcp_server_are_known_to_the_service_alone() -> None:
    story = searched("weather")
    tool: JsonObject = {"type": "mcp_toolset", "mcp_server_name": "maps"}
    story.happen(ToolsDeclared(tools=(Native(api=API, value=tool),)))
    assert ("assistant", found("weather")) in flat(story.request())


def test_thinking_made_under_other_tools_goes_with_what_they_found() -> None:
    story = Story()
    define(story, "weather")
    story.user("hi")
    story.ask_as_rendered()
    story.answer(thinking(), SEARCH, found("weather"), "There.")
    story.user("thanks")
    assert ("assistant", thinking()) in flat(story.request())
    define(story, "news")
    request = story.request()
    assert thinking() not in [block for _, block in flat(request)]
    assert rules(request) == {"R8", "R14"}


def test_later_requests_begin_with_the_words_of_earlier_ones() -> None:
    story = searched("weather")
    define(story, "news")
    before = flat(story.request())
    story.ask()
    story.answer("And now?")
    story.user("nothing")
    assert flat(story.request())[: len(before)] == before
