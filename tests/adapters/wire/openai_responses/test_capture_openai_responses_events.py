"""Which event records which item of a response, and what its end says."""

import json
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.wire.openai_responses.answers import read_body
from onrecord.domain.content import Native
from onrecord.domain.events import (
    CompactionRecorded,
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ResponseCompleted,
    ResponseInterrupted,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
)
from tests.openai_responses_wire import JsonObject, call, message, reasoning, response
from tests.sent import events_of

HERE = UUID(int=1)


def events(said: JsonObject) -> list[Event]:
    recorded, _ = events_of(read_body(json.dumps(said).encode()), response=HERE)
    return list(recorded)


def recorded(*output: JsonObject, **more: Any) -> list[Event]:
    return events(response(*output, **more))[:-1]


def item(kind: str, **members: Any) -> JsonObject:
    return {"type": kind, "id": f"{kind}_1", **members}


@pytest.mark.parametrize(
    ("said", "event", "call_id", "name"),
    [
        (call(), ToolCallRecorded, "call_1", "look_up"),
        (item("custom_tool_call", call_id="c", name="sql"), ToolCallRecorded, "c", "sql"),
        (item("computer_call", call_id="c"), ToolCallRecorded, "c", "computer"),
        (item("local_shell_call", call_id="c"), ToolCallRecorded, "c", "local_shell"),
        (item("shell_call", call_id="c"), ToolCallRecorded, "c", "shell"),
        (item("apply_patch_call", call_id="c"), ToolCallRecorded, "c", "apply_patch"),
        (
            item("tool_search_call", call_id="c", execution="client"),
            ToolCallRecorded,
            "c",
            "tool_search",
        ),
        (
            item("mcp_approval_request", name="search"),
            ToolCallRecorded,
            "mcp_approval_request_1",
            "search",
        ),
        (item("web_search_call"), ServerToolCallRecorded, "web_search_call_1", "web_search"),
        (item("file_search_call"), ServerToolCallRecorded, "file_search_call_1", "file_search"),
        (
            item("code_interpreter_call"),
            ServerToolCallRecorded,
            "code_interpreter_call_1",
            "code_execution",
        ),
        (
            item("image_generation_call"),
            ServerToolCallRecorded,
            "image_generation_call_1",
            "image_generation",
        ),
        (item("mcp_call", name="search"), ServerToolCallRecorded, "mcp_call_1", "mcp"),
        (item("mcp_list_tools"), ServerToolCallRecorded, "mcp_list_tools_1", "mcp"),
        (
            item("tool_search_call", call_id=None, execution="server"),
            ServerToolCallRecorded,
            "tool_search_call_1",
            "tool_search",
        ),
        (item("program", call_id="c"), ServerToolCallRecorded, "c", "program"),
    ],
)
def test_a_call_is_the_callers_or_the_providers(
    said: JsonObject, event: type[Event], call_id: str, name: str
) -> None:
    [found] = recorded(said)
    assert isinstance(found, ToolCallRecorded | ServerToolCallRecorded)
    assert (type(found), found.call_id, found.name) == (event, call_id, name)
    assert found.content == Native(api="openai-responses", value=said)
    assert (found.response, found.index) == (HERE, 0)


@pytest.mark.parametrize(
    "kind",
    [
        "function_call_output",
        "custom_tool_call_output",
        "computer_call_output",
        "shell_call_output",
        "apply_patch_call_output",
        "program_output",
        "tool_search_output",
        "hologram_call_output",
    ],
)
def test_an_output_in_an_answer_is_what_the_providers_tool_gave(kind: str) -> None:
    [found] = recorded(item(kind, call_id="c"))
    assert isinstance(found, ServerToolResultRecorded)
    assert found.call_id == "c"


@pytest.mark.parametrize(
    "kind", ["function_call", "custom_tool_call", "shell_call", "apply_patch_call"]
)
def test_a_call_whose_output_stands_in_the_answer_was_run_by_the_provider(kind: str) -> None:
    ran = recorded(item(kind, call_id="c"), item(f"{kind}_output", call_id="c"), call())
    assert [type(event) for event in ran] == [
        ServerToolCallRecorded,
        ServerToolResultRecorded,
        ToolCallRecorded,
    ]
    answer = read_body(json.dumps(response(item(kind, call_id="c"))).encode())
    assert answer.awaits_results
    output = item(f"{kind}_output", call_id="c")
    answer = read_body(json.dumps(response(item(kind, call_id="c"), output)).encode())
    assert not answer.awaits_results


def test_a_shell_in_a_container_is_run_by_the_provider() -> None:
    environment = {"type": "container_reference", "container_id": "cntr_1"}
    [found] = recorded(item("shell_call", call_id="c", environment=environment))
    assert isinstance(found, ServerToolCallRecorded)
    [found] = recorded(item("shell_call", call_id="c", environment={"type": "local"}))
    assert isinstance(found, ToolCallRecorded)


def test_a_search_on_x_is_run_by_the_provider_and_a_custom_tool_by_the_caller() -> None:
    tools = [{"type": "x_search"}, {"type": "custom", "name": "sql"}]
    search, own = (
        item("custom_tool_call", call_id=name, name=name) for name in ("x_keyword_search", "sql")
    )
    assert [type(event) for event in recorded(search, own, tools=tools)] == [
        ServerToolCallRecorded,
        ToolCallRecorded,
    ]


@pytest.mark.parametrize(
    ("said", "event"),
    [
        (message(), MessageRecorded),
        (reasoning(), ReasoningRecorded),
        (item("compaction", encrypted_content="gAAAAA"), CompactionRecorded),
        (item("additional_tools", role="developer", tools=[]), OpaqueRecorded),
        (item("mcp_approval_response", approval_request_id="mcpr_1"), OpaqueRecorded),
        (item("local_shell_call_output", id="c"), ServerToolResultRecorded),
        (item("x_search_call", arguments="{}", call_id=""), ServerToolCallRecorded),
        (item("hologram"), OpaqueRecorded),
        (call(call_id=None), OpaqueRecorded),
        (call(call_id=""), OpaqueRecorded),
        ({"type": "web_search_call"}, OpaqueRecorded),
        ({"type": None}, OpaqueRecorded),
        ({}, OpaqueRecorded),
    ],
)
def test_every_other_item_has_its_event(said: JsonObject, event: type[Event]) -> None:
    [found] = recorded(said)
    assert type(found) is event


def test_what_a_compaction_repeats_of_the_user_is_an_item_and_no_prompt() -> None:
    prompt = message(role="user", content=[{"type": "input_text", "text": "Hello"}])
    summary = item("compaction", encrypted_content="gAAAAA")
    body = {
        "id": "resp_1",
        "object": "response.compaction",
        "created_at": 1,
        "output": [prompt, summary],
        "usage": {"input_tokens": 9, "output_tokens": 2},
    }
    first, second, closing = events(body)
    assert isinstance(first, OpaqueRecorded)
    assert (first.type, first.content.value, first.index) == ("message", prompt, 0)
    assert isinstance(second, CompactionRecorded)
    assert isinstance(closing, ResponseCompleted)
    assert (closing.input_tokens, closing.raw) == (9, None)


def test_a_completed_response_awaits_the_callers_results() -> None:
    *_, asked, closing = events(response(message(), call()))
    assert isinstance(asked, ToolCallRecorded)
    assert asked.awaited is True
    assert isinstance(closing, ResponseCompleted)
    assert (closing.provider_id, closing.stop_reason) == ("resp_01", "completed")
    assert (closing.input_tokens, closing.output_tokens) == (11, 22)
    assert "output" not in closing.envelope
    assert closing.envelope["usage"]["total_tokens"] == 33


@pytest.mark.parametrize(
    ("status", "reason", "detail"),
    [
        ("failed", "error", "server_error"),
        ("cancelled", "abandoned", "cancelled"),
        ("queued", "deferred", None),
        ("in_progress", "deferred", None),
    ],
)
def test_a_response_that_is_not_over_or_went_wrong_is_interrupted(
    status: str, reason: str, detail: str | None
) -> None:
    error = {"code": "server_error", "message": "no"} if status == "failed" else None
    *_, asked, closing = events(response(call(), status=status, error=error))
    assert isinstance(asked, ToolCallRecorded)
    assert not asked.awaited
    assert isinstance(closing, ResponseInterrupted)
    assert (closing.reason, closing.detail, closing.error) == (reason, detail, error)
    assert closing.provider_id == "resp_01"


def test_the_bytes_of_an_answer_that_is_deferred_are_not_needed() -> None:
    assert not read_body(json.dumps(response(status="queued")).encode()).needs_raw


def test_an_incomplete_response_stops_for_its_reason() -> None:
    details = {"reason": "content_filter"}
    answer = read_body(
        json.dumps(response(message(), status="incomplete", incomplete_details=details)).encode()
    )
    assert (answer.is_complete, answer.stop_reason) == (True, "content_filter")


@pytest.mark.parametrize(
    ("body", "interruption"),
    [
        (b"", "malformed"),
        (b"<html>", "malformed"),
        (b"[]", "malformed"),
        (b"{}", "malformed"),
        (b'{"output": null}', "malformed"),
        (b'{"output": ["text"], "status": "completed"}', "malformed"),
        (b'{"output": [], "output": []}', "malformed"),
        (b'{"error": {"type": "server_error", "message": "no"}}', "error"),
    ],
)
def test_a_body_that_is_no_response_says_so(body: bytes, interruption: str) -> None:
    answer = read_body(body)
    assert (answer.interruption, answer.blocks) == (interruption, ())
    assert answer.detail
    assert answer.needs_raw


def test_a_status_that_is_not_known_is_odd_but_the_answer_is_whole() -> None:
    answer = read_body(json.dumps(response(message(), status="complete")).encode())
    assert answer.is_complete
    assert answer.needs_raw
