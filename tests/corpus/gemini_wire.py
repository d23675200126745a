"""Recorded traffic of Gemini's API, as the bytes that came.

What a recording says is read here by another way than the product's: short, naive, and knowing
only what the recordings hold.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.corpus.wire import CORPUS, JsonObject, below, sent_body

_ENDPOINTS = (":generateContent", ":streamGenerateContent")
_MIXED = b"generativelanguage.googleapis.com"
_TEXT = ({"text"}, {"text", "thought"})

INTERACTIONS = "interactions-"
"""Files of the Interactions API: another API of the same service, which Onrecord does not speak."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, if it was recorded too, the path that it went to, and the body of its answer."""

    status: int
    body: bytes
    is_stream: bool
    request: JsonObject | None = None
    path: str = ""


def recordings() -> list[str]:
    """All recordings of the service, by their names below the folder, other APIs' included."""
    mixed = (name for name in below("*/*/*.json") if _MIXED in (CORPUS / name).read_bytes())
    return sorted({*below("gemini/*/*"), *mixed})


def files() -> list[str]:
    """The recordings of this API."""
    return [name for name in recordings() if INTERACTIONS not in name]


def exchanges(name: str) -> list[Exchange]:
    """All answers of this API in a file; none, if it recorded other endpoints."""
    path = CORPUS / name
    if name.endswith(".chunks.txt"):
        lines = filter(bytes.strip, path.read_bytes().splitlines())
        return [Exchange(200, b"".join(b"data: %s\r\n\r\n" % line for line in lines), True)]
    recorded: JsonObject = json.loads(path.read_bytes())
    if "interactions" not in recorded:
        return [Exchange(400 if "error" in recorded else 200, path.read_bytes(), False)]
    asked = recorded["interactions"]
    return [exchange(one) for one in asked if path_of(one).endswith(_ENDPOINTS)]


def exchange(one: JsonObject) -> Exchange:
    response, sent = one["response"], one["request"]["body"]
    request: JsonObject = json.loads(sent) if isinstance(sent, str) else sent
    body, is_stream = sent_body(response)
    return Exchange(response["status"], body, is_stream, request, path_of(one))


def path_of(one: JsonObject) -> str:
    return str(one["request"]["uri"]).partition("?")[0]


def chunks_of(exchange: Exchange) -> list[JsonObject]:
    """The chunks of a streamed answer, or the body as the only one."""
    if not exchange.is_stream:
        return [json.loads(exchange.body)]
    lines = exchange.body.decode().splitlines()
    return [json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:")]


def candidates_of(exchange: Exchange) -> Iterator[JsonObject]:
    """The candidates of each chunk: a prompt that is blocked has none."""
    yield from (one for chunk in chunks_of(exchange) for one in chunk.get("candidates", []))


def is_whole(exchange: Exchange) -> bool:
    """Whether an answer has one candidate, and that came to its end."""
    indexes = {one.get("index", 0) for one in candidates_of(exchange)}
    ends = [one for one in candidates_of(exchange) if one.get("finishReason")]
    return len(indexes) == len(ends) == 1


def parts_said(exchange: Exchange) -> list[JsonObject]:
    """The parts of an answer: texts and calls go on over the chunks of a stream."""
    contents = [candidate.get("content", {}) for candidate in candidates_of(exchange)]
    parts: list[JsonObject] = []
    ends: set[int] = set()
    for content in contents:
        said = [dict(part) for part in content.get("parts", [])]
        if said and len(parts) in ends and continues(said[0], parts[-1]):
            parts[-1]["text"] += said.pop(0)["text"]
        parts += said
        ends = {len(parts)}
    return list(whole_calls(parts))


def continues(part: JsonObject, before: JsonObject) -> bool:
    return part.keys() in _TEXT and part.keys() == before.keys()


def whole_calls(parts: list[JsonObject]) -> Iterator[JsonObject]:
    """The parts, with calls put together whose arguments came in pieces."""
    at = 0
    while at < len(parts):
        end = at
        while parts[end].get("functionCall", {}).get("willContinue"):
            end += 1
        yield called(parts[at : end + 1]) if end > at else parts[at]
        at = end + 1


def called(parts: list[JsonObject]) -> JsonObject:
    pieces = [piece for part in parts for piece in part["functionCall"].get("partialArgs", [])]
    values: dict[str, Any] = {}
    for piece in pieces:
        value = piece.get("stringValue", piece.get("numberValue"))
        path = piece["jsonPath"]
        values[path] = values[path] + value if path in values else value
    call = {"name": parts[0]["functionCall"]["name"]}
    return {**parts[0], "functionCall": {**call, **({"args": nested(values)} if values else {})}}


def nested(values: dict[str, Any]) -> JsonObject:
    """Arguments by their paths: objects, and lists of objects."""
    args: JsonObject = {}
    for path, value in values.items():
        match re.findall(r"\w+", path):
            case [name]:
                args[name] = value
            case [name, index, member]:
                listed = args.setdefault(name, [])
                listed += [{}] if len(listed) == int(index) else []
                listed[int(index)][member] = value
            case _:
                raise AssertionError(f"no recording has such a path: {path}")
    return args
