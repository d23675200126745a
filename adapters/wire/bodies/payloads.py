"""Bodies that a program has in hand, as the bytes that would have crossed the wire.

A program has a request or an answer as JSON of its own, as an object of an SDK, as the chunks of a
stream, or as the bytes of a file.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from enum import Enum
from typing import Any, Final, NamedTuple, cast

from pydantic import BaseModel

from onrecord.adapters.inputs.arguments import kind_of
from onrecord.adapters.wire import eventstream, stream_reader
from onrecord.adapters.wire.answer import text_or_none
from onrecord.adapters.wire.api import Wire, as_object
from onrecord.adapters.wire.eventstream import FRAMES, Frame, holds_frames, text_header, written
from onrecord.adapters.wire.stream_reader import BOM, DONE, EVENT_STREAM, begins_a_stream
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Request

_JSON: Final = "application/json"
_LINES: Final = "application/x-ndjson"
_AWS: Final = "ResponseMetadata"
"""What boto3 adds to each answer: it is of the call, not of the body."""
_AWS_STREAM: Final = "stream"
"""Where boto3 has the events of a streamed answer."""

_OF_BATCHES: Final = (b'"custom_id"', b'"response"')
"""What a line of a batch's results names, of Anthropic and OpenAI, and of Google."""

_OF_SDKS: Final = frozenset(
    {
        # openai, anthropic: what they made of an answer for their caller.
        *("parsed", "parsed_arguments", "parsed_output"),
        # google-genai: the headers of the call, and the calls that the SDK itself made.
        *("parsed", "sdk_http_response", "automatic_function_calling_history"),
    }
)
"""Attributes of the SDKs' objects that no provider sent."""


class Payload(NamedTuple):
    """The bytes of an answer and their content type.

    `request_id` and `status` are what the SDK tells of the call, if it does.
    """

    data: bytes
    content_type: str
    request_id: str | None = None
    status: int | None = None

    @property
    def is_one_event(self) -> bool:
        """Whether a stream holds no more than one event; a whole body is none."""
        if self.content_type == EVENT_STREAM:
            events = stream_reader.Decoder().feed(self.data + b"\n\n")
            return sum(event.data.strip() != DONE for event in events) == 1
        return self.content_type == FRAMES and len(eventstream.Decoder().feed(self.data)) == 1


def request_body(request: object) -> bytes:
    """Return the body of a request: what `chat.request` gave, JSON, or the bytes of it."""
    match request:
        case Request():
            return jsontext.write(_plain(request.body))
        case bytes() | bytearray() | memoryview():
            return bytes(cast("bytes", request))
        case str():
            return request.encode()
        case Mapping() | BaseModel():
            return jsontext.write(_plain(cast("object", request)))
        case _:
            raise InvalidContent(
                f"a request is a mapping, or its JSON as bytes or text, not {kind_of(request)}"
            )


def answer_payload(native: object, wire: Wire) -> Payload:
    """Return the bytes of an answer, as the wire of its API has them.

    `native` is JSON (a mapping, bytes, a text), an object of an SDK, or an iterable of the chunks of
    a stream. InvalidContent for what is none of these. What an iterable raises is raised.
    """
    match native:
        case bytes() | bytearray() | memoryview():
            return _of_bytes(bytes(cast("bytes", native)), wire)
        case str():
            return _of_bytes(native.encode("utf-8", "surrogatepass"), wire)
        case Mapping():
            return _of_mapping(cast("Mapping[str, Any]", native), wire)
        case BaseModel():
            request_id: Any = getattr(native, "_request_id", None)
            known_id = request_id if isinstance(request_id, str) else None
            return Payload(jsontext.write(_plain(native)), _JSON, known_id)
        case AsyncIterable():
            raise InvalidContent("an asynchronous stream is to be read first: give its chunks")
        case Iterable():
            return _of_chunks(list(cast("Iterable[object]", native)), wire)
        case _:
            raise InvalidContent(
                "an answer is a mapping, its JSON as bytes or text, an object of an SDK or the "
                f"chunks of a stream, not {kind_of(native)}"
            )


def out_of_batch(payload: Payload) -> Payload:
    """Return the answer, or the error, in a line of a batch's results; what is none as it is."""
    if payload.content_type != _JSON or not any(name in payload.data for name in _OF_BATCHES):
        return payload
    try:
        found = _in_batch(jsontext.read_bounded_object(payload.data))
    except MalformedJson:
        return payload
    if found is None:
        return payload
    body, call = found
    status, request_id = call.get("status_code"), text_or_none(call.get("request_id"))
    known_status = status if isinstance(status, int) else payload.status
    return Payload(jsontext.write(body), _JSON, request_id or payload.request_id, known_status)


def _in_batch(line: JsonObject) -> tuple[JsonObject, JsonObject] | None:
    """Return the body in a line of results, and what the line says of its call; None of no line."""
    result, response = as_object(line.get("result")) or {}, as_object(line.get("response")) or {}
    if not isinstance(line.get("custom_id"), str):
        return (response, {}) if isinstance(response.get("candidates"), list) else None
    bodies = result.get("message"), result.get("error"), response.get("body")
    body = next(filter(None, map(as_object, bodies)), None)
    if body is None:
        body = {"error": as_object(line.get("error")) or result}
    return body, response


def _of_bytes(data: bytes, wire: Wire) -> Payload:
    """Return bytes with the type that they show; what looks like no stream is a whole body."""
    text = data.removeprefix(BOM).lstrip()
    if EVENT_STREAM in wire.streams and begins_a_stream(text):
        return Payload(data, EVENT_STREAM)
    if FRAMES in wire.streams and not text.startswith((b"{", b"[")) and holds_frames(data):
        return Payload(data, FRAMES)
    if _LINES in wire.streams and text.partition(b"\n")[0].rstrip().endswith(b"}"):
        return Payload(data, _LINES)  # A whole body is a stream of one line.
    return Payload(data, _JSON)


def _of_mapping(native: Mapping[str, Any], wire: Wire) -> Payload:
    """Return an answer that is JSON, or one of boto3, which tells of its call beside it."""
    call: Any = native.get(_AWS)
    if not isinstance(call, Mapping):
        return Payload(jsontext.write(_plain(native)), _JSON)
    about = cast("Mapping[str, Any]", call)
    request_id, status = about.get("RequestId"), about.get("HTTPStatusCode")
    stream: Any = native.get(_AWS_STREAM)
    if isinstance(stream, Iterable) and not isinstance(stream, str | bytes | Mapping):
        payload = _of_chunks(list(cast("Iterable[object]", stream)), wire)
    else:
        body = {name: value for name, value in native.items() if name != _AWS}
        payload = Payload(jsontext.write(_plain(body)), _JSON)
    return payload._replace(
        request_id=request_id if isinstance(request_id, str) else None,
        status=status if isinstance(status, int) else None,
    )


def _of_chunks(chunks: Sequence[object], wire: Wire) -> Payload:
    """Return the chunks of a stream: pieces of its bytes, or its events."""
    if not chunks:
        raise InvalidContent("the stream has no chunks: nothing was answered")
    if all(isinstance(chunk, bytes | bytearray | memoryview) for chunk in chunks):
        return _of_bytes(b"".join(cast("Sequence[bytes]", chunks)), wire)
    if all(isinstance(chunk, str) for chunk in chunks):
        text = "".join(cast("Sequence[str]", chunks))
        return _of_bytes(text.encode("utf-8", "surrogatepass"), wire)
    kind, events = next(iter(wire.streams)), [_event(chunk) for chunk in chunks]
    count = wire.answers_among(events)
    if count > 1:
        raise InvalidContent(f"these are {count} answers of {wire.api}: record each by itself")
    return Payload(b"".join(_spelled(event, kind) for event in events), kind)


def _event(chunk: object) -> JsonObject:
    if isinstance(chunk, Mapping | BaseModel):
        return cast("JsonObject", _plain(cast("object", chunk)))
    raise InvalidContent(
        "the chunks of a stream are all bytes, all texts, or all events (mappings, or objects of an "
        f"SDK): one is of the type {kind_of(chunk)}"
    )


def _spelled(event: JsonObject, kind: str) -> bytes:
    """Return an event of a stream as the wire of this kind of stream has it."""
    if kind == EVENT_STREAM:
        name = event.get("type")
        named = b"event: %s\n" % name.encode() if isinstance(name, str) and name.isascii() else b""
        return b"%sdata: %s\n\n" % (named, jsontext.write(event))
    if kind == FRAMES:
        return b"".join(_framed(event))
    if kind == _LINES:
        return jsontext.write(event) + b"\n"
    raise InvalidContent(f"give a stream of {kind} as its bytes")


def _framed(event: JsonObject) -> Iterator[bytes]:
    """Yield the frames of an event of boto3, which names its kind."""
    for kind, value in event.items():
        way = "exception" if kind.endswith("Exception") else "event"
        headers = {
            f":{way}-type": kind,
            ":content-type": _JSON,
            ":message-type": way,
        }
        named = tuple(text_header(*header) for header in headers.items())
        yield written(Frame(named, jsontext.write(value)))


def _plain(value: object, depth: int = 0) -> Any:
    """Return a value as JSON has it: bytes in base64, objects of SDKs as what was sent of them."""
    if depth > jsontext.DEEPEST:
        raise InvalidContent(f"it is nested more than {jsontext.DEEPEST} levels deep: flatten it")
    match value:
        case Enum():
            return _plain(value.value, depth)
        case str() | bool() | int() | float() | None:
            return value
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(cast("bytes", value)).decode()
        case date():
            return value.isoformat().replace("+00:00", "Z")
        case BaseModel():
            return {name: _plain(part, depth + 1) for name, part in _sent(value)}
        case Mapping():
            members = cast("Mapping[object, object]", value)
            return {_name(name): _plain(part, depth + 1) for name, part in members.items()}
        case list() | tuple():
            return [_plain(part, depth + 1) for part in cast("Sequence[object]", value)]
        case _:
            raise InvalidContent(f"it holds a value of the type {kind_of(value)}: that is no JSON")


def _name(name: object) -> str:
    if isinstance(name, str):
        return name
    raise InvalidContent(f"a member is named by a {kind_of(name)}: in JSON names are texts")


def _sent(model: BaseModel) -> Iterator[tuple[str, object]]:
    """Yield the members of an SDK's object that were sent, by their names on the wire.

    Those that were not sent are not set; what no field stands for is kept beside the fields.
    """
    fields = type(model).model_fields
    for name, value in vars(model).items():
        if name in fields and name in model.model_fields_set and name not in _OF_SDKS:
            field = fields[name]
            yield field.serialization_alias or field.alias or name, value
    yield from (model.model_extra or {}).items()
