"""Recorded traffic of OpenAI's Responses API, of all who serve it, as the bytes that came."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.corpus.wire import CORPUS, JsonObject, below, sent_body

_RECORDED = b"/responses"
LAST = ("response.completed", "response.incomplete", "response.failed")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the API's endpoints, if it was recorded too, and what it was answered."""

    status: int
    body: bytes
    is_stream: bool
    method: str = "POST"
    path: str = "/v1/responses"
    request: JsonObject | None = None


def files() -> list[str]:
    """The recordings of this API, by their names below the folder, those of other servers too."""
    mixed = (name for name in below("*/*/*.json") if _RECORDED in (CORPUS / name).read_bytes())
    return sorted({*below("openai-responses/*/*"), *mixed})


def calls(name: str) -> list[Call]:
    """All calls of the API in a file; none, if the word is only in what others said."""
    path = CORPUS / name
    if name.endswith(".chunks.txt"):
        return [Call(200, body, True) for body in streams(path.read_text())]
    recorded: JsonObject = json.loads(path.read_bytes())
    if "interactions" not in recorded:
        # A quota's error was recorded without its status.
        return [Call(200 if "output" in recorded else 429, path.read_bytes(), False)]
    return [call(one) for one in recorded["interactions"] if path_of(one["request"])]


def streams(text: str) -> Iterator[bytes]:
    """Lines of data as streams, each up to the event of its final response, which may be cut off."""
    body = b""
    for line in filter(str.strip, text.splitlines()):
        data = mended(line)
        kind: str = json.loads(data)["type"]
        body += f"event: {kind}\ndata: {data}\n\n".encode()
        if kind in LAST:
            yield body
            body = b""
    if body:
        yield body


def mended(line: str) -> str:
    """The line with the last brace that the hand-made recordings lack here and there."""
    try:
        json.loads(line)
    except ValueError:
        return f"{line}}}"
    return line


def call(one: JsonObject) -> Call:
    request, response = one["request"], one["response"]
    sent: Any = request["body"]
    body, is_stream = sent_body(response)
    return Call(
        status=response["status"],
        body=body,
        is_stream=is_stream,
        method=request["method"],
        path=path_of(request),
        request=json.loads(sent) if isinstance(sent, str) else sent,
    )


def path_of(request: JsonObject) -> str:
    """The path of a call, empty if it is none of this API's."""
    path = str(request["uri"]).partition("?")[0].partition("://")[2].partition("/")[2]
    return path if "responses" in path.split("/") else ""


def data_of(call: Call) -> list[JsonObject]:
    """The events of a streamed answer."""
    lines = call.body.decode().split("\n")
    data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    return [json.loads(one) for one in data if one != "[DONE]"]


def is_whole(call: Call) -> bool:
    """Whether an answer came to its final response, and tells its events without a gap."""
    if not call.is_stream:
        return json.loads(call.body).get("status") in ("completed", "incomplete", "failed", None)
    told = data_of(call)
    numbers = [event["sequence_number"] for event in told if "sequence_number" in event]
    gapless = all(later == sooner + 1 for sooner, later in pairwise(numbers))
    return gapless and bool(told) and told[-1]["type"] in LAST


def items_said(call: Call) -> list[JsonObject]:
    """The items of an answer, in order, by another way than the product's: short and naive.

    What the done events tell, at their own indexes; beside these what only the final response has.
    """
    if not call.is_stream:
        output: list[JsonObject] = json.loads(call.body)["output"]
        return output
    done: dict[int, JsonObject] = {}
    for event in data_of(call):
        if event["type"] == "response.output_item.done":
            done[event["output_index"]] = event["item"]
        if event["type"] in LAST:
            ids = {item.get("id") for item in done.values()}
            for place, item in enumerate(event["response"]["output"]):
                if item.get("id") not in ids:
                    done.setdefault(place, item)
    return [done[index] for index in sorted(done)]


def told_otherwise(call: Call) -> list[tuple[str, str]]:
    """Every encrypted content in a streamed answer that is not the one of its done item.

    Each with what tells it: the event that added the item, or the final response.
    """
    told: list[tuple[str, str]] = []
    done = {item.get("encrypted_content") for item in items_said(call)}
    for event in data_of(call) if call.is_stream else []:
        if event["type"] == "response.output_item.added":
            told.append(("added", event["item"].get("encrypted_content") or ""))
        if event["type"] in LAST:
            output = event["response"]["output"]
            told += [("final", item.get("encrypted_content") or "") for item in output]
    return [(name, content) for name, content in told if content and content not in done]
