"""How the wire of Ollama's chat API is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from onrecord.adapters.wire.answer import text_or_none
from onrecord.adapters.wire.api import Endpoint, Wire, answer_count, family_of
from onrecord.adapters.wire.blocks import UnnamedCalls
from onrecord.adapters.wire.ollama.stream import API, ChatStream, blocks_of, event_of, read_body
from onrecord.adapters.wire.requests import (
    RequestEvents,
    Result,
    WireRequest,
    optional_objects,
    required_objects,
)
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.projections.matching.units import Piece, piece_of
from onrecord.projections.members import nonempty_text

# A request to Ollama's chat API, read from its body, and what it says as events.
#
# Shapes: Ollama's `docs/api.md`, "Generate a chat completion". Messages stay native, as the program
# spelled them; one of a user that is a plain text becomes that.

_PLAIN: Final = {"role", "content"}
"""The members of a message that says no more than its content."""


def read_request(body: bytes, _path: str = "", /) -> WireRequest:
    """Return what a request's body asks.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_bounded_object(body)
    messages = required_objects(sent.get("messages", []), "messages")
    leading = list(takewhile(lambda message: message.get("role") == "system", messages))
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
        case [{"content": str(text)} as only] if only.keys() == _PLAIN:
            return text
        case _:
            return {"messages": leading}


def _answers_earlier(messages: Sequence[JsonObject]) -> bool:
    roles = (message.get("role") for message in messages)
    return "tool" in takewhile(lambda role: role != "assistant", roles)


def _pieces(messages: Sequence[JsonObject]) -> Iterator[Piece]:
    """Yield the blocks of messages; results that name no call are of the answer before them."""
    made = UnnamedCalls()
    for place, message in enumerate(messages):
        role = message.get("role")
        match role:
            case "assistant":
                made = UnnamedCalls()
                for block in blocks_of(message, made):
                    yield piece_of(place, "assistant", block.value, block.call)
            case "tool":
                yield from _result_pieces(place, message, made)
            case "user" | "system" if _is_plain(message):
                yield piece_of(place, role, {"type": "text", "text": message["content"]})
            case "system":
                yield piece_of(place, "system", message)
            case str():
                yield piece_of(place, "user", message)
            case _:
                raise InvalidContent("a message is said by nobody: give it a `role`")


def _result_pieces(place: int, message: JsonObject, made: UnnamedCalls) -> Iterator[Piece]:
    """Yield a tool's message as a result, of the first open call if it names neither call nor tool.

    As the user's words where no call awaits it.
    """
    own_id = nonempty_text(message.get("tool_call_id"))
    call = made.result(nonempty_text(message.get("tool_name")), own_id)
    if call is None:
        yield piece_of(place, "user", message)
    else:
        yield piece_of(place, "tool", message, None if own_id else call)


def _is_plain(message: JsonObject) -> bool:
    return message.keys() == _PLAIN and isinstance(message["content"], str)


def _result_of(piece: Piece) -> Result | None:
    return Result(piece.call or piece.block["tool_call_id"]) if piece.role == "tool" else None


request_events: Final = RequestEvents(event_of, _result_of)


# The wire.

_TOOL_TEXTS: Final = ("name", "description", "parameters")


WIRE: Final = Wire(
    api=API,
    streams={"application/x-ndjson": ChatStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    request_events=request_events,
    endpoints=(Endpoint("POST", "api/chat", "turn"),),
    content_paths=frozenset(
        {
            "/messages",
            "/format",
            "/options",
            *(f"/tools/*/function/{member}" for member in _TOOL_TEXTS),
        }
    ),
    family=family_of("ollama", "ResponseError"),
    is_respelled=True,
    answer_members=frozenset({"done"}),
    answers_among=answer_count(
        lambda line: "message" in line, lambda line: line.get("done") is True
    ),
)
