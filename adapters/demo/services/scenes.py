"""What the demo server is told to answer: plain values, one scene an HTTP answer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Literal, TypeAlias

from pydantic import JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]


def encoded(value: JsonValue) -> bytes:
    """Return JSON as services spell it: no spaces, UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def frame(event: JsonObject) -> bytes:
    """Return one server-sent event, named after its type."""
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), encoded(event))


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
class Rewritten:
    """The events of the stream go out as `change` returns them."""

    change: Callable[[list[bytes]], list[bytes]]


Fault: TypeAlias = Cut | Stall | Gzip | Rewritten


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
    usage: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    envelope: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
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
