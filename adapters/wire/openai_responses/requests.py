"""A request to OpenAI's Responses API, read from its body, and what its input says as events.

Shapes: the OpenAPI description of OpenAI's API, "CreateResponse" and "InputItem". Items stay
native, as the program spelled them; a content that is a plain string becomes plain text. A message
of the user is a block a part; one with members of its own (an id, a status) is one block, whole.

Messages of the system or the developer that lead the input are instructions, unless the request
goes on from an earlier response: then they come amid the conversation, as all later ones do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any, Final, cast
from uuid import UUID

from onrecord.adapters.wire.answer import Block, Place, Recording, recorded
from onrecord.adapters.wire.api import Sent
from onrecord.adapters.wire.nesting import read_object
from onrecord.adapters.wire.openai_responses.answers import API
from onrecord.adapters.wire.openai_responses.kinds import (
    Speaker,
    call_id,
    event_of,
    is_leading,
    ran_by_provider,
    run_in_containers,
    speaker,
)
from onrecord.domain.blobs import spill
from onrecord.domain.content import Native, Role, Said, Text
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import (
    Event,
    InstructionsSet,
    MessageRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.prefix import encoded
from onrecord.projections.apis.openai_responses.read import says_it_failed
from onrecord.projections.matching.units import Piece

_PLAIN: Final = frozenset({"type", "role", "content"})
"""The members of a message that says no more than its content."""

_HELD: Final = ("previous_response_id", "conversation", "prompt")


def read_request(body: bytes, _path: str = "", /) -> Sent:
    """Return what a request's body asks, of /responses or of /responses/compact.

    Which of them it is asked of, its body does not say. Raises MalformedJson where it is not JSON,
    InvalidContent where it is no request of this API.
    """
    sent = read_object(body)
    model, refers_to = sent.get("model"), sent.get("previous_response_id")
    items = _input(sent)
    leading = list(takewhile(is_leading, items)) if refers_to is None else []
    messages = items[len(leading) :]
    max_tokens = sent.get("max_output_tokens")
    return Sent(
        api=API,
        body=sent,
        model=model if isinstance(model, str) else None,
        stream=sent.get("stream") is True,
        max_tokens=max_tokens if isinstance(max_tokens, int) else None,
        system=_system(sent, leading),
        tools=None if sent.get("tools") is None else _objects(sent["tools"], "tools"),
        messages=tuple(messages),
        pieces=tuple(_pieces(messages)),
        refers_to=refers_to if isinstance(refers_to, str) else None,
        thread=_thread(sent.get("conversation")),
    )


def said(
    sent: Sent, new: Sequence[Piece], responses: Iterator[UUID], line: UUID | None = None
) -> Recording:
    """Return the events of blocks of a request that the log does not have, in order.

    Items of the assistant were answered elsewhere; they need a response to belong to, and a run of
    them takes the next id of `responses`. Their calls are awaited.
    """
    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    runs = _runs(sent.pieces)
    for _, run in groupby(new, key=lambda piece: runs[piece.message]):
        told, blobs = _told(list(run), sent, responses, line)
        events.extend(told)
        spilled.update(blobs)
    return tuple(events), spilled


def instructions(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's instructions in force.

    Where items of the input are among them, they are the object {"instructions", "input"}, without
    the former if the request has none.
    """
    system: str | JsonObject | None = sent.system
    if system is None or isinstance(system, str):
        return (InstructionsSet(content=system or "", line=line),), {}
    value, spilled = spill(system)
    return (InstructionsSet(content=Native(api=API, value=value), line=line),), spilled


def tools(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's `tools` in force, each as it was spelled."""
    values, spilled = spill(sent.tools or [])
    natives = tuple(Native(api=API, value=value) for value in values)
    return (ToolsDeclared(tools=natives, line=line),), spilled


def _told(run: list[Piece], sent: Sent, responses: Iterator[UUID], line: UUID | None) -> Recording:
    """Return the events of blocks that one speaker says: a message, or a run of the assistant's."""
    match run[0].role:
        case "assistant":
            blocks = [Block(index, piece.block) for index, piece in enumerate(run)]
            ran = ran_by_provider((piece.block for piece in run), sent.tools)
            return recorded(blocks, Place(API, next(responses), line, ran=ran), event_of)
        case "tool":
            return _results(run, line)
        case "system":
            return _message("system", run, line)
        case _:
            return _prompt(sent.messages[run[0].message], run, line)


def _prompt(message: JsonObject, run: Sequence[Piece], line: UUID | None) -> Recording:
    content = message.get("content")
    if isinstance(content, str) and run[0].block is not message:
        return (MessageRecorded(role="user", content=(Text(text=content),), line=line),), {}
    return _message("user", run, line)


def _results(run: Iterable[Piece], line: UUID | None) -> Recording:
    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    for piece in run:
        value, blobs = spill(piece.block)
        native = Native(api=API, value=value)
        call = call_id(piece.block) or ""
        is_error = says_it_failed(piece.block)
        events.append(
            ToolResultRecorded(call_id=call, content=native, is_error=is_error, line=line)
        )
        spilled.update(blobs)
    return tuple(events), spilled


def _message(role: Role, run: Iterable[Piece], line: UUID | None) -> Recording:
    values, spilled = spill([piece.block for piece in run])
    natives: tuple[Said, ...] = tuple(Native(api=API, value=value) for value in values)
    return (MessageRecorded(role=role, content=natives, line=line),), spilled


def _runs(pieces: Iterable[Piece]) -> dict[int, int]:
    """Return which message each message's run begins with; only the assistant's are of several."""
    runs: dict[int, int] = {}
    first, is_assistant = 0, False
    for piece in pieces:
        if piece.message in runs:
            continue
        if not (is_assistant and piece.role == "assistant"):
            first = piece.message
        is_assistant = piece.role == "assistant"
        runs[piece.message] = first
    return runs


def _pieces(messages: Sequence[JsonObject]) -> Iterator[Piece]:
    ran = run_in_containers(messages)
    role: Speaker = "user"
    for place, item in enumerate(messages):
        role = speaker(item, after=role, ran=ran)
        for block in _blocks(item, role):
            yield Piece(place, role, block, encoded(role, block))


def _blocks(item: JsonObject, role: Speaker) -> list[JsonObject]:
    """Return the blocks of an item: the parts of a plain message of the user, else it itself."""
    content = item.get("content")
    if role != "user" or item.get("role") != "user" or not item.keys() <= _PLAIN:
        return [item]
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    return _objects(content, "content")


def _input(sent: JsonObject) -> list[JsonObject]:
    """Return a request's items; a string is one message of the user.

    Nothing need be said to go on from what the provider holds, or by a prompt that it keeps.
    """
    said: Any = sent.get("input")
    if isinstance(said, str):
        return [{"role": "user", "content": said}]
    if said is None and any(sent.get(name) is not None for name in _HELD):
        return []
    return _objects(said, "input")


def _system(sent: JsonObject, leading: list[JsonObject]) -> str | JsonObject | None:
    told: Any = sent.get("instructions")
    if not (told is None or isinstance(told, str)):
        raise InvalidContent("`instructions` is no string: send one, or items in `input`")
    if not leading:
        return told
    return {"input": leading} if told is None else {"instructions": told, "input": leading}


def _thread(held: Any) -> str | None:
    """Return the id of the provider's own conversation, which may stand in an object."""
    found: Any = cast("JsonObject", held).get("id") if isinstance(held, dict) else held
    return found if isinstance(found, str) else None


def _objects(value: object, member: str) -> list[JsonObject]:
    """Return a list of objects; InvalidContent where it is none."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if all(isinstance(item, dict) for item in items):
            return cast("list[JsonObject]", items)
    raise InvalidContent(f"`{member}` is no list of objects: send it as this API spells it")
