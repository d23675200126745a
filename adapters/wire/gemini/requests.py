"""A request to Gemini's API, read from its body, and what it says as events.

Shapes: ai.google.dev, "Generating content", request body; the model stands in the path of the URL.
A part is a block. Parts stay native, as the program spelled them; a user's text becomes plain text.
The SDK's chats keep a content for each chunk of a stream (google-genai 3.4.0, `chats.py`), so
neighbours of the model's are one turn, whose texts go on as they do in a stream.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any, Final, cast
from uuid import UUID

from onrecord.adapters.wire.answer import Block, Place, Recording, recorded
from onrecord.adapters.wire.api import Sent
from onrecord.adapters.wire.gemini.calls import TurnIds
from onrecord.adapters.wire.gemini.parts import (
    API,
    event_of,
    goes_on,
    member,
    object_in,
    objects,
    text_in,
)
from onrecord.adapters.wire.nesting import read_object
from onrecord.domain.blobs import spill
from onrecord.domain.content import Native, Said, Text
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
from onrecord.projections.matching.units import Piece

# What Gemini's service and its SDK have about them on the wire.

_NAMED: Final = re.compile(r"(?P<collection>models|tunedModels|endpoints)/(?P<name>[^/:]+):[^/]*$")


def model_in(path: str) -> str | None:
    """Return the model that the path of a URL names; other collections than models with it."""
    found = _NAMED.search(path)
    if found is None:
        return None
    name = found["name"]
    return name if found["collection"] == "models" else f"{found['collection']}/{name}"


def streams(path: str) -> bool:
    """Whether a request to a path asks for a stream."""
    return path.endswith(":streamGenerateContent")


def family() -> type[Exception] | None:
    """Return the error that the SDK's errors descend from, once something imported that."""
    if "google.genai.errors" not in sys.modules:
        return None
    from google.genai.errors import APIError

    return APIError


_MODEL: Final = "model"
_DECLARED: Final = "functionDeclarations"
_TOKEN: Final = "continuationToken"
_INSTRUCTIONS: Final = "systemInstruction"


def read_request(body: bytes, path: str = "", /) -> Sent:
    """Return what a request's body asks.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_object(body)
    contents = _objects(_listed(sent.get("contents")), "contents")
    settings = object_in(sent, "generationConfig") or {}
    most = member(settings, "maxOutputTokens")
    token = member(sent, _TOKEN) or member(settings, _TOKEN)
    return Sent(
        api=API,
        body=sent,
        model=model_in(path) or _model(sent.get("model")),
        stream=streams(path),
        max_tokens=most if isinstance(most, int) else None,
        system=_system(member(sent, _INSTRUCTIONS)),
        tools=_tools(sent.get("tools")),
        messages=tuple(contents),
        pieces=tuple(_pieces(contents)),
        goes_on_by=token if isinstance(token, str) else None,
        answers_earlier=_answers_earlier(contents),
    )


def said(
    sent: Sent, new: Sequence[Piece], responses: Iterator[UUID], line: UUID | None = None
) -> Recording:
    """Return the events of blocks of a request that the log does not have, in order.

    What the model said was answered elsewhere; its blocks need a response to belong to, and a turn
    of them takes the next id of `responses`. Its calls are awaited.
    """
    turns = _turns(sent.messages)
    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    for (_, role), run in groupby(new, key=lambda piece: (turns[piece.message], piece.role)):
        told, blobs = _told(role, list(run), responses, line)
        events.extend(told)
        spilled.update(blobs)
    return tuple(events), spilled


def instructions(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's instructions in force.

    They are a text where they are a single one, else the object {"systemInstruction": ...}.
    """
    system: str | JsonObject | None = sent.system
    if system is None or isinstance(system, str):
        return (InstructionsSet(content=system or "", line=line),), {}
    value, spilled = spill(system)
    return (InstructionsSet(content=Native(api=API, value=value), line=line),), spilled


def tools(sent: Sent, line: UUID | None = None) -> Recording:
    """Return the event that puts a request's `tools` in force: one a function, one a server tool."""
    values, spilled = spill(sent.tools or [])
    natives = tuple(Native(api=API, value=value) for value in values)
    return (ToolsDeclared(tools=natives, line=line),), spilled


def _told(role: str, run: list[Piece], responses: Iterator[UUID], line: UUID | None) -> Recording:
    """Return the events of blocks that one speaker says in one turn."""
    match role:
        case "assistant":
            blocks = [Block(index, piece.block, piece.call) for index, piece in enumerate(run)]
            return recorded(blocks, Place(API, next(responses), line), event_of)
        case "tool":
            return _results(run, line)
        case _:
            return _prompt(run, line)


def _results(run: Sequence[Piece], line: UUID | None) -> Recording:
    values, spilled = spill([piece.block for piece in run])
    events = [
        ToolResultRecorded(call_id=_call_id(piece), content=Native(api=API, value=value), line=line)
        for piece, value in zip(run, values, strict=True)
    ]
    return tuple(events), spilled


def _prompt(run: Sequence[Piece], line: UUID | None) -> Recording:
    values, spilled = spill([piece.block for piece in run])
    content: tuple[Said, ...] = tuple(
        _as_text(piece.block) or Native(api=API, value=value)
        for piece, value in zip(run, values, strict=True)
    )
    return (MessageRecorded(role="user", content=content, line=line),), spilled


def _as_text(part: JsonObject) -> Text | None:
    """Return a part that is a text and nothing else."""
    match part:
        case {"text": str(text), **rest} if not rest:
            return Text(text=text)
        case _:
            return None


def _call_id(piece: Piece) -> str:
    response = object_in(piece.block, "functionResponse") or {}
    return piece.call or text_in(response, "id") or ""


def _turns(contents: Sequence[JsonObject]) -> list[int]:
    """Return for each content the place at which its turn begins."""
    turns: list[int] = []
    for place, content in enumerate(contents):
        is_same = place > 0 and _is_model(content) and _is_model(contents[place - 1])
        turns.append(turns[-1] if is_same else place)
    return turns


def _is_model(content: JsonObject) -> bool:
    return content.get("role") == _MODEL


def _answers_earlier(contents: Sequence[JsonObject]) -> bool:
    first = takewhile(lambda content: not _is_model(content), contents)
    parts = (part for content in first for part in _parts(content))
    return any(object_in(part, "functionResponse") is not None for part in parts)


def _pieces(contents: Sequence[JsonObject]) -> Iterator[Piece]:
    ids = TurnIds()
    for is_model, turn in groupby(enumerate(contents), key=lambda it: _is_model(it[1])):
        placed = [(place, _parts(content)) for place, content in turn]
        if is_model:
            ids = TurnIds()
            for place, part in _joined(placed):
                call = ids.of(part)
                yield Piece(place, "assistant", part, encoded("assistant", part), call)
        else:
            yield from (_of_caller(place, part, ids) for place, parts in placed for part in parts)


def _joined(placed: Sequence[tuple[int, list[JsonObject]]]) -> list[tuple[int, JsonObject]]:
    """Return the parts of a turn of the model's, each with the place of its content."""
    joined: list[tuple[int, JsonObject]] = []
    for place, parts in placed:
        follows = bool(joined and parts) and goes_on(parts[0], joined[-1][1])
        if follows:
            before, part = joined[-1]
            joined[-1] = (before, {**part, "text": part["text"] + parts[0]["text"]})
        joined += [(place, part) for part in parts[follows:]]
    return joined


def _of_caller(place: int, part: JsonObject, ids: TurnIds) -> Piece:
    response = object_in(part, "functionResponse")
    call = None if response is None else ids.answered(response)
    role = "user" if call is None else "tool"
    return Piece(place, role, part, encoded(role, part), call)


def _parts(content: JsonObject) -> list[JsonObject]:
    role = content.get("role")
    if not isinstance(role, str | None):
        raise InvalidContent("`role` is no text: a content is said by user or model")
    return _objects(_listed(content.get("parts")), "parts")


def _model(named: Any) -> str | None:
    return named.removeprefix("models/") if isinstance(named, str) and named else None


def _system(told: Any) -> str | JsonObject | None:
    match told:
        case None:
            return None
        case str():
            return told
        case {"parts": [{"text": str(text), **beside}], **rest} if not beside:
            return {_INSTRUCTIONS: told} if rest.keys() - {"role"} else text
        case _:
            return {_INSTRUCTIONS: told}


def _tools(told: Any) -> list[JsonObject] | None:
    """Return the definitions one by one: each function, and each tool of the provider's."""
    if told is None:
        return None
    return [one for tool in _objects(_listed(told), "tools") for one in _apart(tool)]


def _apart(tool: JsonObject) -> Iterator[JsonObject]:
    for name, held in tool.items():
        if name in (_DECLARED, "function_declarations") and isinstance(held, list):
            yield from ({_DECLARED: [one]} for one in cast("list[Any]", held))
        else:
            yield {name: held}


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


def _objects(value: object, name: str) -> list[JsonObject]:
    """Return a list of objects; InvalidContent where it is none."""
    listed = cast("list[Any]", value) if isinstance(value, list) else [None]
    if len(held := objects(listed)) == len(listed):
        return held
    raise InvalidContent(f"`{name}` is no list of objects: send it as this API spells it")
