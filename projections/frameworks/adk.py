"""Events of Google's ADK: contents of Gemini's API as pydantic spells them, and what ADK adds to them.

What counts is what ADK sends for the agent at the root: a rewind takes invocations back, and the summary of
a compaction stands for the events of its time. Each agent is the assistant, also where ADK would quote
one agent to another.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import HeldItem
from onrecord.projections.frameworks.framework import (
    Framework,
    ItemUsage,
    StreamItems,
    token_counts,
)
from onrecord.projections.frameworks.item_messages import (
    ItemContents,
    ItemMessage,
    Reading,
    Unread,
)
from onrecord.projections.members import member, members_of, nonempty_text, standard_base64, text

API: Final = "gemini"

_CALL: Final = "functionCall"
_RESPONSE: Final = "functionResponse"
_ACTS: Final = (_CALL, _RESPONSE, "toolCall", "toolResponse")
_SAYS: Final = ("text", "inlineData", "fileData", "executableCode", "codeExecutionResult")
_SIGNATURE: Final = "thoughtSignature"

_OF_ADK: Final = ("adk_framework", "adk_request_confirmation", "adk_request_credential")
"""Functions that ADK calls in a model's name, for a person to answer."""

_FREE: Final = ("args", "response", "part_metadata")
"""Members whose value is the program's own: the names in it are no names of the API."""

_BYTES: Final = ("data", "thought_signature")
_LETTER: Final = re.compile("_([a-z])")


def read_items(stream: StreamItems) -> Reading:
    """Return the contents of the events that count.

    A tool that takes long answers twice: its last answer stands in the place of the first.
    """
    events: list[HeldItem] = []
    unread: list[Unread] = []
    for event in _without_rewound(stream.items):
        if why := _why_unread(event.item):
            unread.append(Unread(event.version, why))
        else:
            events.append(event)
    return Reading(API, tuple(_with_last_answers(_as_compacted(events))), tuple(unread))


def read_item(item: JsonObject) -> ItemContents | None:
    """Return what one event holds, whichever agent said it."""
    content = _content(item)
    if content is None or _is_of_adk(content):
        return None
    parts: tuple[JsonObject, ...] = tuple(content["parts"])
    if all(_RESPONSE in part for part in parts):
        return ItemContents(API, "tool", parts)
    return ItemContents(API, "user" if content["role"] == "user" else "assistant", parts)


def _why_unread(event: JsonObject) -> str | None:
    content = _content(event)
    if content is None:
        return "an event that says nothing to a model"
    if event.get("branch"):
        return "an event of a branch: its agent worked beside others"
    if event.get("isolation_scope"):
        return "an event of a task that was given to another agent"
    if _is_of_adk(content):
        return "a call that ADK makes for a person to answer"
    return None


def _is_of_adk(content: JsonObject) -> bool:
    return any(
        member(part.get(kind), "name") in _OF_ADK
        for part in content["parts"]
        for kind in (_CALL, _RESPONSE)
    )


# What an event says, in the API's own JSON.


def _content(event: JsonObject) -> JsonObject | None:
    """Return the content of an event, or of the summary that it brings; None where it says nothing."""
    match event:
        case {"actions": {"compaction": {"compacted_content": {"parts": [*parts]}}}}:
            return _seen("model", parts)
        case {"content": {"parts": [*parts], "role": "user" | "model" as role}}:
            return _seen(role, parts)
        case {"content": {"parts": [*parts]}}:
            return _seen("user" if event.get("author") == "user" else "model", parts)
        case {"input_transcription": {"text": str(text)}}:
            return _seen("user", [{"text": text}])
        case {"output_transcription": {"text": str(text)}}:
            return _seen("model", [{"text": text}])
        case _:
            return None


def _seen(role: str, parts: Sequence[object]) -> JsonObject | None:
    """Return a content with those parts that hold something; None where a model is to see none of them."""
    members = map(_spelled, map(members_of, parts))
    full = [part for part in members if _holds_any(part, (*_ACTS, *_SAYS, _SIGNATURE))]
    return {"role": role, "parts": full} if any(map(_is_seen, full)) else None


def _is_seen(part: JsonObject) -> bool:
    return part.get("thought") is not True or _holds_any(part, (*_ACTS, _SIGNATURE))


def _holds_any(part: JsonObject, names: Sequence[str]) -> bool:
    return any(part.get(name) for name in names)


def _spelled(value: Any, name: str = "") -> Any:
    """Return a value as the service spells it: names in camel case, bytes in standard base64."""
    match value:
        case dict():
            members = cast("JsonObject", value)
            return {
                _camel(key): each if key in _FREE else _spelled(each, key)
                for key, each in members.items()
            }
        case list():
            return [_spelled(each) for each in cast("list[Any]", value)]
        case str() if name in _BYTES:
            return standard_base64(value)
        case _:
            return value


def _camel(name: str) -> str:
    return _LETTER.sub(lambda letter: letter[1].upper(), name)


def _ids(event: JsonObject, kind: str) -> Iterator[str]:
    """Yield the ids of the calls, or of the responses, of an event."""
    for part in (_content(event) or {"parts": []})["parts"]:
        if (found := _id(part, kind)) is not None:
            yield found


def _id(part: JsonObject, kind: str) -> str | None:
    return nonempty_text(member(part.get(kind), "id"))


# Which events count.


def _without_rewound(items: Sequence[HeldItem]) -> list[HeldItem]:
    """Return the events but those of invocations that were rewound, and the rewinds themselves."""
    begun: dict[object, int] = {}
    for place, event in enumerate(items):
        invocation = event.item.get("invocation_id")
        if isinstance(invocation, str):
            begun.setdefault(invocation, place)
    kept: list[HeldItem] = []
    place = len(items) - 1
    while place >= 0:
        match items[place].item:
            case {"actions": {"rewind_before_invocation_id": str(invocation)}}:
                place = min(place, begun.get(invocation, place))
            case _:
                kept.append(items[place])
        place -= 1
    return kept[::-1]


class _Summary(NamedTuple):
    """An event that stands for those from one time to another."""

    start: float
    end: float
    event: HeldItem


def _as_compacted(events: list[HeldItem]) -> list[HeldItem]:
    """Return the events with summaries in the place of those that they stand for."""
    summaries = _outermost(events)
    if not summaries:
        return events
    starts = [each.start for each in summaries]

    def is_covered(event: HeldItem) -> bool:
        at = _time(event)
        place = bisect_right(starts, at) - 1
        return place >= 0 and at <= summaries[place].end

    own = [event for event in events if _summary(event) is None]
    placed = [(_time(event), event.version, event) for event in own if not is_covered(event)]
    placed += [(each.end, each.event.version, each.event) for each in summaries]
    kept = [event for _, _, event in sorted(placed, key=lambda each: each[:2])]
    return _with_calls(kept, [event for event in own if is_covered(event)])


def _outermost(events: Sequence[HeldItem]) -> list[_Summary]:
    """Return the summaries that no other one contains, by their start; so their ends are in order, too."""
    found = [each for each in map(_summary, events) if each is not None]
    found.sort(key=lambda each: (each.start, -each.end, -each.event.version))
    outermost: list[_Summary] = []
    for each in found:
        if not outermost or each.end > outermost[-1].end:
            outermost.append(each)
    return outermost


def _summary(event: HeldItem) -> _Summary | None:
    match event.item:
        case {
            "actions": {
                "compaction": {
                    "start_timestamp": int() | float() as start,
                    "end_timestamp": int() | float() as end,
                }
            }
        } if start <= end:
            return _Summary(start, end, event)
        case _:
            return None


def _time(event: HeldItem) -> float:
    at = event.item.get("timestamp")
    return at if isinstance(at, int | float) else 0.0


def _with_calls(kept: Sequence[HeldItem], covered: Sequence[HeldItem]) -> list[HeldItem]:
    """Return the events with the calls that a summary covers, where their answers came behind it."""
    calls = {each: event for event in covered for each in _ids(event.item, _CALL)}
    answers = {each: event for event in covered for each in _ids(event.item, _RESPONSE)}
    present = {each for event in kept for each in _ids(event.item, _CALL)}
    answered = {each for event in kept for each in _ids(event.item, _RESPONSE)}
    whole: list[HeldItem] = []
    for event in kept:
        for call_id in _ids(event.item, _RESPONSE):
            if call_id in calls and call_id not in present:
                asked = set(_ids(calls[call_id].item, _CALL))
                present |= asked
                beside = {
                    answers[each].version: answers[each]
                    for each in asked - answered
                    if each in answers
                }
                whole += [calls[call_id], *(beside[version] for version in sorted(beside))]
        whole.append(event)
    return whole


# What the events become.


def _with_last_answers(events: Sequence[HeldItem]) -> Iterator[ItemMessage]:
    """Yield the contents, each call with one answer."""
    last = _last_answers(events)
    for number, event in enumerate(events):
        content = _content(event.item) or {}
        parts = [
            last.get((number, place), (event.version, part))
            for place, part in enumerate(content["parts"])
        ]
        full = [each for each in parts if each[1]]
        if full:
            versions = tuple(version for version, _ in full)
            yield ItemMessage(versions, {**content, "parts": [part for _, part in full]})


def _last_answers(
    events: Sequence[HeldItem],
) -> Mapping[tuple[int, int], tuple[int, JsonObject]]:
    """Return each last answer by the place of the first one to its call, and nothing by those of later ones.

    A place is the number of an event, and of a part of it.
    """
    first: dict[str, tuple[int, int]] = {}
    last: dict[tuple[int, int], tuple[int, JsonObject]] = {}
    for number, event in enumerate(events):
        for place, part in enumerate((_content(event.item) or {"parts": []})["parts"]):
            if (called := _id(part, _CALL)) is not None:
                first.pop(called, None)
            if (answered := _id(part, _RESPONSE)) is None:
                continue
            if answered in first:
                last[first[answered]] = event.version, part
                last[number, place] = event.version, {}
            else:
                first[answered] = number, place
    return last


def _usages(event: JsonObject) -> Iterator[ItemUsage]:
    counts = token_counts(event.get("usage_metadata", event.get("usageMetadata")))
    thought = counts("thoughts_token_count", "thoughtsTokenCount")
    yield ItemUsage(
        answer=None,
        model=text(event.get("model_version", event.get("modelVersion"))),
        input_tokens=counts("prompt_token_count", "promptTokenCount")
        + counts("tool_use_prompt_token_count", "toolUsePromptTokenCount"),
        output_tokens=counts("candidates_token_count", "candidatesTokenCount") + thought,
        cached_tokens=counts("cached_content_token_count", "cachedContentTokenCount"),
        reasoning_tokens=thought,
    )


ADK: Final = Framework(
    name="google-adk",
    read_items=read_items,
    read_item=read_item,
    read_usages=_usages,
)
