"""Calls and their outputs in a request to the Responses API: O1, O2, O6, O7, O8, O13."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onrecord.domain.content import Document, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.documents import PREAMBLE
from onrecord.projections.apis.openai_responses.items import with_link
from onrecord.projections.apis.openai_responses.read import NAME
from tests.projections.apis.openai_responses.responses_happenings import (
    answers,
    asks,
    call,
    gives,
    items,
    kinds,
    message,
    output,
    reasoning,
    rendered,
)
from tests.projections.happenings import Story, rules
from tests.projections.refused import refused

PNG = "data:image/png;base64,iVBORw0KGgo="
SHOT = {"type": "computer_screenshot", "image_url": PNG}


def custom(call_id: str = "call_1") -> JsonObject:
    head = {"id": "ctc_1", "type": "custom_tool_call", "status": "completed"}
    return {**head, "call_id": call_id, "name": "sql", "input": "SELECT 1"}


def computer() -> JsonObject:
    asked: JsonObject = {"action": {"type": "screenshot"}, "pending_safety_checks": []}
    return {"id": "cu_1", "type": "computer_call", "call_id": "call_1", **asked}


def local_shell() -> JsonObject:
    action: JsonObject = {"type": "exec", "command": ["ls"], "env": {}}
    return {"id": "lsh_1", "type": "local_shell_call", "call_id": "call_1", "action": action}


def shell(**members: Any) -> JsonObject:
    action = {"commands": ["ls"]}
    return {"id": "sh_1", "type": "shell_call", "call_id": "call_1", "action": action, **members}


def patch() -> JsonObject:
    operation = {"type": "delete_file", "path": "a"}
    head = {"id": "apc_1", "type": "apply_patch_call", "call_id": "call_1"}
    return {**head, "status": "completed", "operation": operation}


def approval() -> JsonObject:
    head = {"id": "mcpr_1", "type": "mcp_approval_request", "server_label": "x"}
    return {**head, "name": "ask", "arguments": "{}"}


def after(story: Story, *said: JsonObject) -> Story:
    story.user("hi")
    answers(story, *said)
    return story


def test_a_call_without_output_gets_a_cancelled_one() -> None:
    """ "No tool output found for function call call_..."."""
    story = after(Story(), call("call_1", 1), call("call_2", 2))
    gives(story, output("call_2", "two"))
    request = rendered(story)
    assert request["input"][3:] == [output("call_1", CANCELLED), output("call_2", "two")]
    assert [(note.deed, note.rule) for note in request.report] == [("repaired", "O1")]


def test_an_output_of_no_call_goes_as_text() -> None:
    """ "No tool call found for function call output with call_id call_..."."""
    story = Story()
    story.user("hi")
    gives(story, output("call_gone", "something"))
    assert items(story)[1:] == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "The result of tool call call_gone:"},
                {"type": "input_text", "text": "something"},
            ],
        }
    ]


def test_a_late_output_goes_as_text_and_changes_nothing_that_was_sent() -> None:
    story = after(Story(), call())
    sent = items(story)
    asks(story)
    answers(story, message("without it, then"))
    gives(story, output("call_1", "forty-two"))
    request = rendered(story)
    assert request["input"][: len(sent)] == sent
    assert request["input"][-1]["role"] == "user"
    assert "late" in rules(request)


NATIVE: list[tuple[JsonObject, JsonObject]] = [
    (custom(), {"type": "custom_tool_call_output", "call_id": "call_1", "output": "1"}),
    (
        computer(),
        {
            "type": "computer_call_output",
            "call_id": "call_1",
            "output": SHOT,
            "acknowledged_safety_checks": [],
        },
    ),
    (local_shell(), {"type": "local_shell_call_output", "id": "call_1", "output": "a"}),
    (shell(), {"type": "shell_call_output", "call_id": "call_1", "output": []}),
    (patch(), {"type": "apply_patch_call_output", "call_id": "call_1", "status": "completed"}),
    (
        approval(),
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ),
]


@pytest.mark.parametrize(("asked", "given"), NATIVE)
def test_an_output_goes_back_as_it_came(asked: JsonObject, given: JsonObject) -> None:
    story = after(Story(), reasoning(), asked)
    gives(story, given)
    request = rendered(story)
    assert request["input"][1:] == [reasoning(), asked, given]
    assert len(request.report) == 0
    assert refused(NAME, request) == ()


@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("mcp_approval_response", "approval_request_id"),
        ("local_shell_call_output", "call_id"),
        ("local_shell_call_output", "id"),
        ("custom_tool_call_output", "call_id"),
    ],
)
def test_an_answer_goes_under_the_id_that_its_call_has(kind: str, member: str) -> None:
    answer = {"type": kind, member: "call_1"}
    assert with_link(answer, "call_1") is answer
    assert with_link(answer, "call_2") == {"type": kind, member: "call_2"}


SPELLED: list[tuple[JsonObject, str, JsonObject]] = [
    (call(), "found", output()),
    (custom(), "1", {"type": "custom_tool_call_output", "call_id": "call_1", "output": "1"}),
    (
        local_shell(),
        "a.txt",
        {"type": "local_shell_call_output", "id": "call_1", "output": "a.txt"},
    ),
    (
        shell(),
        "a.txt",
        {
            "type": "shell_call_output",
            "call_id": "call_1",
            "output": [
                {"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
            ],
        },
    ),
    (
        patch(),
        "done",
        {
            "type": "apply_patch_call_output",
            "call_id": "call_1",
            "status": "completed",
            "output": "done",
        },
    ),
    (
        approval(),
        "Approved",
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ),
    (
        approval(),
        "too dear",
        {
            "type": "mcp_approval_response",
            "approval_request_id": "mcpr_1",
            "approve": False,
            "reason": "too dear",
        },
    ),
]


@pytest.mark.parametrize(("asked", "said", "wanted"), SPELLED)
def test_a_result_is_spelled_as_its_kind_of_call_wants_it(
    asked: JsonObject, said: str, wanted: JsonObject
) -> None:
    story = after(Story(), asked)
    story.result(asked["id"] if "call_id" not in asked else "call_1", said)
    request = rendered(story)
    assert request["input"][1:] == [asked, wanted]
    assert refused(NAME, request) == ()


@pytest.mark.parametrize("asked", [call(), custom(), local_shell(), shell(), patch(), approval()])
def test_a_call_of_any_kind_may_be_given_up(asked: JsonObject) -> None:
    request = rendered(after(Story(), asked))
    assert kinds(request["input"])[1] == asked["type"]
    assert len(request["input"]) == 3
    assert CANCELLED in str(request["input"][2])
    assert refused(NAME, request) == ()


def test_a_computer_that_showed_nothing_goes_as_words() -> None:
    """ "No tool output found for computer call call_...": only a screenshot answers it."""
    story = after(Story(), reasoning(), computer())
    request = rendered(story)
    assert kinds(request["input"]) == ["user", "assistant"]
    assert "[computer was called.]" in request["input"][1]["content"]
    assert {"O1", "O3"} <= rules(request)


def test_a_screenshot_from_elsewhere_answers_a_computer() -> None:
    story = after(Story(), computer())
    shown = Document(media_type="image/png", url=PNG)
    content = ToolResult(call_id="call_1", content=(shown,))
    story.happen(ToolResultRecorded(call_id="call_1", content=content))
    assert items(story)[1:] == [
        computer(),
        {"type": "computer_call_output", "call_id": "call_1", "output": SHOT},
    ]


def test_an_output_of_another_kind_is_spelled_anew() -> None:
    story = after(Story(), custom())
    gives(story, output("call_1", "1"))
    assert items(story)[2] == {
        "type": "custom_tool_call_output",
        "call_id": "call_1",
        "output": "1",
    }


def test_words_tell_that_a_tool_failed() -> None:
    story = after(Story(), call("call_1", 1), call("call_2", 2))
    story.result("call_1", "no such file", is_error=True)
    story.result("call_2", "", is_error=True)
    outputs = [item["output"] for item in items(story)[3:]]
    assert outputs == [
        "The tool failed:\nno such file",
        "Tool execution failed, but returned no result.",
    ]


def test_documents_of_a_shell_follow_all_outputs() -> None:
    story = after(Story(), shell(), call("call_2", 2))
    shown = Document(media_type="image/png", url=PNG)
    content = ToolResult(call_id="call_1", content=(Text(text="see"), shown))
    story.happen(ToolResultRecorded(call_id="call_1", content=content))
    gives(story, output("call_2"))
    sent = items(story)
    assert kinds(sent)[3:] == ["shell_call_output", "function_call_output", "user"]
    preamble, tag, picture = sent[-1]["content"]
    assert preamble["text"] == PREAMBLE
    assert tag["text"] == '<document tool-name="shell" tool-call-id="call_1" />'
    assert picture["image_url"] == PNG
    assert sent[3]["output"][0]["stdout"] == f"see\n{tag['text']}"


@pytest.mark.parametrize("given", ["c" * 65, "", "call_0"])
def test_ids_of_calls_fit_and_stand_once_on_both_ends_alike(given: str) -> None:
    """ "Invalid 'input[N].call_id': string too long. Expected a string with maximum length 64"."""
    story = Story()
    story.user("hi")
    for number in (1, 2):
        asks(story)
        answers(story, call("x", number))
        story.happen(ToolCallRecorded(call_id=given, name="f", content=neutral_call(given)))
        story.result(given, f"found {number}")
        gives(story, output("x", f"x {number}"))
    request = rendered(story)
    called = [item["call_id"] for item in request["input"] if item.get("type") == "function_call"]
    assert len(set(called)) == 4
    assert all(0 < len(call_id) <= 64 for call_id in called)
    assert refused(NAME, request) == ()
    assert request.body_parts() == rendered(story).body_parts()


def neutral_call(call_id: str, arguments: Any = None, name: str = "f") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments={} if arguments is None else arguments)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [({"a": [1, "é"]}, '{"a":[1,"é"]}'), ("SELECT 1", '{"arguments":"SELECT 1"}')],
)
def test_arguments_are_json_of_an_object(arguments: object, wanted: str) -> None:
    story = Story()
    content = neutral_call("call_1", arguments)
    story.happen(ToolCallRecorded(call_id="call_1", name="f", content=content))
    assert items(story)[0]["arguments"] == wanted


def test_where_a_tool_stands_goes_back_with_its_call() -> None:
    """A deferred tool's namespace has to come back, or the call is refused."""
    said = call("call_1", 1, namespace="files")
    story = after(Story(), said)
    gives(story, output())
    assert items(story)[1] == said


def tools_sought(call_id: str = "call_1") -> JsonObject:
    client = {"execution": "client", "status": "completed"}
    return {"type": "tool_search_call", "call_id": call_id, "arguments": {}, **client}


def sought(result: str, *, is_error: bool = False) -> Story:
    """A conversation in which the caller searches for tools."""
    story = Story()
    story.user("hi")
    asks(story)
    answers(story, reasoning(), tools_sought())
    story.result("call_1", result, is_error=is_error)
    return story


def found(*tools: JsonObject) -> JsonObject:
    client = {"execution": "client", "status": "completed"}
    return {
        "type": "tool_search_output",
        "call_id": "call_1",
        **client,
        "tools": list(tools),
    }


def test_definitions_that_a_search_for_tools_found_are_its_output() -> None:
    look: JsonObject = {"type": "function", "name": "look", "parameters": {}}
    assert items(sought(json.dumps([look])))[2:] == [tools_sought(), found(look)]
    assert items(sought("[]"))[2:] == [tools_sought(), found()]


@pytest.mark.parametrize("gave", ["look, find", '["look"]', '{"name": "look"}', "7"])
def test_what_a_search_for_tools_gave_in_words_follows_its_output(gave: str) -> None:
    request = rendered(sought(gave))
    tagged = [
        {"type": "input_text", "text": "The result of tool call call_1 (tool_search):"},
        {"type": "input_text", "text": gave},
    ]
    said = {"role": "user", "content": tagged}
    assert request["input"][1:] == [reasoning(), tools_sought(), found(), said]
    assert rules(request) == {"O13"}
    assert refused(NAME, request) == ()


def test_a_search_for_tools_that_failed_says_why() -> None:
    assert "no index" in items(sought("no index", is_error=True))[-1]["content"][1]["text"]


def test_a_search_for_tools_that_found_nothing_has_an_empty_output() -> None:
    story = sought("")
    assert items(story)[2:] == [tools_sought(), found()]
    cancelled = Story()
    cancelled.user("hi")
    asks(cancelled)
    answers(cancelled, tools_sought())
    cancelled.user("never mind")
    request = rendered(cancelled)
    assert request["input"][1:3] == [tools_sought(), found()]
    assert rules(request) == {"O1"}
