"""Conversations with Bedrock's Converse API for tests: answers as they came, told as events."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Template
from onrecord.projections.apis.bedrock.read import NAME
from onrecord.projections.apis.request import Options, Request
from tests.prefixes import prefix_of
from tests.projections.happenings import Story

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "us.amazon.nova-2-lite-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
WRITER = "us.writer.palmyra-x4-v1:0"
_NO_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)


def native(value: JsonObject) -> Native:
    return Native(api=NAME, value=value)


def asks(story: Story, model: str | None = CLAUDE, **told: Any) -> int:
    """Tell that a request was sent."""
    return story.happen(
        events.RequestSent(
            api=NAME,
            endpoint=f"/model/{model}/converse",
            model=model,
            template=_NO_TEMPLATE,
            **told,
        )
    )


def asks_as_rendered(story: Story, model: str = CLAUDE, account: str | None = None) -> Request:
    """Tell that the request which these events make was sent, with its prefix digest."""
    request = story.request(asked_of(model))
    asks(story, model, account=account, prefix=digest(request))
    return request


def digest(request: Request) -> str:
    """The digest of a request, as it is taken when it is recorded."""
    blocks: list[JsonObject] = request.body.get("system", [])
    system: Any = blocks[0]["text"] if len(blocks) == 1 else {"system": blocks} if blocks else None
    config: JsonObject = request.body.get("toolConfig", {})
    return prefix_of(system, config.get("tools"), request.body["messages"])


def answers(
    story: Story, *blocks: JsonObject | str, stop: str | None = None, model: str | None = None
) -> UUID:
    """Tell that an answer came, and how it ended; `model` is one that is asked for it."""
    if model is not None:
        asks(story, model)
    values = [{"text": block} if isinstance(block, str) else block for block in blocks]
    reason = stop or ("tool_use" if any("toolUse" in value for value in values) else "end_turn")
    response = speaks(story, values, awaited=reason in ("tool_use", "end_turn"))
    story.happen(
        events.ResponseCompleted(
            response=response, api=NAME, stop_reason=reason, envelope={"stopReason": reason}
        )
    )
    return response


def breaks_off(story: Story, *blocks: JsonObject, begun: tuple[JsonObject, str]) -> UUID:
    """Tell that an answer broke off: its whole blocks, and the one that was being said."""
    response = speaks(story, list(blocks), awaited=False)
    value, partial = begun
    unfinished = (events.Unfinished(index=len(blocks), value=value, partial=partial),)
    story.happen(
        events.ResponseInterrupted(response=response, api=NAME, reason="cut", unfinished=unfinished)
    )
    return response


def speaks(story: Story, values: list[JsonObject], *, awaited: bool) -> UUID:
    """Tell the blocks of an answer, each as its kind of event; return the answer's id."""
    response = UUID(int=3000 + len(story.events))
    for index, value in enumerate(values):
        story.happen(event_of(response, index, value, awaited=awaited))
    return response


def event_of(response: UUID, index: int, value: JsonObject, *, awaited: bool) -> Event:
    content = native(value)
    match value:
        case {"toolUse": {"type": "server_tool_use", "toolUseId": call, "name": name}}:
            return events.ServerToolCallRecorded(
                response=response, index=index, call_id=call, name=name, content=content
            )
        case {"toolUse": {"toolUseId": call, "name": name}}:
            return events.ToolCallRecorded(
                response=response,
                index=index,
                call_id=call,
                name=name,
                content=content,
                awaited=awaited,
            )
        case {"toolResult": {"toolUseId": call}}:
            return events.ServerToolResultRecorded(
                response=response, index=index, call_id=call, content=content
            )
        case {"reasoningContent": _}:
            return events.ReasoningRecorded(response=response, index=index, content=content)
        case {"text": _} | {"citationsContent": _} | {"image": _}:
            return events.MessageRecorded(
                role="assistant", content=(content,), response=response, index=index
            )
        case _:
            kind = next(iter(value))
            return events.OpaqueRecorded(response=response, index=index, type=kind, content=content)


def gives(story: Story, call_id: str, *content: JsonObject, status: str | None = "success") -> int:
    """Tell what a tool gave, as a program with its own list says it."""
    held: JsonObject = {"toolUseId": call_id, "content": list(content)}
    if status is not None:
        held["status"] = status
    return story.happen(
        events.ToolResultRecorded(
            call_id=call_id, content=native({"toolResult": held}), is_error=status == "error"
        )
    )


def call(call_id: str, name: str = "look_up", **members: Any) -> JsonObject:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": {"q": call_id}, **members}}


def server_call(call_id: str) -> JsonObject:
    return call(call_id, "nova_grounding", type="server_tool_use")


def server_result(call_id: str) -> JsonObject:
    found = [{"text": "found"}]
    held = {"toolUseId": call_id, "content": found, "type": "nova_grounding_result"}
    return {"toolResult": held}


def reasoning(text: str = "hm", signature: str | None = "c2ln") -> JsonObject:
    signed = {} if signature is None else {"signature": signature}
    return {"reasoningContent": {"reasoningText": {"text": text, **signed}}}


def asked_of(model: str | None = None, **rest: Any) -> Options:
    return Options(api=NAME, model=model, **rest)


def converse(story: Story, model: str | None = None, **rest: Any) -> Request:
    """What would be sent now."""
    return story.request(asked_of(model), **rest)


def messages(story: Story, model: str | None = None, **rest: Any) -> list[tuple[str, Any]]:
    """The blocks of a request, each with its speaker."""
    request = converse(story, model, **rest)
    return [(told["role"], block) for told in request.body["messages"] for block in told["content"]]


def roles(request: Request) -> list[str]:
    return [message["role"] for message in request["messages"]]


def kinds(request: Request) -> list[list[str]]:
    """The kinds of blocks of each message."""
    told = request.body["messages"]
    return [[next(iter(block)) for block in message["content"]] for message in told]
