"""How the wire of Gemini's API is read: the Developer API's and Vertex AI's."""

from __future__ import annotations

from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Answer, Loss
from onrecord.adapters.wire.api import (
    BatchEntry,
    BatchResult,
    BatchStatus,
    BatchWire,
    Endpoint,
    Kind,
    Wire,
    as_object,
    deferred,
    error_kind,
)
from onrecord.adapters.wire.gemini.parts import API, event_of
from onrecord.adapters.wire.gemini.requests import family, instructions, read_request, said, tools
from onrecord.adapters.wire.gemini.stream import ContentStream, read_body
from onrecord.adapters.wire.nesting import read_object
from onrecord.adapters.wire.sse import EVENT_STREAM
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.jsontext import JsonObject

# How Gemini's batches are read: requests in the call that makes one, results in its status.
#
# Shapes: ai.google.dev, "Batch API"; google-genai 3.4, batches.py. Results have the order of
# their requests, and no names: each is known by its place.

_BATCHES: Final = "batches/"


def entries(body: bytes) -> tuple[BatchEntry, ...]:
    """Return the requests that a batch sends itself, none where they are in a file.

    Raises InvalidContent or MalformedJson where one is none.
    """
    given = _at(read_object(body), ("batch", "inputConfig", "requests"))
    if given is None:
        return ()
    listed = _listed(as_object(given) or {}, ("requests",))
    requests = [as_object(it.get("request")) for it in listed]
    known = [request for request in requests if request is not None]
    if not known or len(known) != len(requests):
        raise InvalidContent("the batch has no list of requests: give each its `request`")
    return tuple(BatchEntry(str(at), jsontext.write(it)) for at, it in enumerate(known))


def read_created(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what the service says to a batch that was sent: its requests are answered later."""
    try:
        batch = read_object(body)
    except MalformedJson:
        return read_body(body, loss, detail)
    name = batch.get("name")
    is_batch = isinstance(name, str) and name.startswith(_BATCHES)
    return deferred(API, batch, name if is_batch else None, "batch")


def read_status(said: JsonObject) -> tuple[BatchStatus, ...]:
    """Return the results that a batch has itself; none of one that has none, or not yet."""
    name = said.get("name")
    if not isinstance(name, str) or not name.startswith(_BATCHES):
        return ()
    at = ("inlinedResponses", "inlinedResponses")
    listed = _listed(said, ("metadata", "output", *at)) or _listed(said, ("response", *at))
    results = tuple((_result(str(at), it), jsontext.write(it)) for at, it in enumerate(listed))
    return (BatchStatus(name, name, results=results),) if results else ()


def _result(name: str, said: JsonObject) -> BatchResult:
    response, error = as_object(said.get("response")), said.get("error")
    if response is not None:
        return BatchResult(name, read_body(jsontext.write(response)))
    if error is not None:
        failed = Answer(API, interruption="error", error=error, detail=error_kind(error))
        return BatchResult(name, failed)
    why = "a result of no known type"
    return BatchResult(name, Answer(API, interruption="malformed", detail=why, error=said))


def _listed(value: JsonObject, path: tuple[str, ...]) -> list[JsonObject]:
    """Return the objects in the list at a path; one that is no object is empty."""
    found = _at(value, path)
    items = cast("list[Any]", found) if isinstance(found, list) else []
    return [as_object(item) or {} for item in items]


def _at(value: JsonObject, path: tuple[str, ...]) -> object:
    found: object = value
    for member in path:
        found = (as_object(found) or {}).get(member)
    return found


BATCHES: Final = BatchWire(entries, read_created, read_status)


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
    said=said,
    instructions=instructions,
    tools=tools,
    endpoints=(
        *(
            Endpoint("POST", f"{models}/*:{verb}", kind)
            for models in _MODELS
            for verb, kind in _VERBS.items()
        ),
        Endpoint("GET", "batches/*", "status"),
    ),
    told=frozenset(
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
                f"/tools/*/{declared}/*/{told}"
                for declared in _DECLARATIONS
                for told in _OF_A_FUNCTION
            ),
        }
    ),
    held={"cachedContent": "a cached content", "cached_content": "a cached content"},
    family=family,
    batches=BATCHES,
    is_respelled=True,
)
