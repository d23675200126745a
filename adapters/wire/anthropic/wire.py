"""How the wire of Anthropic's Messages API is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, cast
from urllib.parse import unquote

from onrecord.adapters.wire import eventstream
from onrecord.adapters.wire.answer import Answer, Loss, text_or_none
from onrecord.adapters.wire.anthropic.stream import (
    API,
    MessageStream,
    answer_of,
    event_of,
    read_body,
)
from onrecord.adapters.wire.api import (
    BatchEntry,
    BatchResult,
    BatchWire,
    Endpoint,
    ResultsWire,
    Wire,
    answer_count,
    as_object,
    creation_reader,
    family_of,
)
from onrecord.adapters.wire.eventstream import FRAMES, Frame, event_in, failure_of
from onrecord.adapters.wire.requests import (
    RequestEvents,
    Result,
    WireRequest,
    optional_objects,
    required_objects,
)
from onrecord.adapters.wire.stream_reader import EVENT_STREAM, ServerSentEvent, broken_off
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.projections.matching.units import Piece, pieces
from onrecord.projections.members import members_of

# Where Anthropic's Messages API is spoken, and what paths say where bodies name no model.
#
# Spellings: anthropic 2.11.0, lib/bedrock, lib/vertex; docs.aws.amazon.com, "InvokeModel";
# docs.cloud.google.com, "Request predictions with Claude models".

_IN_BEDROCK: Final = re.compile(r"(?:.*/)?model/(?P<model>.+)/invoke(?:-with-response-stream)?/?")
_IN_VERTEX: Final = re.compile(
    r".*publishers/anthropic/models/(?P<model>[^/]+):(?:streamR|r)awPredict/?"
)


def model_in(path: str) -> str | None:
    """Return the model that the path of a request names; Anthropic's own names none."""
    plain = unquote(path)
    match = _IN_BEDROCK.fullmatch(plain) or _IN_VERTEX.fullmatch(plain)
    return match["model"] if match else None


def _in_bedrock() -> Iterator[Endpoint]:
    """Yield the calls of models that are, or may be, Anthropic's.

    An ARN's slash, where it is not escaped, makes it a segment more. That of an inference profile
    of one's own does not tell whose model it is: what has another body is recorded unread.
    """
    profiles = ("model/arn*application-inference-profile/*", "model/arn*application-inference-*")
    for model in ("model/arn:*/*anthropic*", *profiles, "model/*anthropic*"):
        for call in ("invoke", "invoke-with-response-stream"):
            yield Endpoint("POST", f"{model}/{call}", "turn")


_PUBLISHED: Final = "publishers/anthropic/models"

ENDPOINTS: Final = (
    Endpoint("POST", "v1/messages/batches", "batch"),
    Endpoint("GET", "v1/messages/batches/*/results", "results"),
    Endpoint("POST", "v1/messages/batches/*/cancel", "none"),
    Endpoint("GET", "v1/messages/batches/*", "none"),
    Endpoint("GET", "v1/messages/batches", "none"),
    Endpoint("POST", "v1/messages", "turn"),
    Endpoint("POST", f"{_PUBLISHED}/count-tokens:rawPredict", "none"),
    Endpoint("POST", f"{_PUBLISHED}/*:rawPredict", "turn"),
    Endpoint("POST", f"{_PUBLISHED}/*:streamRawPredict", "turn"),
    *_in_bedrock(),
)
"""Its own, Vertex's and Bedrock's."""


# A request to Anthropic's Messages API, read from its body, and what its messages say as events.
#
# Shapes: platform.claude.com, "Messages". Blocks stay native, as the program spelled them; a content
# that is a plain string becomes plain text.


def read_request(body: bytes, path: str = "", /) -> WireRequest:
    """Return what a request's body asks; on Bedrock and Vertex its path names the model.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_bounded_object(body)
    model, system = text_or_none(sent.get("model")), sent.get("system")
    if not (system is None or isinstance(system, str | list)):
        raise InvalidContent("`system` is neither a string nor a list: send one of them")
    messages = required_objects(sent.get("messages"), "messages")
    continued = _continued(sent.get("thread"))
    return WireRequest(
        api=API,
        body=sent,
        model=model_in(path) if model is None else model,
        system=system,
        tools=optional_objects(sent.get("tools"), "tools"),
        messages=tuple(messages),
        pieces=tuple(pieces(messages)),
        refers_to=continued,
        keeps_in_force=continued is not None,
    )


def _continued(thread: Any) -> str | None:
    """Return the id of the message that a request goes on from, in a thread that the service holds.

    Such a request says only what is new; the thread keeps its instructions and tools.
    """
    match thread:
        case {"type": "continue", "previous_message_id": str() as previous}:
            return previous
        case _:
            return None


def _result_of(piece: Piece) -> Result | None:
    match piece.block:
        case {"type": "tool_result", "tool_use_id": str(call)} if call:
            return Result(call, is_error=piece.block.get("is_error") is True)
        case _:
            return None


request_events: Final = RequestEvents(event_of, _result_of, callers=("user", "system"))


# The same as Bedrock brings it: each event in a frame.


class FramedMessageStream(MessageStream):
    """Reads one streamed response in frames, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = ("_frames", "_is_broken")

    def __init__(self) -> None:
        """Begin a response."""
        super().__init__()
        self._frames = eventstream.Decoder()
        self._is_broken = False

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response's last event has been seen."""
        for frame in self._frames.feed(chunk):
            self._take_frame(frame)
        if self._frames.fault is not None and not self._is_broken:
            self._is_broken = True
            self._give_up(self._frames.fault, self._frames.tail)
        return self._over

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        return super().finish(loss, detail or broken_off("frame", self._frames.tail))

    def _take_frame(self, frame: Frame) -> None:
        failure = failure_of(frame)
        if failure is not None:
            payload = jsontext.write({"type": "error", "error": failure})
            self._take(ServerSentEvent("error", payload))
            return
        data, kind = event_in(frame), frame.text(":event-type")
        if data is None and kind == "chunk":
            self._give_up("a chunk without an event", frame.payload)
        else:
            self._take(ServerSentEvent(kind or "", frame.payload if data is None else data))


# How Anthropic's message batches are read.
#
# Shapes: platform.claude.com, "Message Batches"; anthropic 2.11.0, resources/messages/batches.py.

_NAME: Final = re.compile(rb'\s*\{\s*"custom_id"\s*:\s*("(?:[^"\\]|\\.)*")')


def entries(body: bytes) -> tuple[BatchEntry, ...]:
    """Return the requests that a batch sends; InvalidContent or MalformedJson where one is none."""
    requests = read_bounded_object(body).get("requests")
    if not isinstance(requests, list):
        raise InvalidContent("`requests` is no list: send the requests as one")
    return tuple(_entry(item) for item in cast("list[Any]", requests))


def _batch_id(created: JsonObject) -> str | None:
    is_batch = created.get("type") == "message_batch"
    return text_or_none(created.get("id")) if is_batch else None


def read_result(line: bytes) -> BatchResult | None:
    """Return what a line of results says; None where it is none."""
    try:
        entry = read_bounded_object(line)
    except MalformedJson:
        return None
    name, result = entry.get("custom_id"), entry.get("result")
    members = as_object(result)
    return _result(name, members) if isinstance(name, str) and members is not None else None


def _result(name: str, result: JsonObject) -> BatchResult:
    message, error = as_object(result.get("message")), as_object(result.get("error"))
    match result.get("type"):
        case "succeeded" if message is not None:
            return BatchResult(name, answer_of(message))
        case "errored" if error is not None:
            request_id = error.get("request_id")
            failed = answer_of({"type": "error", **error})
            return BatchResult(name, failed, request_id if isinstance(request_id, str) else None)
        case "canceled" | "expired" as kind:
            over = Answer(API, interruption="error", error=result, detail=kind)
            return BatchResult(name, over)
        case _:
            unread = Answer(API, interruption="malformed", detail="a result of no known type")
            return BatchResult(name, replace(unread, error=result))


def _entry(item: Any) -> BatchEntry:
    entry = members_of(item)
    name, params = entry.get("custom_id"), as_object(entry.get("params"))
    if not isinstance(name, str) or params is None:
        raise InvalidContent("an item of `requests` is no request: give it its custom_id, params")
    return BatchEntry(name, jsontext.write(params))


BATCHES: Final = BatchWire(
    entries,
    creation_reader(API, read_body, _batch_id, "batch"),
    lines=ResultsWire(read_result, _NAME),
)


WIRE: Final = Wire(
    api=API,
    streams={EVENT_STREAM: MessageStream, FRAMES: FramedMessageStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    request_events=request_events,
    endpoints=ENDPOINTS,
    content_paths=frozenset(
        {
            "/messages",
            "/system",
            "/tools/*/description",
            "/tools/*/input_schema",
            "/tools/*/input_examples",
            "/tools/*/configs",  # Its members are the names of tools.
            # What the service gave to ask another model by, within minutes: no secret, though named so.
            "/fallback_credit_token",
            "/stop_details/fallback_credit_token",
            "/output_config",
            "/output_format",
        }
    ),
    headers=(
        *("anthropic-version", "anthropic-beta"),
        *("x-amzn-bedrock-guardrailidentifier", "x-amzn-bedrock-guardrailversion"),
    ),
    family=family_of("anthropic", "AnthropicError"),
    answers_among=answer_count(
        lambda event: event.get("type") == "message_start",
        lambda event: event.get("type") == "message_stop",
    ),
    batches=BATCHES,
)
