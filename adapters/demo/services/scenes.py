"""What the demo server is told to answer: plain values, one scene an HTTP answer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from types import MappingProxyType
from typing import Literal, TypeAlias, assert_never

from pydantic import JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]


def encoded(value: JsonValue) -> bytes:
    """Return JSON as services spell it: no spaces, UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def frame(event: JsonObject) -> bytes:
    """Return one server-sent event, named after its type."""
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), encoded(event))


def _nothing() -> Mapping[str, JsonValue]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection breaks after `after` bytes of the body."""

    after: int


@dataclass(frozen=True, slots=True)
class Stall:
    """The body pauses after `after` bytes until `release` is set or the server closes."""

    after: int
    release: Event = field(compare=False)


@dataclass(frozen=True, slots=True)
class Gzip:
    """The body goes out compressed, with `content-encoding: gzip`."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The stream's event number `event` goes out twice; 0 is message_start."""

    event: int = 0


@dataclass(frozen=True, slots=True)
class Splice:
    """Foreign bytes go into the stream before its event number `before`.

    `raw` is SSE as it should stand on the wire: an event of an unknown type, or something that is
    not SSE at all.
    """

    before: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """The stream ends with an `error` event in place of its event number `at`."""

    at: int
    kind: str = "overloaded_error"
    message: str = "Overloaded"


StreamFault: TypeAlias = Repeat | Splice | ErrorEvent
Fault: TypeAlias = Cut | Stall | Gzip | StreamFault


def with_faults(events: list[bytes], faults: Sequence[StreamFault]) -> list[bytes]:
    """Return the events of a stream with these faults in it."""
    # Later places first, so that a fault does not move the place of another.
    for fault in sorted(faults, key=_place, reverse=True):
        events = _with_fault(events, fault)
    return events


def _place(fault: StreamFault) -> int:
    match fault:
        case Repeat(event):
            return event
        case Splice(before):
            return before
        case ErrorEvent(at):
            return at
        case _:
            assert_never(fault)


def _with_fault(events: list[bytes], fault: StreamFault) -> list[bytes]:
    match fault:
        case Repeat(event):
            return [*events[: event + 1], *events[event:]]
        case Splice(before, raw):
            return [*events[:before], raw, *events[before:]]
        case ErrorEvent(at, kind, text):
            return [
                *events[:at],
                frame({"type": "error", "error": {"type": kind, "message": text}}),
            ]
        case _:
            assert_never(fault)


@dataclass(frozen=True, slots=True)
class Answer:
    """A message of the model, sent as JSON or as a stream, whichever the request asks for.

    A thinking block without `signature`, and a redacted_thinking block without `data`, are signed
    by the server over the request. `model` and `usage` default to the model that was asked for and
    to counts made from the sizes; the keys of `usage` replace single counts. `envelope` holds further
    fields of the message: `container`, `context_management`, `input_transformations`.
    """

    content: tuple[JsonObject, ...] = ()
    stop_reason: str = "end_turn"
    stop_sequence: str | None = None
    stop_details: JsonObject | None = None
    model: str | None = None
    usage: Mapping[str, JsonValue] = field(default_factory=_nothing)
    envelope: Mapping[str, JsonValue] = field(default_factory=_nothing)
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class HttpError:
    """An HTTP error with Anthropic's error body; `retry_after` is in seconds.

    `code` is what SDKs tell errors of one kind apart by.
    """

    status: int
    kind: str
    message: str
    retry_after: float | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Playback:
    """A body that is sent byte for byte, such as a recorded stream."""

    body: bytes
    content_type: str = "text/event-stream; charset=utf-8"
    status: int = 200
    faults: tuple[Cut | Stall | Gzip, ...] = ()


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection closes without any answer."""


Scene: TypeAlias = Answer | HttpError | Playback | HangUp
Script: TypeAlias = Sequence[Scene] | Callable[[JsonObject], Scene]


def invalid_request(message: str) -> HttpError:
    """Return the 400 that says what is wrong with a request."""
    return HttpError(400, "invalid_request_error", message)


def unauthorized(message: str = "invalid x-api-key") -> HttpError:
    """Return the 401 of a missing or unknown key."""
    return HttpError(401, "authentication_error", message)


def rate_limited(retry_after: float = 0) -> HttpError:
    """Return the 429 of a client that has to wait `retry_after` seconds."""
    message = "This request would exceed your organization's rate limit."
    return HttpError(429, "rate_limit_error", message, retry_after)


def internal_error() -> HttpError:
    """Return the 500 of a fault inside the service."""
    return HttpError(500, "api_error", "Internal server error")


def overloaded() -> HttpError:
    """Return the 529 of a service without capacity."""
    return HttpError(529, "overloaded_error", "Overloaded")


# What the demo server is told to answer beside Anthropic's API: one saying, spelled as each has
# it.

OpenAIApi: TypeAlias = Literal["openai-chat", "openai-responses"]
OtherApi: TypeAlias = Literal["gemini", "ollama", "bedrock-converse"]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of one of the caller's functions."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """What the model says: a text, calls, or both.

    Where it `reasons`, the Responses API says so in an item that only the service can read, and
    Gemini signs what it says; Chat Completions says nothing of it. `thought` is what a model says
    of its reasoning where its API has words for that: Gemini and Ollama.
    """

    text: str = ""
    calls: tuple[FunctionCall, ...] = ()
    reasons: bool = False
    thought: str = ""


OpenAIScript: TypeAlias = Callable[[OpenAIApi, JsonObject], PlainAnswer]
"""What is answered to a request, by the API of OpenAI's that it came in on."""

OtherScript: TypeAlias = Callable[[OtherApi, JsonObject], PlainAnswer]
"""What is answered to a request by Gemini, Ollama or Bedrock."""
