"""How the wire of Gemini's API is read: the Developer API's and Vertex AI's."""

from __future__ import annotations

from typing import Final

from onrecord.adapters.capture.gemini_batches import BATCHES
from onrecord.adapters.capture.gemini_body import read_body
from onrecord.adapters.capture.gemini_kinds import event_of
from onrecord.adapters.capture.gemini_parts import API
from onrecord.adapters.capture.gemini_requests import instructions, read_request, said, tools
from onrecord.adapters.capture.gemini_service import family
from onrecord.adapters.capture.gemini_stream import ContentStream
from onrecord.adapters.capture.sse import EVENT_STREAM
from onrecord.adapters.capture.wire import Endpoint, Kind, Wire

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
)
