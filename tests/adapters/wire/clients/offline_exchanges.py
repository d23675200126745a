"""One exchange, recorded twice: off the wire, and from what a program has in hand of it."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import onrecord
from onrecord.adapters.conversation.conversation import stream_of, tenancy_of
from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.wire.bodies.attempt import Attempt
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.clients.sending import Sending, outgoing_of
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import jsontext
from tests.contract.samples import JsonObject, Sample

MODEL = "model-1"
TARGETS = {
    "anthropic-messages": "/v1/messages",
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "gemini": f"/models/{MODEL}:generateContent",
    "ollama": "/api/chat",
    "bedrock-converse": f"/model/{MODEL}/converse",
}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def prompted() -> onrecord.Conversation:
    """A conversation in which a user has asked something."""
    chat = onrecord.connect("memory://").conversation("talk")
    chat.instruct("Be brief.")
    chat.user("What does the report say?")
    return chat


def body_of(chat: onrecord.Conversation, api: str) -> JsonObject:
    """The request that a program sends: what was rendered, with the model where the body names it."""
    body = dict(chat.request(api).body)
    return body if "*" in TARGETS[api] or MODEL in TARGETS[api] else {"model": MODEL, **body}


def recorder_of(chat: onrecord.Conversation) -> Recorder:
    return tenancy_of(chat).recorders.of(stream_of(chat))


def off_the_wire(
    chat: onrecord.Conversation, api: str, data: bytes, headers: dict[str, str], status: int = 200
) -> None:
    """Send a request, and be answered in chunks: what a recorded client does, without a socket."""
    wire, sent = WIRES[api], jsontext.write(body_of(chat, api))
    recorder = recorder_of(chat)
    recorder.remember(rendered_by(chat, api))
    sending = Sending("POST", TARGETS[api], {})
    begun = recorder.begin(outgoing_of(api, sending, sent, recorder))
    nobody = Credentials((), recorder.digest)

    def close(recording: Any, _failed: bool) -> None:
        recorder.conclude(begun, recording)

    scratch = recorder.spool.scratch
    attempt = Attempt(wire, begun.request, begun.line, lambda: nobody, close, scratch)
    attempt.answered(status, headers)
    for at in range(0, len(data), 64):
        attempt.feed(data[at : at + 64])
    attempt.finish()


def rendered_by(chat: onrecord.Conversation, api: str) -> Any:
    """What `chat.request` took note of last: the recorder of a wrapped client would know it."""
    wire: Any = vars(chat)["_wire"]
    return wire.recorder().remembered()[-1]


def in_hand(chat: onrecord.Conversation, api: str, native: object) -> onrecord.Done:
    """Record the same request and its answer, as a program has them."""
    model = MODEL if MODEL in TARGETS[api] else None
    chat.record_request(body_of(chat, api), api=api, model=model)
    return chat.record_response(native, api=api)


@dataclass(frozen=True)
class Said:
    """What a conversation holds, ids numbered in the order in which they come."""

    events: list[JsonObject]
    requests: list[str]
    open_calls: list[str]


def said(
    chat: onrecord.Conversation,
    *,
    without: frozenset[str] = frozenset(),
    apis: Iterable[str] = TARGETS,
) -> Said:
    """All events of a conversation, and its next request to some APIs, byte for byte."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"id {len(numbers)}")

    events: list[JsonObject] = []
    for recorded in chat.events():
        told = cast("Any", recorded.event()).model_dump(mode="json", exclude=without)
        events.append(json.loads(_UUID.sub(number, json.dumps([recorded.type, told]))))
    requests = [requested(chat, api) for api in apis]
    return Said(events, requests, [call.id for call in chat.open_calls()])


def requested(chat: onrecord.Conversation, api: str) -> str:
    try:
        request = chat.request(api)
    except onrecord.OnrecordError as exc:
        return f"{type(exc).__name__}: {exc}"
    return jsontext.write(request.body).decode("utf-8", "backslashreplace") + str(request.report)


def events_in(sample: Sample) -> list[JsonObject] | None:
    """The events of a stream as an SDK gives them; None where they are not all JSON objects."""
    try:
        events: list[Any] = sample.ways.events(sample.path.read_bytes())
    except ValueError:
        return None
    return cast("list[JsonObject]", events) if all(map(is_event, events)) and events else None


def is_event(value: Any) -> bool:
    """Whether an event is one that an SDK gives, and not a note of how the samples spell frames."""
    return isinstance(value, dict) and not any(name[0] == ":" for name in cast("JsonObject", value))


# What a program has of Anthropic's API.

API = "anthropic-messages"
ANSWERED = ["request.sent", "message.recorded", "response.completed"]


def message(name: str, text: str = "Hello.", *calls: str) -> dict[str, Any]:
    made: list[JsonObject] = [
        {"type": "tool_use", "id": call, "name": "look", "input": {}} for call in calls
    ]
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": "model-1-20260101",
        "content": [{"type": "text", "text": text}, *made],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def pieces(name: str, text: str) -> list[dict[str, Any]]:
    """The events of a stream that broke off amid its text."""
    begun: JsonObject = {**message(name), "content": [], "stop_reason": None}
    delta = {"type": "text_delta", "text": text}
    block = {"type": "text", "text": ""}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
    ]


def asked(chat: onrecord.Conversation) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 9, **chat.request(API).body}


def texts(chat: onrecord.Conversation) -> list[str]:
    """What the next request says, turn by turn."""
    return [turn.text for turn in chat.history()]


def types(chat: onrecord.Conversation) -> list[str]:
    return [each.type for each in chat.events(after=3)]
