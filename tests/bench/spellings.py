"""The measured conversations as each other API would have answered them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, cast

from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject

CHAT: Final = "openai-chat"
RESPONSES: Final = "openai-responses"
BEDROCK: Final = "bedrock-converse"
GEMINI: Final = "gemini"
OLLAMA: Final = "ollama"
_MODELS: Final = {
    CHAT: "gpt-5",
    RESPONSES: "gpt-5",
    BEDROCK: "anthropic.claude-sonnet-4-5",
    GEMINI: "gemini-3-pro-preview",
    OLLAMA: "qwen3",
}


def spelled(api: str, happened: Iterator[Event]) -> Iterator[Event]:
    """Yield events as an API's wire would have them; what Anthropic answered is respelled."""
    respell = {
        CHAT: _as_completion,
        RESPONSES: _as_item,
        BEDROCK: _as_block,
        GEMINI: _as_part,
        OLLAMA: _as_message,
    }[api]
    model = _MODELS[api]
    for event in happened:
        match event:
            case events.MessageRecorded(role="assistant") | events.ToolCallRecorded():
                yield from respell(event)
            case events.RequestSent():
                yield event.model_copy(update={"api": api, "model": model})
            case events.ResponseCompleted():
                envelope = {"id": event.provider_id, "model": model, "store": True}
                told = {"api": api, "model": model, "envelope": envelope}
                yield event.model_copy(update=told)
            case _:
                yield event


def _as_completion(event: events.MessageRecorded | events.ToolCallRecorded) -> Iterator[Event]:
    block = _block(event)
    message: JsonObject = {"role": "assistant", "content": block.get("text"), "refusal": None}
    yield events.MessageRecorded(
        role="assistant",
        content=(Native(api=CHAT, value={**message, "annotations": []}),),
        response=event.response,
        index=0,
    )
    if isinstance(event, events.ToolCallRecorded):
        function = {"name": event.name, "arguments": json.dumps(block["input"])}
        call = {"id": event.call_id, "type": "function", "function": function}
        yield event.model_copy(update={"index": 1, "content": Native(api=CHAT, value=call)})


def _as_item(event: events.MessageRecorded | events.ToolCallRecorded) -> Iterator[Event]:
    block = _block(event)
    if isinstance(event, events.MessageRecorded):
        part: JsonObject = {"type": "output_text", "annotations": [], "text": block["text"]}
        item = _item("msg", "message", event, role="assistant", content=[part])
        yield event.model_copy(update={"content": (Native(api=RESPONSES, value=item),)})
        return
    told = {"call_id": event.call_id, "name": event.name, "arguments": json.dumps(block["input"])}
    item = _item("fc", "function_call", event, **told)
    yield event.model_copy(update={"content": Native(api=RESPONSES, value=item)})


def _as_block(event: events.MessageRecorded | events.ToolCallRecorded) -> Iterator[Event]:
    block = _block(event)
    if isinstance(event, events.MessageRecorded):
        said = Native(api=BEDROCK, value={"text": block["text"]})
        yield event.model_copy(update={"content": (said,)})
        return
    told = {"toolUseId": event.call_id, "name": event.name, "input": block["input"]}
    yield event.model_copy(update={"content": Native(api=BEDROCK, value={"toolUse": told})})


def _as_part(event: events.MessageRecorded | events.ToolCallRecorded) -> Iterator[Event]:
    block = _block(event)
    if isinstance(event, events.MessageRecorded):
        said = Native(api=GEMINI, value={"text": block["text"]})
        yield event.model_copy(update={"content": (said,)})
        return
    called: JsonObject = {"functionCall": {"name": event.name, "args": block["input"]}}
    part = Native(api=GEMINI, value={**called, "thoughtSignature": "EqYDCqMDAb4+9vt/" * 40})
    yield event.model_copy(update={"content": part})


def _as_message(event: events.MessageRecorded | events.ToolCallRecorded) -> Iterator[Event]:
    block = _block(event)
    said: JsonObject = {"role": "assistant", "content": block.get("text", "")}
    yield events.MessageRecorded(
        role="assistant",
        content=(Native(api=OLLAMA, value=said),),
        response=event.response,
        index=0,
    )
    if isinstance(event, events.ToolCallRecorded):
        function = {"name": event.name, "arguments": block["input"]}
        call = Native(api=OLLAMA, value={"id": event.call_id, "function": function})
        yield event.model_copy(update={"index": 1, "content": call})


def _item(
    prefix: str, kind: str, event: events.MessageRecorded | events.ToolCallRecorded, **members: Any
) -> JsonObject:
    number = event.response.hex if event.response else "0"
    return {"id": f"{prefix}_{number}", "type": kind, "status": "completed", **members}


def _block(event: events.MessageRecorded | events.ToolCallRecorded) -> JsonObject:
    held = event.content[0] if isinstance(event, events.MessageRecorded) else event.content
    return cast("Native", held).value
