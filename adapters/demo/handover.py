"""Where the demo's conversation goes on elsewhere: what is asked there, and what is answered.

It moves to OpenAI's Chat Completions, from there to its Responses API, then back to where it began.
"""

from hansard.adapters.demo.history import objects, text
from hansard.adapters.demo.sayings import Called, OpenAIApi, Said
from hansard.adapters.demo.scenes import Answer, JsonObject

ON_CHAT = "She asks whether it moves by now. Please look."
ON_RESPONSES = "Could anything in the depot still hold it up?"
BACK = "Sum it all up for the file, in one sentence."

RESULTS = {
    "track_parcel": "Thu 06:40 loaded at depot North, on the van for Friday.",
    "depot_status": "Depot North: backlog cleared on Thu 05:00.",
}
"""What the client's tools return by then, by tool name."""

SUMMARY = Answer(
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

_LOOK = Said(calls=(Called("track_parcel", {"parcel": "NW-20931"}),))
_MOVES = Said("It moves: it was loaded at depot North on Thursday at 06:40, on the van for Friday.")
_CHECK = Said(calls=(Called("depot_status", {"depot": "North"}),), reasons=True)
_FREE = Said(
    "No. The backlog was cleared at 05:00, and her parcel was loaded after that.", reasons=True
)


def answer(api: OpenAIApi, request: JsonObject) -> Said:
    """Return what the model says to a request: first a call, then, with its result, a text."""
    if api == "openai-chat":
        (*_, last) = objects(request["messages"])
        return _MOVES if last.get("role") == "tool" else _LOOK
    (*_, last) = objects(request["input"])
    return _FREE if text(last.get("type")) == "function_call_output" else _CHECK
