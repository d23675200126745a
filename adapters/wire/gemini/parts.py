"""The parts of a content of Gemini's: what kind each is, and how those of a stream are joined.

Shapes: ai.google.dev, "Content" and "Part". Members may be spelled as the API does or in snake case,
as the SDK spells what is nested; the API takes both.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, assert_never, cast

from onrecord.adapters.wire.blocks import BlockContext
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini.server_tools import QUERIES, called, gave, grounded_by, snake
from onrecord.projections.members import nonempty_text

API: Final = "gemini"
"""The name of this wire format, in events and requests."""

Kind: TypeAlias = Literal["call", "server_call", "server_result", "reasoning", "message", "opaque"]
"""A call of the caller's tools, a call of the provider's own and what that gave, and the rest."""

_SERVER_CALLS: Final = ("executableCode", "toolCall")
_SERVER_RESULTS: Final = ("codeExecutionResult", "toolResponse")
_GROUNDING: Final = "groundingMetadata"
_FETCHED: Final = "urlContextMetadata"
_MEDIA: Final = ("inlineData", "fileData")
_BESIDE: Final = frozenset(
    {
        *("thought", "thoughtSignature", "partMetadata", "mediaResolution", "mediaProcessing"),
        *("videoMetadata", "audioMetadata", "documentMetadata", "spreadsheetMetadata"),
        *("speechMetadata", "audioTranscription"),
    }
)
"""Members of a part that tell of what it holds, whatever that is."""


def member(members: JsonObject, name: str) -> Any:
    """Return a member by the API's name, in either spelling; None where there is none."""
    return members[name] if name in members else members.get(snake(name))


def object_in(members: JsonObject, name: str) -> JsonObject | None:
    """Return a member that is an object; None for anything else."""
    value = member(members, name)
    return cast("JsonObject", value) if isinstance(value, dict) else None


def text_in(members: JsonObject, name: str) -> str | None:
    """Return a member that is a text and says something; None for anything else."""
    return nonempty_text(member(members, name))


def has(part: JsonObject, name: str) -> bool:
    """Whether a part has a member, in either spelling."""
    return name in part or snake(name) in part


def kind_of(part: JsonObject) -> Kind:
    """Return the kind of a part of an answer, or of what a candidate says of its grounding."""
    match part:
        case _ if object_in(part, "functionCall") is not None:
            return "call"
        case _ if any(object_in(part, name) is not None for name in _SERVER_CALLS):
            return "server_call"
        case _ if any(object_in(part, name) is not None for name in _SERVER_RESULTS):
            return "server_result"
        case {"groundingMetadata": {**told}} if part.keys() == {_GROUNDING}:
            return "server_call" if told.keys() <= {*QUERIES} else "server_result"
        case {"urlContextMetadata": {**told}} if part.keys() == {_FETCHED}:
            return "server_result" if told else "server_call"
        case {"text": str()}:
            return "reasoning" if part.get("thought") is True else "message"
        case _ if any(object_in(part, name) is not None for name in _MEDIA):
            return "reasoning" if part.get("thought") is True else "message"
        case _:
            return "opaque"


def type_of(part: JsonObject) -> str:
    """Return by what a part is named that is of no known kind: its first member that says so."""
    telling = (
        name for name in part if not any(name in (beside, snake(beside)) for beside in _BESIDE)
    )
    return next(telling, next(iter(part), ""))


def is_text(part: JsonObject) -> bool:
    """Whether a part is a text and nothing else, such as the next chunk may go on with."""
    return isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}


def goes_on(part: JsonObject, before: JsonObject) -> bool:
    """Whether a part that begins a chunk goes on with the last one of the chunk before it."""
    if part.keys() != before.keys() or part.get("thought") != before.get("thought"):
        return False
    return is_text(part) and isinstance(before["text"], str)


def grounding_blocks(candidate: JsonObject) -> list[JsonObject]:
    """Return what a candidate says of its grounding as blocks: what was asked, what that gave.

    Of searches that gave nothing there is no more to say than what was asked.
    """
    blocks: list[JsonObject] = []
    grounding, fetched = candidate.get(_GROUNDING), candidate.get(_FETCHED)
    if isinstance(grounding, dict) and grounding:
        metadata = cast("JsonObject", grounding)
        queries_made: JsonObject = {
            name: queries for name, queries in metadata.items() if name in QUERIES
        }
        if not queries_made and grounded_by(metadata) == "file_search":
            # Files were searched, though it does not say for what.
            queries_made = {"retrievalQueries": []}
        blocks += [
            {_GROUNDING: queries_made},
            *([] if queries_made == metadata else [{_GROUNDING: metadata}]),
        ]
    if isinstance(fetched, dict) and fetched:
        blocks += [{_FETCHED: {}}, {_FETCHED: fetched}]
    return blocks


def told_beside(candidate: JsonObject) -> JsonObject:
    """Return a candidate without its content, and without what `grounding_blocks` makes of it."""
    apart = {
        name
        for name in (_GROUNDING, _FETCHED)
        if isinstance(candidate.get(name), dict) and candidate[name]
    }
    return {name: value for name, value in candidate.items() if name not in {"content", *apart}}


# Which event records a block of Gemini's.


def event_of(block: BlockContext) -> Event:
    """Return the event of a block; a call without a name is opaque, and a result of no call."""
    match kind := kind_of(block.value):
        case "reasoning":
            return block.reasoning()
        case "message":
            return block.message()
        case "call":
            call = object_in(block.value, "functionCall") or {}
            call_id, name = block.call or text_in(call, "id"), text_in(call, "name")
            if call_id is not None and name is not None:
                return block.tool_call(call_id, name)
        case "server_call":
            server_call = called(block.value)
            call_id = (server_call.id if server_call else "") or block.call
            if server_call is not None and call_id is not None:
                return block.server_tool_call(call_id, server_call.name)
        case "server_result":
            result = gave(block.value)
            call_id = (result.call_id if result else "") or block.call
            if call_id is not None:
                return block.server_tool_result(call_id)
        case "opaque":
            pass
        case _:
            assert_never(kind)
    return block.opaque(type_of(block.value))
