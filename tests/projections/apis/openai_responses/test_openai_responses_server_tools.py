"""What OpenAI's own tools did, in a request to the Responses API: O8, O9."""

from __future__ import annotations

import json

import pytest

from onrecord.domain.content import ServerToolCall, ServerToolResult, Url
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of, outcome_of
from onrecord.projections.apis.openai_responses.items import PREFIXES
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.apis.request import Options, render
from tests.projections.apis.openai_responses.responses_happenings import (
    answers,
    asks,
    call,
    for_,
    gives,
    items,
    kinds,
    message,
    output,
    reasoning,
    rendered,
)
from tests.projections.happenings import Story, rules
from tests.projections.recorded import recorded
from tests.projections.refused import refused


def after(story: Story, *said: JsonObject) -> Story:
    story.user("hi")
    answers(story, *said)
    return story


def hosted(number: int = 1) -> JsonObject:
    where = {"type": "container_reference", "container_id": "cntr_1"}
    return {
        "id": f"sh_{number}",
        "type": "shell_call",
        "call_id": f"call_{number}",
        "action": {"commands": ["ls"]},
        "environment": where,
    }


def ran(number: int = 1) -> JsonObject:
    done = {"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    return {
        "id": f"sho_{number}",
        "type": "shell_call_output",
        "call_id": f"call_{number}",
        "output": [done],
    }


def test_what_a_hosted_shell_did_goes_back_as_it_came() -> None:
    story = after(Story(), reasoning(), hosted(), ran(), message("Done."))
    assert items(story)[1:] == [reasoning(), hosted(), ran(), message("Done.")]


def test_a_hosted_shell_without_output_goes_as_words() -> None:
    story = after(Story(), reasoning(), hosted(1), message("Hm."))
    request = rendered(story)
    assert kinds(request["input"]) == ["user", "assistant", "assistant"]
    assert rules(request) == {"O8", "O3"}


def test_output_of_a_hosted_shell_without_its_call_goes_as_words() -> None:
    story = after(Story(), ran(), message("Hm."))
    assert items(story)[1]["content"] == "[shell gave:]\na.txt"


def program() -> JsonObject:
    head = {"id": "prog_1", "type": "program", "call_id": "call_p"}
    return {**head, "code": "f()", "fingerprint": "fp"}


CALLED_BY = {"caller": {"type": "program", "caller_id": "call_p"}}


def test_a_program_is_in_flight_while_only_outputs_of_its_calls_follow() -> None:
    story = after(Story(), program(), call("call_1", 1, **CALLED_BY))
    gives(story, {**output(), **CALLED_BY})
    assert items(story)[1:] == [
        program(),
        call("call_1", 1, **CALLED_BY),
        {**output(), **CALLED_BY},
    ]
    asks(story)
    finished = {"id": "po_1", "type": "program_output", "call_id": "call_p", "result": "1"}
    answers(story, finished, message("Done."))
    assert items(story)[1:3] == [program(), call("call_1", 1, **CALLED_BY)]
    assert items(story)[4:] == [finished, message("Done.")]


def test_the_output_of_a_call_names_the_program_that_made_it() -> None:
    story = after(Story(), program(), call("call_1", 1, **CALLED_BY))
    story.result("call_1", "found")
    assert items(story)[-1] == {**output(), **CALLED_BY}


def test_a_program_that_was_given_up_goes_as_words_and_its_calls_forget_it() -> None:
    story = after(Story(), program(), call("call_1", 1, **CALLED_BY))
    gives(story, {**output(), **CALLED_BY})
    story.user("never mind")
    request = rendered(story)
    assert request["input"][1:] == [
        {"role": "assistant", "content": "[program was used.]\ncode: f()"},
        call("call_1", 1),
        output(),
        {"role": "user", "content": "never mind"},
    ]
    assert rules(request) == {"O8"}


def code() -> JsonObject:
    return {
        "id": "ci_1",
        "type": "code_interpreter_call",
        "status": "completed",
        "code": "1+1",
        "container_id": "cntr_1",
        "outputs": [{"type": "logs", "logs": "2"}],
    }


def test_an_output_of_an_unknown_kind_says_nothing_elsewhere() -> None:
    story = Story()
    story.user("hi")
    outputs = [{"type": "hologram"}, {"type": "logs", "logs": ""}, {"type": "logs", "logs": "2"}]
    answers(story, {**code(), "outputs": outputs}, message("2"))
    story.user("and now?")
    request = story.request(Options(api="openai-chat"))
    assert request["messages"][1]["content"].endswith("[code_execution gave:]\n2\n\n2")


LAST_USED = 1_795_000_000
MINUTES = 60 * 1_000_000


def test_code_goes_as_words_once_its_container_is_gone() -> None:
    """ "Expected container_id: cntr_...", for ever: a container lives 20 minutes unused."""
    story = Story()
    story.user("hi")
    said = [reasoning(), code(), message("2")]
    answers(story, *said, completed_at=LAST_USED)
    story.user("and now?")
    events = recorded(story)

    def rendered_after(minutes: int) -> list[JsonObject]:
        at = LAST_USED * 1_000_000 + minutes * MINUTES
        request = render([*events[:-1], events[-1]._replace(recorded_at=at)], for_())
        assert rules(request) == (set() if minutes < 20 else {"O9", "O3"})
        sent: list[JsonObject] = request["input"]
        return sent

    assert rendered_after(19)[1:4] == said
    assert rendered_after(21)[1:3] == [
        {
            "role": "assistant",
            "content": "[code_execution was used.]\ncode: 1+1\n[code_execution gave:]\n2",
        },
        {"role": "assistant", "content": "2"},
    ]


def test_a_container_lives_on_while_it_is_used() -> None:
    story = Story()
    story.user("hi")
    answers(story, code(), completed_at=LAST_USED)
    answers(story, {**code(), "id": "ci_2"}, completed_at=LAST_USED + 1000)
    events = recorded(story)
    at = LAST_USED * 1_000_000 + 30 * MINUTES
    request = render([*events[:-1], events[-1]._replace(recorded_at=at)], for_())
    assert request["input"][1:] == [code(), {**code(), "id": "ci_2"}]


def test_where_no_time_is_known_code_stays() -> None:
    assert items(after(Story(), code()))[1:] == [code()]


def test_a_search_of_tools_goes_back_with_what_it_found() -> None:
    by_server: JsonObject = {"call_id": None, "execution": "server", "status": "completed"}
    asked: JsonObject = {"id": "tsc_1", "type": "tool_search_call", "arguments": {}, **by_server}
    found: JsonObject = {"id": "tso_1", "type": "tool_search_output", "tools": [], **by_server}
    story = after(Story(), asked, found, message("Found."))
    assert items(story)[1:] == [asked, found, message("Found.")]


def test_a_hosted_search_goes_without_what_it_found_but_not_the_other_way_round() -> None:
    """Recorded: a search without what it found was taken."""
    by_server: JsonObject = {"execution": "server", "call_id": None}
    asked: JsonObject = {"id": "tsc_1", "type": "tool_search_call", **by_server}
    found: JsonObject = {"id": "tso_1", "type": "tool_search_output", "tools": [], **by_server}
    story = after(Story(), asked, message("Found."))
    assert items(story)[1:] == [asked, message("Found.")]
    story = after(Story(), reasoning(), found, message("Found."))
    assert kinds(items(story)) == ["user", "assistant", "assistant"]


def of_xai(kind: str, name: str, /, **asked: object) -> JsonObject:
    """A tool that xAI ran: what was asked is JSON, and the id of the call is empty."""
    arguments = json.dumps(asked)
    return {
        "id": f"{PREFIXES.get(kind, 'xs')}_1",
        "type": kind,
        "status": "completed",
        "name": name,
        "arguments": arguments,
        "call_id": "",
    }


SEARCHED = of_xai("web_search_call", "web_search", query="rain")
XAI = [
    (SEARCHED, "web_search", {"query": "rain"}),
    (of_xai("x_search_call", "x_keyword_search", query="rain"), "x_search", {"query": "rain"}),
    (
        of_xai("code_interpreter_call", "code_execution", code="print(1)"),
        "code_execution",
        {"code": "print(1)"},
    ),
]


@pytest.mark.parametrize(("item", "name", "asked"), XAI, ids=[name for _, name, _ in XAI])
def test_what_tools_of_xai_were_asked_is_told(
    item: JsonObject, name: str, asked: JsonObject
) -> None:
    assert neutral_of(NAME, item) == ServerToolCall(id=item["id"], name=name, arguments=asked)
    story = after(Story(), item, message("Done."))
    (said,) = (part["text"] for part in story.request()["messages"][1]["content"][:1])
    assert said.startswith(f"[{name} was used.]")
    assert next(iter(asked.values())) in said


@pytest.mark.parametrize("item", [item for item, _, _ in XAI], ids=[name for _, name, _ in XAI])
def test_an_empty_call_id_of_a_tool_that_the_service_ran_does_not_go_back(item: JsonObject) -> None:
    story = after(Story(), item, message("Done."))
    request = rendered(story)
    kept = {name: value for name, value in item.items() if name != "call_id"}
    assert request["input"][1:] == [kept, message("Done.")]
    assert rules(request) == {"O6"}
    assert refused(NAME, request) == ()


def test_a_page_that_a_search_of_xai_opened_is_what_it_gave() -> None:
    opened = of_xai("web_search_call", "open_page", url="https://example.com/rain")
    outcome = outcome_of(NAME, opened)
    assert isinstance(outcome, ServerToolResult)
    assert outcome.content == (Url(url="https://example.com/rain"),)


def test_arguments_of_a_search_that_are_no_json_are_told_as_they_came() -> None:
    broken = {**SEARCHED, "action": {"type": "search"}, "arguments": '{"query"'}
    asked = neutral_of(NAME, broken)
    assert isinstance(asked, ServerToolCall)
    assert asked.arguments == {"type": "search", "arguments": '{"query"'}
