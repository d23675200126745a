"""Recorded traffic of OpenAI's Chat API, of all who serve it, as the bytes that came.

What a recording says is read here by another way than the product's: short, naive, and knowing
only what the recordings hold.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, cast

from tests.corpus.wire import CORPUS, Exchange, JsonObject, below, sent_body

_ENDPOINT = "/chat/completions"
_FOLDERS = ("openai-chat", "openai-compatible")
_PADDING = "obfuscation"


def files() -> list[str]:
    """The recordings of this API, by their names below the folder, those of other servers too."""
    ours = _ENDPOINT.encode()
    mixed = (name for name in below("*/*/*.json") if ours in (CORPUS / name).read_bytes())
    return sorted({*below(*(f"{folder}/*/*" for folder in _FOLDERS)), *mixed})


def exchanges(name: str) -> list[Exchange]:
    """All answers of the Chat API in a file; none, if it recorded other endpoints."""
    path = CORPUS / name
    if name.endswith(".chunks.txt"):
        lines = filter(bytes.strip, path.read_bytes().splitlines())
        return [Exchange(200, b"".join(b"data: %s\n\n" % line for line in lines), True)]
    if path.suffix == ".sse":
        return [Exchange(200, path.read_bytes() + b"\n\n", True)]
    recorded: JsonObject = json.loads(path.read_bytes())
    if "interactions" not in recorded:
        return [Exchange(200 if "choices" in recorded else 400, path.read_bytes(), False)]
    asked = recorded["interactions"]
    return [exchange(one) for one in asked if is_completion(one["request"]["uri"])]


def exchange(one: JsonObject) -> Exchange:
    response, sent = one["response"], one["request"]["body"]
    request: JsonObject = json.loads(sent) if isinstance(sent, str) else sent
    body, is_stream = sent_body(response)
    return Exchange(response["status"], body, is_stream, request)


def is_completion(uri: str) -> bool:
    return uri.partition("?")[0].partition("#")[0].endswith(_ENDPOINT)


def data_of(body: bytes) -> list[JsonObject]:
    """The chunks of a streamed answer, without their padding."""
    lines = body.decode().split("\n")
    data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    found: list[JsonObject] = [json.loads(one) for one in data if one != "[DONE]"]
    return [{name: one[name] for name in one if name != _PADDING} for one in found]


def messages_said(exchange: Exchange) -> list[JsonObject]:
    """The messages of an answer's choices."""
    if not exchange.is_stream:
        return [choice["message"] for choice in json.loads(exchange.body)["choices"]]
    deltas = [
        (choice["index"], choice["delta"])
        for chunk in data_of(exchange.body)
        for choice in chunk.get("choices", [])
    ]
    indexes = sorted({index for index, _ in deltas})
    return [folded([delta for at, delta in deltas if at == index]) for index in indexes]


def folded(deltas: list[JsonObject]) -> JsonObject:
    names = dict.fromkeys(name for delta in deltas for name in delta)
    values = {name: [delta[name] for delta in deltas if name in delta] for name in names}
    return {name: merged(name, of_one) for name, of_one in values.items()}


def merged(name: str, values: list[Any]) -> Any:
    told = [value for value in values if value is not None]
    if not told:
        return None
    match name:
        case "content" if any(isinstance(value, list) for value in told):
            return parts(told)
        case "content" | "refusal" | "reasoning" | "reasoning_content":
            return "".join(told)
        case "tool_calls":
            return [called(of_one) for of_one in by_index(told)]
        case "reasoning_details":
            return [detailed(of_one) for of_one in by_index(told)]
        case "executed_tools":
            return [
                {key: value for one in of_one for key, value in one.items()}
                for of_one in by_index(told)
            ]
        case "annotations":
            return [one for value in told for one in value]
        case _:
            return told[-1]


def by_index(lists: Iterable[list[JsonObject]]) -> list[list[JsonObject]]:
    every = [one for several in lists for one in several]
    return [
        [one for one in every if one["index"] == at]
        for at in sorted({one["index"] for one in every})
    ]


def called(pieces: list[JsonObject]) -> JsonObject:
    """A call: the first that is told of its id, type and name, and all of its arguments."""
    first = pieces[0]
    functions = [piece["function"] for piece in pieces if "function" in piece]
    function = {
        **first["function"],
        "arguments": "".join(one.get("arguments") or "" for one in functions),
    }
    return {**{key: first[key] for key in first if key != "index"}, "function": function}


def detailed(pieces: list[JsonObject]) -> JsonObject:
    """A piece of reasoning: texts are joined, of all else what is not blank stays."""
    whole: JsonObject = {}
    for key, value in ((key, value) for piece in pieces for key, value in piece.items()):
        if key == "text":
            whole[key] = whole.get(key, "") + value
        elif value or key not in whole:
            whole[key] = value
    return whole


def parts(contents: list[Any]) -> list[JsonObject]:
    """Mistral's content: neighbours of a type are one part."""
    texts = [
        [{"type": "text", "text": one}] if isinstance(one, str) and one else one for one in contents
    ]
    every: list[JsonObject] = [
        part for several in texts for part in cast("list[Any]", several or [])
    ]
    return [
        joined(kind, list(group))
        for kind, group in groupby(every, key=lambda part: str(part["type"]))
    ]


def joined(kind: str, group: list[JsonObject]) -> JsonObject:
    if kind == "text":
        return {"type": kind, "text": "".join(part["text"] for part in group)}
    thought = [part for one in group for part in one["thinking"]]
    return {"type": kind, kind: parts([thought])}


def is_whole(exchange: Exchange) -> bool:
    """Whether all chunks are of one answer, and each choice came to its end."""
    chunks = list(members_of(exchange))
    listed = [cast("list[JsonObject]", chunk.get("choices") or []) for chunk in chunks]
    choices = [choice for each in listed for choice in each]
    ended = {choice["index"] for choice in choices if choice.get("finish_reason")}
    ids = {chunk["id"] for chunk in chunks if chunk.get("id")}
    has_error = any("error" in chunk for chunk in chunks)
    return ended == {choice["index"] for choice in choices} and len(ids) < 2 and not has_error


def members_of(exchange: Exchange) -> Iterator[JsonObject]:
    """What an answer's body or chunks say."""
    yield from data_of(exchange.body) if exchange.is_stream else [json.loads(exchange.body)]
