"""Where the demo's conversation goes on elsewhere: what is asked there, and what is answered.

It begins on Anthropic's API, crosses the five others, then comes back to where it began.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from onrecord.adapters.demo import claim
from onrecord.adapters.demo.services.scenes import (
    Answer,
    Called,
    JsonObject,
    OpenAIApi,
    OtherApi,
    Said,
)
from onrecord.adapters.demo.services.signatures import objects

BEGINS: Final = "anthropic-messages"
BACK: Final = "Sum it all up for the file, in one sentence."


@dataclass(frozen=True, slots=True)
class Crossing:
    """A place where the conversation goes on; `pictured`: a picture goes with what is asked."""

    api: str
    service: str
    prompt: str
    pictured: bool = False


CROSSINGS: Final = (
    Crossing(
        "openai-chat",
        "OpenAI, Chat Completions",
        "She asks whether it moves by now. Please look.",
    ),
    Crossing(
        "openai-responses",
        "OpenAI, Responses",
        "Could anything in the depot still hold it up?",
    ),
    Crossing(
        "gemini",
        "Google, Gemini",
        "The driver sends a picture of his van. Which one is hers?",
        pictured=True,
    ),
    Crossing(
        "ollama",
        "Ollama, on this machine",
        "What did the search find on late parcels? And is the depot still clear?",
    ),
    Crossing(
        "bedrock-converse",
        "AWS, Bedrock",
        "Compare the report, the scans and the picture: did we tell her anything wrong?",
    ),
    Crossing(BEGINS, "Anthropic again", BACK),
)

RESULTS: Final = {
    "track_parcel": "Thu 06:40 loaded at depot North, on the van for Friday, place 2.",
    "depot_status": "Depot North: backlog cleared on Thu 05:00.",
}
"""What the client's tools return by then, by tool name."""

SUMMARY: Final = Answer(
    content=(
        {"type": "thinking", "thinking": "Cause, where it is now, when it comes; no more."},
        {
            "type": "text",
            "text": "NW-20931 stood in depot North while the sorter did (report, week 37); it was "
            "loaded on Thu 06:40, after the backlog was cleared, and is due on Friday.",
        },
    ),
)
"""The answer to `BACK`."""

_TRACK: Final = (Called("track_parcel", {"parcel": "NW-20931"}),)
_DEPOT: Final = (Called("depot_status", {"depot": "North"}),)
_SPOKEN: Final[Mapping[OpenAIApi | OtherApi, tuple[Said, Said]]] = {
    "openai-chat": (
        Said(calls=_TRACK),
        Said("It moves: it was loaded at depot North on Thursday at 06:40, on the van for Friday."),
    ),
    "openai-responses": (
        Said(calls=_DEPOT, reasons=True),
        Said(
            "No. The backlog was cleared at 05:00, and her parcel was loaded after that.",
            reasons=True,
        ),
    ),
    "gemini": (
        Said(calls=_TRACK, reasons=True, thought="The scans say at which place it was loaded."),
        Said("The red one in the middle: the scans say place 2.", reasons=True),
    ),
    "ollama": (
        Said(calls=_DEPOT, thought="The search stands above, in words. The depot I must ask."),
        Said(
            "A page of Northwind's, northwind.example/terms/late. And yes: the depot is clear since "
            "Thursday 05:00.",
        ),
    ),
    "bedrock-converse": (
        Said("Let me see the scans once more.", calls=_TRACK),
        Said(
            "No. The 31 hours are in the report, the loading in the scans, and the parcel in the "
            "picture. Only 'by Friday evening' was the notice's word, not ours.",
        ),
    ),
}
"""What the model says on each API: first it calls, then, with the result, it answers."""


def answer(api: OpenAIApi | OtherApi, request: JsonObject) -> Said:
    """Return what the model says to a request."""
    called, answered = _SPOKEN[api]
    told = request.get("messages") or request.get("input") or request.get("contents")
    *_, last = messages = objects(told)
    if claim.is_shown(messages):
        return claim.SEEN
    return answered if _has_result(last) else called


def _has_result(said: JsonObject) -> bool:
    """Whether a message, item or content of any of the APIs gives the result of a call."""
    if said.get("role") == "tool" or said.get("type") == "function_call_output":
        return True
    parts = [*objects(said.get("parts")), *objects(said.get("content"))]
    return any("functionResponse" in part or "toolResult" in part for part in parts)
