"""The demo's conversation: a support agent reads a delivery report, with tools and a web search.

Five answers: two tool calls at once; a web search that pauses; its continuation, with citations; a
stream that breaks; and, asked again, the whole answer. A sixth sums up what was said elsewhere
since, and a claim is opened (claim.py). All names and figures are made up.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final

from onrecord.adapters.demo import claim
from onrecord.adapters.demo.report_pdf import one_page_pdf
from onrecord.adapters.demo.services.scenes import (
    Answer,
    Cut,
    FunctionCall,
    JsonObject,
    OpenAIApi,
    OtherApi,
    PlainAnswer,
    Scene,
    encoded,
)
from onrecord.projections.apis.anthropic.tool_rules import Turn, turns_of
from onrecord.projections.members import objects

# Where the demo's conversation goes on elsewhere: what is asked there, and what is answered.
#
# It begins on Anthropic's API, crosses the five others, then comes back to where it began.

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
        "openai-chat", "OpenAI, Chat Completions", "She asks whether it moves by now. Please look."
    ),
    Crossing(
        "openai-responses", "OpenAI, Responses", "Could anything in the depot still hold it up?"
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

LATER_RESULTS: Final = {
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

_TRACK: Final = (FunctionCall("track_parcel", {"parcel": "NW-20931"}),)
_DEPOT: Final = (FunctionCall("depot_status", {"depot": "North"}),)
_SPOKEN: Final[Mapping[OpenAIApi | OtherApi, tuple[PlainAnswer, PlainAnswer]]] = {
    "openai-chat": (
        PlainAnswer(calls=_TRACK),
        PlainAnswer(
            "It moves: it was loaded at depot North on Thursday at 06:40, on the van for Friday."
        ),
    ),
    "openai-responses": (
        PlainAnswer(calls=_DEPOT, reasons=True),
        PlainAnswer(
            "No. The backlog was cleared at 05:00, and her parcel was loaded after that.",
            reasons=True,
        ),
    ),
    "gemini": (
        PlainAnswer(
            calls=_TRACK, reasons=True, thought="The scans say at which place it was loaded."
        ),
        PlainAnswer("The red one in the middle: the scans say place 2.", reasons=True),
    ),
    "ollama": (
        PlainAnswer(
            calls=_DEPOT, thought="The search stands above, in words. The depot I must ask."
        ),
        PlainAnswer(
            "A page of Northwind's, northwind.example/terms/late. And yes: the depot is clear since "
            "Thursday 05:00.",
        ),
    ),
    "bedrock-converse": (
        PlainAnswer("Let me see the scans once more.", calls=_TRACK),
        PlainAnswer(
            "No. The 31 hours are in the report, the loading in the scans, and the parcel in the "
            "picture. Only 'by Friday evening' was the notice's word, not ours.",
        ),
    ),
}
"""What the model says on each API: first it calls, then, with the result, it answers."""


def other_answer(api: OpenAIApi | OtherApi, request: JsonObject) -> PlainAnswer:
    """Return what the model says to a request."""
    called, answered = _SPOKEN[api]
    entries = request.get("messages") or request.get("input") or request.get("contents")
    *_, last = messages = objects(entries)
    if claim.is_shown(messages):
        return claim.SEEN
    return answered if _has_result(last) else called


def _has_result(message: JsonObject) -> bool:
    """Whether a message, item or content of any of the APIs gives the result of a call."""
    if message.get("role") == "tool" or message.get("type") == "function_call_output":
        return True
    parts = [*objects(message.get("parts")), *objects(message.get("content"))]
    return any("functionResponse" in part or "toolResult" in part for part in parts)


SYSTEM = (
    "You are the support agent of Northwind Parcels. Use the tools before you promise anything."
)
QUESTION = "Customer 4711 asks where her parcel NW-20931 is. What does the weekly report say?"
FOLLOW_UP = "Write her a short, kind answer."

REPORT = one_page_pdf(
    (
        "Northwind Parcels: delivery report, week 37",
        "",
        "9,803 parcels delivered, 412 of them late (4.2%).",
        "Main cause: the sorter in depot North stood still for 31 hours.",
        "Affected: every parcel scanned there between Tuesday 14:00 and Wednesday 21:00.",
    )
)


def _tool(name: str, parameter: str, description: str) -> JsonObject:
    properties: JsonObject = {parameter: {"type": "string"}}
    schema: JsonObject = {"type": "object", "properties": properties, "required": [parameter]}
    return {"name": name, "description": description, "input_schema": schema}


TOOLS: tuple[JsonObject, ...] = (
    _tool("track_parcel", "parcel", "The last scans of a parcel, newest first."),
    _tool("depot_status", "depot", "Whether a depot works normally, and since when."),
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
)

RESULTS = {
    "track_parcel": "Tue 16:12 scanned at depot North. No scan since.",
    "depot_status": "Depot North: sorter running again since Wed 21:00, backlog of about 900 parcels.",
}
"""What the demo's client tools return, by tool name."""

_SEARCHED = "srvtoolu_01Xy7KpQmW3nRtVb5HsJdLcF"
_STILL_SEARCHING = "srvtoolu_01Zr4GtNfC8kPwYd6BqMxVhS"


def _sealed(label: str) -> str:
    """Stands for content that only the service can read."""
    return base64.b64encode(f"demo sealed: {label}".encode()).decode()


def _call(call_id: str, name: str, arguments: JsonObject) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _search(call_id: str, query: str) -> JsonObject:
    return {**_call(call_id, "web_search", {"query": query}), "type": "server_tool_use"}


def _hit(title: str, url: str, page_age: str | None) -> JsonObject:
    return {
        "type": "web_search_result",
        "title": title,
        "url": url,
        "encrypted_content": _sealed(url),
        "page_age": page_age,
    }


_READ = Answer(
    content=(
        {
            "type": "thinking",
            "thinking": "The report blames depot North. Was her parcel there while the sorter stood "
            "still? The scans and the depot's state will tell; neither needs the other.",
        },
        {
            "type": "text",
            "text": "The report says that 412 parcels were late, most of them because the sorter in "
            "depot North stood still. Let me check whether hers is one of them.",
        },
        _call("toolu_01Hd7YtQvLm2xKcR9sWbNfPe", "track_parcel", {"parcel": "NW-20931"}),
        _call("toolu_01Jk3ZsTgBn8vMqD4wYcXrUa", "depot_status", {"depot": "North"}),
    ),
    stop_reason="tool_use",
)

_SEARCH = Answer(
    content=(
        {"type": "redacted_thinking"},
        {"type": "text", "text": "Her parcel was caught in it. Is there a public notice?"},
        _search(_SEARCHED, "Northwind Parcels depot North delay notice"),
        {
            "type": "web_search_tool_result",
            "tool_use_id": _SEARCHED,
            "content": [
                _hit(
                    "Delays at depot North", "https://northwind.example/notices/north", "1 day ago"
                ),
                _hit("Northwind Parcels: help", "https://northwind.example/help", None),
            ],
        },
        _search(_STILL_SEARCHING, "Northwind Parcels compensation late delivery"),
    ),
    stop_reason="pause_turn",
)

_REPORT_BACK = Answer(
    content=(
        {
            "type": "web_search_tool_result",
            "tool_use_id": _STILL_SEARCHING,
            "content": [
                _hit("Late parcels", "https://northwind.example/terms/late", "3 months ago"),
            ],
        },
        {"type": "text", "text": "Her parcel is in depot North. "},
        {
            "citations": [
                {
                    "type": "web_search_result_location",
                    "cited_text": "We expect to clear the backlog by Friday evening.",
                    "url": "https://northwind.example/notices/north",
                    "title": "Delays at depot North",
                    "encrypted_index": _sealed("notice, sentence 2"),
                }
            ],
            "type": "text",
            "text": "The backlog should be cleared by Friday evening",
        },
        {"type": "text", "text": ", and "},
        {
            "citations": [
                {
                    "type": "page_location",
                    "cited_text": "Main cause: the sorter in depot North stood still for 31 hours.",
                    "document_index": 0,
                    "document_title": None,
                    "start_page_number": 1,
                    "end_page_number": 2,
                }
            ],
            "type": "text",
            "text": "the cause was the sorter, which stood still for 31 hours",
        },
        {"type": "text", "text": "."},
    ),
)

LETTER = (
    "Dear customer,\n\nyour parcel NW-20931 is safe. It waits in our depot North, where a machine "
    "stood still for more than a day; it runs again, and your parcel should be with you by Friday "
    "evening. We are sorry that you had to wait, and even more that you had to ask. If it has not "
    "come by Saturday, write to me and I will send a replacement the same day.\n\nNorthwind Parcels"
)

_WRITE = Answer(
    content=(
        {"type": "thinking", "thinking": "Short and kind; no promise beyond the notice."},
        {"type": "text", "text": LETTER},
    ),
)

# Far enough for the thinking to be whole and the letter to have begun.
_BROKEN = Answer(content=_WRITE.content, faults=(Cut(after=2600),))


class SupportAgent:
    """The script of the demo: looks at a request's messages and picks the scene that comes next.

    The answer to the second prompt breaks off once in each conversation.
    """

    def __init__(self) -> None:
        """Start with no conversation seen."""
        self._broken: set[bytes] = set()
        self._lock = Lock()

    def __call__(self, request: JsonObject) -> Scene:
        """Return the answer to this request."""
        spoken = turns_of(request)
        of_a_claim = claim.answer(spoken[-1])
        if of_a_claim is not None:
            return of_a_claim
        prompts = sum(map(_is_prompt, spoken))
        if prompts < 2:
            return _first_exchange(len(spoken), spoken[-1].role)
        if spoken[-1].blocks[-1].block.get("text") == BACK:
            return SUMMARY
        first = encoded(spoken[0].blocks[0].block)
        with self._lock:
            if first in self._broken:
                return _WRITE
            self._broken.add(first)
            return _BROKEN


def _is_prompt(turn: Turn) -> bool:
    return turn.role == "user" and not turn.has_only_results


def _first_exchange(turns: int, last_speaker: str) -> Scene:
    if turns == 1:
        return _READ
    return _SEARCH if last_speaker == "user" else _REPORT_BACK
