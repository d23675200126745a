"""How the wire of Gemini's API is read: the Developer API's and Vertex AI's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Answer, text_or_none
from onrecord.adapters.wire.api import (
    BatchEntry,
    BatchResult,
    BatchStatus,
    BatchWire,
    Endpoint,
    Kind,
    Wire,
    as_object,
    creation_reader,
    error_kind,
    family_of,
)
from onrecord.adapters.wire.gemini.calls import TurnIds
from onrecord.adapters.wire.gemini.parts import (
    API,
    event_of,
    goes_on,
    member,
    object_in,
    text_in,
)
from onrecord.adapters.wire.gemini.stream import ContentStream, answers_among, read_body
from onrecord.adapters.wire.requests import RequestEvents, Result, WireRequest, required_objects
from onrecord.adapters.wire.stream_reader import EVENT_STREAM
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.projections.matching.units import Piece, piece_of
from onrecord.projections.members import list_of, members_of

# What Gemini's service and its SDK have about them on the wire.

_NAMED: Final = re.compile(r"(?P<collection>models|tunedModels|endpoints)/(?P<name>[^/:]+):[^/]*$")


def model_in(path: str) -> str | None:
    """Return the model that the path of a URL names; other collections than models with it."""
    match = _NAMED.search(path)
    if match is None:
        return None
    name = match["name"]
    return name if match["collection"] == "models" else f"{match['collection']}/{name}"


# A request to Gemini's API, read from its body, and what it says as events.
#
# Shapes: ai.google.dev, "Generating content", request body; the model stands in the path of the URL.
# A part is a block. Parts stay native, as the program spelled them; a user's text becomes plain text.
# The SDK's chats keep a content for each chunk of a stream (google-genai 3.4.0, `chats.py`), so
# neighbours of the model's are one turn, whose texts go on as they do in a stream.

_MODEL: Final = "model"
_DECLARED: Final = "functionDeclarations"
_TOKEN: Final = "continuationToken"
_INSTRUCTIONS: Final = "systemInstruction"


def read_request(body: bytes, path: str = "", /) -> WireRequest:
    """Return what a request's body asks.

    Raises MalformedJson where it is not JSON, InvalidContent where it is no request of this API.
    """
    sent = read_bounded_object(body)
    contents = required_objects(_listed(sent.get("contents")), "contents")
    settings = object_in(sent, "generationConfig") or {}
    token = member(sent, _TOKEN) or member(settings, _TOKEN)
    return WireRequest(
        api=API,
        body=sent,
        model=model_in(path) or _model(sent.get("model")),
        system=_system(member(sent, _INSTRUCTIONS)),
        tools=_tools(sent.get("tools")),
        messages=tuple(contents),
        pieces=tuple(_pieces(contents)),
        goes_on_by=text_or_none(token),
        answers_earlier=_answers_earlier(contents),
    )


def _turns(sent: WireRequest) -> list[int]:
    """Return for each content the place at which its turn begins."""
    turns: list[int] = []
    contents = sent.messages
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
                yield piece_of(place, "assistant", part, call)
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
    return piece_of(place, role, part, call)


def _parts(content: JsonObject) -> list[JsonObject]:
    role = content.get("role")
    if not isinstance(role, str | None):
        raise InvalidContent("`role` is no text: a content is said by user or model")
    return required_objects(_listed(content.get("parts")), "parts")


def _model(named: Any) -> str | None:
    return named.removeprefix("models/") if isinstance(named, str) and named else None


def _system(instruction: Any) -> str | JsonObject | None:
    match instruction:
        case None:
            return None
        case str():
            return instruction
        case {"parts": [{"text": str(text), **beside}], **rest} if not beside:
            return {_INSTRUCTIONS: instruction} if rest.keys() - {"role"} else text
        case _:
            return {_INSTRUCTIONS: instruction}


def _tools(value: Any) -> list[JsonObject] | None:
    """Return the definitions one by one: each function, and each tool of the provider's."""
    if value is None:
        return None
    return [one for tool in required_objects(_listed(value), "tools") for one in _apart(tool)]


def _apart(tool: JsonObject) -> Iterator[JsonObject]:
    for name, definitions in tool.items():
        if name in (_DECLARED, "function_declarations") and isinstance(definitions, list):
            yield from ({_DECLARED: [one]} for one in cast("list[Any]", definitions))
        else:
            yield {name: definitions}


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


def _result_of(piece: Piece) -> Result | None:
    if piece.role != "tool":
        return None
    response = object_in(piece.block, "functionResponse") or {}
    return Result(piece.call or text_in(response, "id") or "")


def _text_of(_content: JsonObject, part: JsonObject) -> str | None:
    """Return the text of a part that is a text and nothing else."""
    match part:
        case {"text": str(text), **more} if not more:
            return text
        case _:
            return None


request_events: Final = RequestEvents(event_of, _result_of, _text_of, _turns)


# How Gemini's batches are read: requests in the call that makes one, results in its status.
#
# Shapes: ai.google.dev, "Batch API"; google-genai 3.4, batches.py. Results have the order of
# their requests, and no names: each is known by its place.

_BATCHES: Final = "batches/"


def entries(body: bytes) -> tuple[BatchEntry, ...]:
    """Return the requests that a batch sends itself, none where they are in a file.

    Raises InvalidContent or MalformedJson where one is none.
    """
    source = _at(read_bounded_object(body), ("batch", "inputConfig", "requests"))
    if source is None:
        return ()
    listed = _objects_at(members_of(source), ("requests",))
    requests = [as_object(it.get("request")) for it in listed]
    known = [request for request in requests if request is not None]
    if not known or len(known) != len(requests):
        raise InvalidContent("the batch has no list of requests: give each its `request`")
    return tuple(BatchEntry(str(at), jsontext.write(it)) for at, it in enumerate(known))


def _batch_id(created: JsonObject) -> str | None:
    name = text_or_none(created.get("name"))
    return name if name and name.startswith(_BATCHES) else None


def read_status(status: JsonObject) -> tuple[BatchStatus, ...]:
    """Return the results that a batch has itself; none of one that has none, or not yet."""
    name = status.get("name")
    if not isinstance(name, str) or not name.startswith(_BATCHES):
        return ()
    at = ("inlinedResponses", "inlinedResponses")
    listed = _objects_at(status, ("metadata", "output", *at)) or _objects_at(
        status, ("response", *at)
    )
    results = tuple((_result(str(at), it), jsontext.write(it)) for at, it in enumerate(listed))
    return (BatchStatus(name, name, results=results),) if results else ()


def _result(name: str, entry: JsonObject) -> BatchResult:
    response, error = as_object(entry.get("response")), entry.get("error")
    if response is not None:
        return BatchResult(name, read_body(jsontext.write(response)))
    if error is not None:
        failed = Answer(API, interruption="error", error=error, detail=error_kind(error))
        return BatchResult(name, failed)
    why = "a result of no known type"
    return BatchResult(name, Answer(API, interruption="malformed", detail=why, error=entry))


def _objects_at(value: JsonObject, path: tuple[str, ...]) -> list[JsonObject]:
    """Return the objects in the list at a path; one that is no object is empty."""
    return [members_of(item) for item in list_of(_at(value, path))]


def _at(value: JsonObject, path: tuple[str, ...]) -> object:
    place: object = value
    for step in path:
        place = members_of(place).get(step)
    return place


BATCHES: Final = BatchWire(
    entries, creation_reader(API, read_body, _batch_id, "batch"), read_status
)


# The wire.

_MODELS: Final = ("models", "tunedModels", "endpoints")
_VERBS: Final[dict[str, Kind]] = {
    "generateContent": "turn",
    "streamGenerateContent": "turn",
    "batchGenerateContent": "batch",
}
_DECLARATIONS: Final = ("functionDeclarations", "function_declarations")
_OF_A_FUNCTION: Final = (
    *("description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema"),
    *("parameters_json_schema", "response_json_schema"),
)

WIRE: Final = Wire(
    api=API,
    streams={EVENT_STREAM: ContentStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    request_events=request_events,
    endpoints=(
        *(
            Endpoint("POST", f"{models}/*:{verb}", kind)
            for models in _MODELS
            for verb, kind in _VERBS.items()
        ),
        Endpoint("GET", "batches/*", "status"),
    ),
    content_paths=frozenset(
        {
            "/contents",
            "/systemInstruction",
            "/system_instruction",
            # What the service gave to go on with the answer by: no secret, for all that it is named.
            "/continuationToken",
            "/generationConfig/continuationToken",
            "/generationConfig/responseSchema",
            "/generationConfig/responseJsonSchema",
            "/generationConfig/stopSequences",
            "/candidates",  # Of an answer: log probabilities and citations of what was said.
            *(
                f"/tools/*/{declared}/*/{member}"
                for declared in _DECLARATIONS
                for member in _OF_A_FUNCTION
            ),
        }
    ),
    held_by_provider={"cachedContent": "a cached content", "cached_content": "a cached content"},
    family=family_of("google.genai.errors", "APIError"),
    batches=BATCHES,
    is_respelled=True,
    answer_members=frozenset({"candidates", "promptFeedback", "usageMetadata", "modelVersion"}),
    sdk_arguments={"config": "google-genai"},
    model_prefix="models/",
    answers_among=answers_among,
)
