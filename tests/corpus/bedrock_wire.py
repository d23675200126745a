"""Recorded traffic of Bedrock, as the bytes that came: Converse, and Anthropic's API called there.

What a recording says is read here by another way than the product's: frames by botocore, the rest
short, naive, and knowing only what the recordings hold.
"""

import json
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from tests.bedrock_wire import events
from tests.corpus.wire import CORPUS, JsonObject, below, sent_body

_SERVICE = b"bedrock-runtime."
_CONVERSE = ("/converse", "/converse-stream")
_INVOKE = ("/invoke", "/invoke-with-response-stream")
_PADDING = "p"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, if it was recorded too, the path that it went to, and the body of its answer."""

    status: int
    body: bytes
    is_stream: bool
    request: JsonObject | None = None
    path: str = ""


def files() -> list[str]:
    """The recordings of the service, by their names below the folder."""
    mixed = (name for name in below("*/*/*.json") if _SERVICE in (CORPUS / name).read_bytes())
    return sorted({*below("bedrock/*/*"), *mixed})


def exchanges(name: str) -> list[Exchange]:
    """All answers of Converse in a file; none, if it recorded other endpoints."""
    return [one for one in _exchanges(name) if one.path.endswith(_CONVERSE) or not one.path]


def invoked(name: str) -> list[Exchange]:
    """All answers of models in a file that were called in their own API."""
    return [one for one in _exchanges(name) if one.path.endswith(_INVOKE)]


def _exchanges(name: str) -> list[Exchange]:
    path = CORPUS / name
    if name.endswith(".chunks.txt"):
        lines = filter(str.strip, path.read_text().splitlines())
        return [Exchange(200, events(*map(json.loads, lines)), True)]
    recorded: JsonObject = json.loads(path.read_bytes())
    if "interactions" not in recorded:
        return [Exchange(200 if "output" in recorded else 400, path.read_bytes(), False)]
    return [_exchange(one) for one in recorded["interactions"]]


def _exchange(one: JsonObject) -> Exchange:
    request, response = one["request"], one["response"]
    body, is_stream = sent_body(response)
    path = urlsplit(str(request["uri"])).path
    return Exchange(response["status"], body, is_stream, request["body"], path)


def events_in(body: bytes) -> list[tuple[str, JsonObject]]:
    """The events of a stream, each with its kind and without its padding."""
    buffer: Any = import_module("botocore.eventstream").EventStreamBuffer()
    buffer.add_data(body)
    told = [(frame.headers[":event-type"], json.loads(frame.payload)) for frame in buffer]
    return [(kind, {name: data[name] for name in data if name != _PADDING}) for kind, data in told]


def blocks_said(exchange: Exchange) -> list[JsonObject]:
    """The blocks of an answer."""
    if not exchange.is_stream:
        content: list[JsonObject] = json.loads(exchange.body)["output"]["message"]["content"]
        return content
    of_blocks = [data for _, data in events_in(exchange.body) if "contentBlockIndex" in data]
    of_blocks.sort(key=lambda data: int(data["contentBlockIndex"]))
    return [
        _block(list(run))
        for _, run in groupby(of_blocks, key=lambda data: data["contentBlockIndex"])
    ]


def _block(told: list[JsonObject]) -> JsonObject:
    none: JsonObject = {}
    start: JsonObject = next((one["start"] for one in told if "start" in one), none)
    deltas = [one["delta"] for one in told if "delta" in one]
    if "toolUse" in start:
        pieces = "".join(one["toolUse"]["input"] for one in deltas)
        return {"toolUse": {**start["toolUse"], "input": json.loads(pieces or "{}")}}
    if "reasoningContent" in deltas[0]:
        return {"reasoningContent": _reasoned([one["reasoningContent"] for one in deltas])}
    return {"text": "".join(one["text"] for one in deltas)}


def _reasoned(pieces: list[JsonObject]) -> JsonObject:
    if "redactedContent" in pieces[0]:
        (sealed,) = pieces
        return sealed
    text = "".join(one.get("text", "") for one in pieces)
    signed = [{"signature": one["signature"]} for one in pieces if "signature" in one]
    return {"reasoningText": {"text": text, **(signed[0] if signed else {})}}


def is_whole(exchange: Exchange) -> bool:
    """Whether an answer came to its end."""
    return not exchange.is_stream or "messageStop" in dict(events_in(exchange.body))


def envelope_of(exchange: Exchange) -> JsonObject:
    """The body of an answer without its content; of a stream, what its other events tell."""
    if not exchange.is_stream:
        whole: JsonObject = json.loads(exchange.body)
        del whole["output"]["message"]["content"]
        return whole
    told = dict(events_in(exchange.body))
    started = {"output": {"message": told["messageStart"]}} if "messageStart" in told else {}
    return {**started, **told.get("metadata", {}), **told["messageStop"]}
