"""Conversations with the Responses API for tests: items as they came, as events."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Template
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.apis.request import Options, Request
from tests.projections.happenings import Story

GPT = "gpt-5"
_NO_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)
_CLIENT = {
    *("function_call", "custom_tool_call", "computer_call", "local_shell_call"),
    *("shell_call", "apply_patch_call", "mcp_approval_request"),
}
_SERVER = {
    *("web_search_call", "file_search_call", "code_interpreter_call", "x_search_call"),
    *("image_generation_call", "mcp_call", "mcp_list_tools", "tool_search_call", "program"),
}


def native(value: JsonObject) -> Native:
    return Native(api=NAME, value=value)


def asks(story: Story, *, model: str = GPT, account: str | None = None) -> int:
    """Tell that a request was sent."""
    return story.happen(
        events.RequestSent(
            api=NAME,
            endpoint="/v1/responses",
            model=model,
            template=_NO_TEMPLATE,
            account=account,
        )
    )


def answers(
    story: Story,
    *items: JsonObject,
    store: bool | None = True,
    model: str = GPT,
    **envelope: Any,
) -> UUID:
    """Tell that a response came: its items, and its end."""
    response = speaks(story, *items)
    held = {"object": "response", "status": "completed", **envelope}
    if store is not None:
        held["store"] = store
    story.happen(
        events.ResponseCompleted(
            response=response, api=NAME, model=model, stop_reason="completed", envelope=held
        )
    )
    return response


def breaks_off(story: Story, *items: JsonObject, begun: tuple[JsonObject, ...] = ()) -> UUID:
    """Tell that a response broke off: its whole items, and those amid which it did."""
    response = speaks(story, *items, awaited=False)
    unfinished = tuple(
        events.Unfinished(index=len(items) + n, value=value, partial="")
        for n, value in enumerate(begun)
    )
    story.happen(
        events.ResponseInterrupted(response=response, api=NAME, reason="cut", unfinished=unfinished)
    )
    return response


def speaks(story: Story, *items: JsonObject, awaited: bool = True) -> UUID:
    response = UUID(int=10_000 + len(story.events))
    for index, item in enumerate(items):
        story.happen(event_of(response, index, item, awaited=awaited))
    return response


def event_of(response: UUID, index: int, item: JsonObject, *, awaited: bool = True) -> Event:
    """The event that an item of a response is recorded as."""
    kind: str = item["type"]
    content = native(item)
    at: Any = {"response": response, "index": index}
    is_approval = kind == "mcp_approval_request"
    call_id: str = (not is_approval and item.get("call_id")) or item.get("id") or ""
    is_hosted = "environment" in item
    if kind == "message":
        return events.MessageRecorded(role="assistant", content=(content,), **at)
    if kind == "reasoning":
        return events.ReasoningRecorded(content=content, **at)
    if kind == "compaction":
        return events.CompactionRecorded(content=content, **at)
    is_callers = item.get("execution") == "client"
    if (kind in _SERVER and not is_callers) or is_hosted:
        name = kind.removesuffix("_call")
        return events.ServerToolCallRecorded(call_id=call_id, name=name, content=content, **at)
    if kind in _CLIENT or kind == "tool_search_call":
        name = item.get("name", kind.removesuffix("_call"))
        return events.ToolCallRecorded(
            call_id=call_id, name=name, content=content, awaited=awaited, **at
        )
    if kind.endswith("_output"):
        return events.ServerToolResultRecorded(call_id=call_id, content=content, **at)
    return events.OpaqueRecorded(type=kind, content=content, **at)


def gives(story: Story, value: JsonObject) -> int:
    """Tell the output of a call, in the API's own spelling."""
    call_id: str = value.get("call_id") or value.get("approval_request_id") or value["id"]
    return story.happen(events.ToolResultRecorded(call_id=call_id, content=native(value)))


def rendered(story: Story, options: Options | None = None, **given: Any) -> Request:
    return story.request(options or Options(api=NAME), **given)


def items(story: Story, options: Options | None = None, **given: Any) -> list[JsonObject]:
    sent: list[JsonObject] = rendered(story, options, **given)["input"]
    return sent


def for_(**options: Any) -> Options:
    return Options(api=NAME, **options)


def message(said: str, number: int | str = 1, **members: Any) -> JsonObject:
    text: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": said}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [text],
        **members,
    }


def reasoning(number: int | str = 1, *, encrypted: bool = True) -> JsonObject:
    summary = [{"type": "summary_text", "text": f"thought {number}"}]
    value: JsonObject = {"id": f"rs_{number}", "type": "reasoning", "summary": summary}
    return {**value, "encrypted_content": f"gAAA{number}"} if encrypted else value


def call(call_id: str = "call_1", number: int | str = 1, **members: Any) -> JsonObject:
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "status": "completed",
        "arguments": '{"q":1}',
        "call_id": call_id,
        "name": "look_up",
        **members,
    }


def search(number: int | str = 1) -> JsonObject:
    action = {"type": "search", "query": f"query {number}"}
    return {
        "id": f"ws_{number}",
        "type": "web_search_call",
        "status": "completed",
        "action": action,
    }


def output(call_id: str = "call_1", said: str = "found") -> JsonObject:
    return {"type": "function_call_output", "call_id": call_id, "output": said}


def kinds(sent: list[JsonObject]) -> list[str]:
    """The types of items, messages by their role."""
    return [item["role"] if "role" in item else item["type"] for item in sent]
