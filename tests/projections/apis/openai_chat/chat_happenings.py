"""Conversations with Chat Completions for tests: answers as they came, taken apart into events."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Template
from onrecord.projections.apis.openai_chat.read import NAME, REASONING
from onrecord.projections.apis.request import Options, Request
from tests.projections.happenings import Story

GPT = "gpt-4.1"
DEEPSEEK = "deepseek-reasoner"
_NO_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)


def native(value: JsonObject) -> Native:
    return Native(api=NAME, value=value)


def asks(story: Story, model: str = GPT) -> int:
    """Tell that a request was sent."""
    return story.happen(
        events.RequestSent(
            api=NAME, endpoint="/v1/chat/completions", model=model, template=_NO_TEMPLATE
        )
    )


def answers(
    story: Story,
    message: JsonObject,
    *,
    model: str | None = GPT,
    stop: str | None = None,
    **envelope: Any,
) -> UUID:
    """Tell that an answer came, and how it ended."""
    response = speaks(story, message, awaited=stop in (None, "tool_calls"))
    reason = stop or ("tool_calls" if message.get("tool_calls") else "stop")
    story.happen(
        events.ResponseCompleted(
            response=response,
            api=NAME,
            model=model,
            stop_reason=reason,
            envelope={"choices": [{"index": 0, "finish_reason": reason}], **envelope},
        )
    )
    return response


def breaks_off(story: Story, message: JsonObject, *unfinished: JsonObject) -> UUID:
    """Tell that an answer broke off: what of it was whole, and what was not."""
    response = (
        speaks(story, message, awaited=False) if message else UUID(int=1000 + len(story.events))
    )
    story.happen(
        events.ResponseInterrupted(
            response=response,
            api=NAME,
            reason="cut",
            unfinished=tuple(
                events.Unfinished(index=index, value=value, partial="")
                for index, value in enumerate(unfinished)
            ),
        )
    )
    return response


def speaks(story: Story, message: JsonObject, *, awaited: bool = True) -> UUID:
    """Tell the blocks of a message, each as its kind of event; return the answer's id."""
    response = UUID(int=1000 + len(story.events))
    thought = {k: v for k, v in message.items() if k in REASONING and v not in (None, "", [])}
    calls: list[JsonObject] = message.get("tool_calls") or []
    rest = {k: v for k, v in message.items() if k not in thought and k != "tool_calls"}
    index = 0
    if thought:
        story.happen(events.ReasoningRecorded(response=response, index=0, content=native(thought)))
        index = 1
    said = (native(rest),)
    story.happen(
        events.MessageRecorded(role="assistant", content=said, response=response, index=index)
    )
    for place, call in enumerate(calls, start=index + 1):
        story.happen(call_of(response, place, call, awaited=awaited))
    return response


def call_of(response: UUID, index: int, call: JsonObject, *, awaited: bool) -> events.Event:
    match call:
        case {"id": str(call_id), "function": {"name": str(name)}} if call_id:
            pass
        case {"id": str(call_id), "custom": {"name": str(name)}} if call_id:
            pass
        case _:
            return events.OpaqueRecorded(
                response=response, index=index, type="function", content=native(call)
            )
    return events.ToolCallRecorded(
        response=response,
        index=index,
        call_id=call_id,
        name=name,
        content=native(call),
        awaited=awaited,
    )


def gives(story: Story, call_id: str, content: Any = "found") -> int:
    """Tell what a tool gave, as a program with its own list says it."""
    message = {"role": "tool", "tool_call_id": call_id, "content": content}
    return story.happen(events.ToolResultRecorded(call_id=call_id, content=native(message)))


def function(call_id: str, arguments: str = '{"q": 1}', **members: Any) -> JsonObject:
    called = {"name": "look_up", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": called, **members}


def says(content: Any = None, *calls: JsonObject, **members: Any) -> JsonObject:
    """An assistant's message, as api.openai.com spells it, but for `annotations`."""
    message: JsonObject = {"role": "assistant", "content": content, "refusal": None, **members}
    return {**message, "tool_calls": list(calls)} if calls else message


def asked_of(model: str) -> Options:
    return Options(api=NAME, model=model)


def chat(story: Story, options: Options | None = None, **rest: Any) -> Request:
    """What would be sent now."""
    return story.request(options or Options(api=NAME), **rest)


def messages(story: Story, options: Options | None = None, **rest: Any) -> list[JsonObject]:
    told: list[JsonObject] = chat(story, options, **rest)["messages"]
    return told
