"""Conversations with Gemini for tests: answers as they came, taken apart into events."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from onrecord.adapters.wire.blocks import AnswerBlock, recorded
from onrecord.adapters.wire.gemini.calls import TurnIds
from onrecord.adapters.wire.gemini.wire import WIRE
from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Template
from onrecord.projections.apis.gemini.read import NAME
from onrecord.projections.apis.request import Options, Request
from tests.projections.happenings import Story

GEMINI = "gemini-3-flash-preview"
OLDER = "gemini-2.5-pro"
SIGNATURE = "EqYDCqMDAb4+9vt/"
_NO_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)


def native(value: JsonObject) -> Native:
    return Native(api=NAME, value=value)


def asks(story: Story, model: str = GEMINI, account: str | None = None) -> int:
    """Tell that a request was sent."""
    return story.happen(
        events.RequestSent(
            api=NAME, endpoint="", model=model, account=account, template=_NO_TEMPLATE
        )
    )


def answers(
    story: Story,
    *parts: JsonObject,
    model: str | None = GEMINI,
    stop: str = "STOP",
    **candidate: Any,
) -> UUID:
    """Tell that an answer came, and how it ended."""
    response = speaks(story, *parts, awaited=stop == "STOP")
    envelope = {"candidates": [{"index": 0, "finishReason": stop, **candidate}]}
    story.happen(
        events.ResponseCompleted(
            response=response, api=NAME, model=model, stop_reason=stop, envelope=envelope
        )
    )
    return response


def breaks_off(story: Story, *parts: JsonObject, unfinished: JsonObject | None = None) -> UUID:
    """Tell that an answer broke off: what of it was whole, and what was not."""
    response = speaks(story, *parts, awaited=False)
    begun = (
        () if unfinished is None else (events.Unfinished(index=9, value=unfinished, partial=""),)
    )
    story.happen(
        events.ResponseInterrupted(response=response, api=NAME, reason="cut", unfinished=begun)
    )
    return response


def speaks(story: Story, *parts: JsonObject, awaited: bool = True) -> UUID:
    """Tell the parts of an answer, each as its kind of event; return the answer's id."""
    response, ids = UUID(int=2000 + len(story.events)), TurnIds()
    blocks = [AnswerBlock(index, part, ids.of(part)) for index, part in enumerate(parts)]
    told, _ = recorded(blocks, WIRE.event_of, NAME, response, awaited=awaited)
    for event in told:
        story.happen(event)
    return response


def gives(story: Story, call_id: str, part: JsonObject) -> int:
    """Tell what a function gave, as a program with its own list says it."""
    return story.happen(events.ToolResultRecorded(call_id=call_id, content=native(part)))


def call_ids(story: Story) -> list[str]:
    """The ids under which calls were recorded."""
    told = [event for _, event in story.events]
    return [event.call_id for event in told if isinstance(event, events.ToolCallRecorded)]


def call(name: str = "look_up", args: Any = None, **members: Any) -> JsonObject:
    return {"functionCall": {"name": name, "args": args or {}, **members}}


def signed(part: JsonObject, signature: str = SIGNATURE) -> JsonObject:
    return {**part, "thoughtSignature": signature}


def text(said: str) -> JsonObject:
    return {"text": said}


def thought(said: str = "hm") -> JsonObject:
    return {"text": said, "thought": True}


def response(
    said: Any = "found", name: str = "look_up", part: JsonObject | None = None, **members: Any
) -> JsonObject:
    told = cast("JsonObject", said) if isinstance(said, dict) else {"result": said}
    return {"functionResponse": {"name": name, "response": told, **members}, **(part or {})}


def asked_of(model: str | None) -> Options:
    return Options(api=NAME, model=model)


def gemini(story: Story, options: Options | None = None, **rest: Any) -> Request:
    """What would be sent now."""
    return story.request(options or Options(api=NAME), **rest)


def contents(story: Story, options: Options | None = None, **rest: Any) -> list[JsonObject]:
    told: list[JsonObject] = gemini(story, options, **rest).body["contents"]
    return told


def of_user(*parts: JsonObject | str) -> JsonObject:
    """A content of the user's."""
    return {"role": "user", "parts": [_part(part) for part in parts]}


def of_model(*parts: JsonObject | str) -> JsonObject:
    """A content of the model's."""
    return {"role": "model", "parts": [_part(part) for part in parts]}


def _part(part: JsonObject | str) -> JsonObject:
    return {"text": part} if isinstance(part, str) else part
