"""How the wire of OpenAI's Chat Completions API is read, of compatible servers too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Answer, text_or_none
from onrecord.adapters.wire.api import (
    BatchEntry,
    BatchResult,
    BatchStatus,
    BatchWire,
    Endpoint,
    ResultsWire,
    Wire,
    as_object,
    creation_reader,
)
from onrecord.adapters.wire.blocks import UnnamedCalls
from onrecord.adapters.wire.forms import lines_of
from onrecord.adapters.wire.openai_chat.answers import API, blocks_of, event_of, read_body
from onrecord.adapters.wire.openai_chat.stream import CompletionStream, answers_among
from onrecord.adapters.wire.openai_responses.answers import error_code
from onrecord.adapters.wire.openai_responses.answers import read_body as read_response
from onrecord.adapters.wire.openai_responses.wire import FAMILY, HEADERS, TOOL_TEXTS
from onrecord.adapters.wire.requests import (
    RequestEvents,
    Result,
    WireRequest,
    optional_objects,
    required_objects,
)
from onrecord.adapters.wire.stream_reader import BOM, EVENT_STREAM
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.projections.matching.units import Piece, piece_of
from onrecord.projections.members import nonempty_text

# A request to OpenAI's Chat Completions API, read from its body, and what it says as events.
#
# Shapes: platform.openai.com, "Create chat completion". Messages stay native, as the program spelled
# them; a content that is a plain string becomes plain text. A message of a user is a block a part,
# but one with members of its own (a name) is one block, whole; so is what a tool or the system says.

_PLAIN: Final = {"role", "content"}
"""The members of a message that says no more than its content."""

_INSTRUCTING: Final = ("system", "developer")


def read_request(body: bytes, _path: str = "", /) -> WireRequest:
    """Return what a request's body asks.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_bounded_object(body)
    messages = required_objects(sent.get("messages"), "messages")
    leading = list(takewhile(lambda message: message.get("role") in _INSTRUCTING, messages))
    following = messages[len(leading) :]
    return WireRequest(
        api=API,
        body=sent,
        model=text_or_none(sent.get("model")),
        system=_system(leading),
        tools=optional_objects(sent.get("tools"), "tools"),
        messages=tuple(following),
        pieces=tuple(_pieces(following)),
        answers_earlier=_answers_earlier(following),
    )


def _system(leading: list[JsonObject]) -> str | JsonObject | None:
    match leading:
        case []:
            return None
        case [{"role": "system", "content": str(text)} as only] if only.keys() == _PLAIN:
            return text
        case _:
            return {"messages": leading}


def _answers_earlier(messages: Sequence[JsonObject]) -> bool:
    before = takewhile(lambda message: message.get("role") != "assistant", messages)
    return any(it.get("role") == "tool" and _named_call(it) is None for it in before)


def _pieces(messages: Sequence[JsonObject]) -> Iterator[Piece]:
    """Yield the blocks of messages; results that name no call are of the answer before them."""
    made = UnnamedCalls()
    for place, message in enumerate(messages):
        match message.get("role"):
            case "assistant":
                made = UnnamedCalls()
                for block in blocks_of(message, made):
                    yield piece_of(place, "assistant", block.value, block.call)
            case "tool":
                yield _result_piece(place, message, made)
            case _:
                for role, value in _prompt_blocks(message):
                    yield piece_of(place, role, value)


def _result_piece(place: int, message: JsonObject, made: UnnamedCalls) -> Piece:
    """Return a tool's message as a result, of the first open call if it names none.

    As the user's words where no call awaits it.
    """
    own = _named_call(message)
    call = made.result(nonempty_text(message.get("name")), own)
    if call is None:
        return piece_of(place, "user", message)
    return piece_of(place, "tool", message, None if own else call)


def _prompt_blocks(message: JsonObject) -> list[tuple[str, JsonObject]]:
    """Return the blocks of a message that is neither an answer nor a result, each with its role."""
    role, content = message.get("role"), message.get("content")
    plain = message.keys() == _PLAIN
    match role:
        case "user" if (
            plain and isinstance(content, list) and _are_objects(cast("list[Any]", content))
        ):
            return [("user", part) for part in cast("list[JsonObject]", content)]
        case "user" | "system" if plain and isinstance(content, str):
            return [(role, {"type": "text", "text": content})]
        case "system" | "developer":
            return [("system", message)]
        case str():
            return [("user", message)]
        case _:
            raise InvalidContent("a message is said by nobody: give it a `role`")


def _named_call(message: JsonObject) -> str | None:
    """Return the id of the call that a tool's message is the result of, if it names one."""
    return nonempty_text(message.get("tool_call_id"))


def _are_objects(items: list[Any]) -> bool:
    return all(isinstance(item, dict) for item in items)


def _result_of(piece: Piece) -> Result | None:
    return Result(piece.call or piece.block["tool_call_id"]) if piece.role == "tool" else None


request_events: Final = RequestEvents(event_of, _result_of)


# How OpenAI's batches are read: requests and results are lines of files, of either of its APIs.
#
# Shapes: platform.openai.com, "Batch API"; openai 3.52, types/batch.py. Azure's lines have their
# members in another order.

_ANSWERED: Final = range(200, 300)
_NAME: Final = re.compile(
    rb'\s*\{\s*(?:"id"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*)?"custom_id"\s*:\s*("(?:[^"\\]|\\.)*")'
)


def entries(form: bytes) -> tuple[BatchEntry, ...]:
    """Return the requests in a file; InvalidContent or MalformedJson where a line is none."""
    return tuple(_entry(place, line) for place, line in enumerate(lines_of(form), 1))


def _file_id(created: JsonObject) -> str | None:
    return nonempty_text(created.get("id"))


def read_result(line: bytes) -> BatchResult | None:
    """Return what a line of results says; None where it is none."""
    try:
        entry = read_bounded_object(line)
    except MalformedJson:
        return None
    name, response = entry.get("custom_id"), as_object(entry.get("response"))
    if not isinstance(name, str) or (response is None and entry.get("error") is None):
        return None
    request_id = None if response is None else response.get("request_id")
    answer = _failed(entry["error"]) if response is None else _answer(response)
    return BatchResult(name, answer, request_id if isinstance(request_id, str) else None)


def read_status(body: JsonObject) -> tuple[BatchStatus, ...]:
    """Return where a batch, or each of a list, has its results; none of one that has none yet."""
    listed = body.get("data") if body.get("object") == "list" else [body]
    batches = map(as_object, cast("list[Any]", listed) if isinstance(listed, list) else [])
    read = (_status(batch) for batch in batches if batch and batch.get("object") == "batch")
    return tuple(status for status in read if status is not None)


def _entry(place: int, line: bytes) -> BatchEntry:
    try:
        entry = read_bounded_object(line.removeprefix(BOM))
    except MalformedJson as exc:
        raise MalformedJson(f"request {place} of the batch: {exc}") from exc
    name, url, body = entry.get("custom_id"), entry.get("url"), as_object(entry.get("body"))
    if not isinstance(name, str) or not isinstance(url, str) or body is None:
        raise InvalidContent(
            f"request {place} of the batch is none: give it its custom_id, url and body"
        )
    return BatchEntry(name, jsontext.write(body), url)


def _status(batch: JsonObject) -> BatchStatus | None:
    files = tuple(
        file
        for file in (batch.get("output_file_id"), batch.get("error_file_id"))
        if isinstance(file, str) and file
    )
    match batch:
        case {"id": str() as batch_id, "input_file_id": str() as file_id, "endpoint": str() as url}:
            return BatchStatus(batch_id, file_id, files=files, url=url) if files else None
        case _:
            return None


def _answer(response: JsonObject) -> Answer:
    status, body = response.get("status_code"), as_object(response.get("body"))
    if body is None or (isinstance(status, int) and status not in _ANSWERED):
        return _failed((body or {}).get("error") or response)
    is_response = body.get("object") == "response"
    read = read_response if is_response else read_body
    return read(jsontext.write(body))


def _failed(error: object) -> Answer:
    return Answer(API, interruption="error", error=error, detail=error_code(error))


BATCHES: Final = BatchWire(
    entries,
    creation_reader(API, read_body, _file_id, "file"),
    read_status,
    ResultsWire(read_result, _NAME, in_files=True),
)


# The wire.

WIRE: Final = Wire(
    api=API,
    streams={EVENT_STREAM: CompletionStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    request_events=request_events,
    endpoints=(
        Endpoint("POST", "chat/completions", "turn"),
        # Batches may hold requests of either API.
        Endpoint("POST", "batches/*/cancel", "status"),
        Endpoint("POST", "batches", "later"),
        Endpoint("POST", "files", "upload"),
        Endpoint("GET", "batches/*", "status"),
        Endpoint("GET", "batches", "status"),
        Endpoint("GET", "files/*/content", "results"),
    ),
    content_paths=frozenset(
        {
            "/messages",
            "/response_format",
            "/prediction",
            "/stop",
            "/choices",  # Of an answer: log probabilities of what was said.
            *(f"/functions/*/{member}" for member in TOOL_TEXTS),
            *(
                f"/tools/*/{kind}/{member}"
                for kind in ("function", "custom")
                for member in TOOL_TEXTS
            ),
        }
    ),
    headers=HEADERS,
    family=FAMILY,
    batches=BATCHES,
    answer_members=frozenset({"choices", "prompt_filter_results"}),
    answers_among=answers_among,
)
