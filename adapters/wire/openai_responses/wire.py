"""How the wire of OpenAI's Responses API is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import text_or_none
from onrecord.adapters.wire.api import Endpoint, Wire, answer_count, family_of
from onrecord.adapters.wire.openai_responses.answers import API, read_body
from onrecord.adapters.wire.openai_responses.kinds import (
    Speaker,
    call_id,
    event_of,
    is_leading,
    ran_by_provider,
    run_in_containers,
    speaker,
)
from onrecord.adapters.wire.openai_responses.stream import ResponseStream
from onrecord.adapters.wire.requests import (
    RequestEvents,
    Result,
    WireRequest,
    answered_turns,
    optional_objects,
    required_objects,
)
from onrecord.adapters.wire.stream_reader import EVENT_STREAM
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.projections.apis.openai_responses.read import says_it_failed
from onrecord.projections.matching.units import Piece, piece_of

# A request to OpenAI's Responses API, read from its body, and what its input says as events.
#
# Shapes: the OpenAPI description of OpenAI's API, "CreateResponse" and "InputItem". Items stay
# native, as the program spelled them; a content that is a plain string becomes plain text. A message
# of the user is a block a part; one with members of its own (an id, a status) is one block, whole.
#
# Messages of the system or the developer that lead the input are instructions, unless the request
# goes on from an earlier response: then they come amid the conversation, as all later ones do.

_PLAIN: Final = frozenset({"type", "role", "content"})
"""The members of a message that says no more than its content."""

_HELD: Final = ("previous_response_id", "conversation", "prompt")


def read_request(body: bytes, _path: str = "", /) -> WireRequest:
    """Return what a request's body asks, of /responses or of /responses/compact.

    Which of them it is asked of, its body does not say. Raises MalformedJson where it is not JSON,
    InvalidContent where it is no request of this API.
    """
    sent = read_bounded_object(body)
    refers_to = sent.get("previous_response_id")
    items = _input(sent)
    leading = list(takewhile(is_leading, items)) if refers_to is None else []
    messages = items[len(leading) :]
    return WireRequest(
        api=API,
        body=sent,
        model=text_or_none(sent.get("model")),
        system=_system(sent, leading),
        tools=optional_objects(sent.get("tools"), "tools"),
        messages=tuple(messages),
        pieces=tuple(_pieces(messages)),
        refers_to=text_or_none(refers_to),
        thread=_thread(sent.get("conversation")),
    )


def _pieces(messages: Sequence[JsonObject]) -> Iterator[Piece]:
    ran = run_in_containers(messages)
    role: Speaker = "user"
    for place, item in enumerate(messages):
        role = speaker(item, after=role, ran=ran)
        for block in _blocks(item, role):
            yield piece_of(place, role, block)


def _blocks(item: JsonObject, role: Speaker) -> list[JsonObject]:
    """Return the blocks of an item: the parts of a plain message of the user, else it itself."""
    content = item.get("content")
    if role != "user" or item.get("role") != "user" or not item.keys() <= _PLAIN:
        return [item]
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    return required_objects(content, "content")


def _input(sent: JsonObject) -> list[JsonObject]:
    """Return a request's items; a string is one message of the user.

    Nothing need be said to go on from what the provider holds, or by a prompt that it keeps.
    """
    items: Any = sent.get("input")
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    if items is None and any(sent.get(name) is not None for name in _HELD):
        return []
    return required_objects(items, "input")


def _system(sent: JsonObject, leading: list[JsonObject]) -> str | JsonObject | None:
    instructions: Any = sent.get("instructions")
    if not (instructions is None or isinstance(instructions, str)):
        raise InvalidContent("`instructions` is no string: send one, or items in `input`")
    if not leading:
        return instructions
    return (
        {"input": leading}
        if instructions is None
        else {"instructions": instructions, "input": leading}
    )


def _thread(conversation: Any) -> str | None:
    """Return the id of the provider's own conversation, which may stand in an object."""
    thread: Any = (
        cast("JsonObject", conversation).get("id")
        if isinstance(conversation, dict)
        else conversation
    )
    return thread if isinstance(thread, str) else None


def _ran(turn: Sequence[Piece], sent: WireRequest) -> frozenset[str]:
    return ran_by_provider((piece.block for piece in turn), sent.tools)


def _result_of(piece: Piece) -> Result | None:
    if piece.role != "tool":
        return None
    return Result(call_id(piece.block) or "", is_error=says_it_failed(piece.block))


request_events: Final = RequestEvents(event_of, _result_of, turns=answered_turns, ran=_ran)


# What both of OpenAI's APIs have in common on the wire.

TOOL_TEXTS: Final = ("description", "parameters", "output_schema", "input_schema", "format")
"""What a definition of a tool tells the model."""

HEADERS: Final = ("openai-beta",)
"""Headers that change what a request means."""


FAMILY: Final = family_of("openai", "OpenAIError")
"""Gives the error that the SDK's errors descend from."""


# The wire.

_ENDS: Final = ("response.completed", "response.failed", "response.incomplete")

WIRE: Final = Wire(
    api=API,
    streams={EVENT_STREAM: ResponseStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    request_events=request_events,
    endpoints=(
        Endpoint("POST", "responses/compact", "turn", compacts=True),
        Endpoint("POST", "responses", "turn"),
        Endpoint("GET", "responses/*", "answer"),
    ),
    content_paths=frozenset(
        {
            "/input",
            "/instructions",
            "/prompt/variables",
            "/text",
            "/tools/*/server_description",
            *(f"/tools/*/{member}" for member in TOOL_TEXTS),
            *(f"/tools/*/tools/*/{member}" for member in TOOL_TEXTS),  # Of a namespace.
        }
    ),
    tools_path="/input/*/tools",
    held_by_provider={"prompt": "a stored prompt"},
    headers=HEADERS,
    family=FAMILY,
    answers_among=answer_count(
        lambda event: event.get("type") == "response.created",
        lambda event: event.get("type") in _ENDS,
    ),
)
