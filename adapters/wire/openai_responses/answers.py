"""The envelope of a response of OpenAI's Responses API, and what it says of how that ended.

An item may be told three times, by the events `response.output_item.added` and
`response.output_item.done` and by the final response, and not the same: encrypted content differs
each time, and servers change ids. The done one is the block. What the others say otherwise is kept
in the envelope under `VARIANTS`, by output index: {"0": {"added": {...}, "final": {...}}}, only
members that differ. So is what a response said of itself before its end, and took back: under
"response".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import (
    Anomaly,
    Answer,
    Interruption,
    body_reader,
    named,
    whole_blocks,
)
from onrecord.adapters.wire.blocks import AnswerBlock
from onrecord.adapters.wire.openai_responses.kinds import is_call, ran_by_provider
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.members import members_of, token_count

API: Final = "openai-responses"
"""The name of this wire format, in events and requests."""

VARIANTS: Final = "onrecord:variants"
"""The envelope's member for what an item is also told as."""

COMPACTION: Final = "response.compaction"
"""The kind of object that /responses/compact answers with; it has no status."""


def envelope_of(response: JsonObject) -> JsonObject:
    """Return a response without its output."""
    return {key: value for key, value in response.items() if key != "output"}


def ended(status: object, envelope: JsonObject) -> tuple[Interruption | None, str | None]:
    """Return what a status says of how a response ended, and a detail of it.

    A response that was cancelled was abandoned by the caller, for nobody else can do that.
    """
    match status:
        case "failed":
            return "error", error_code(envelope.get("error"))
        case "cancelled":
            return "abandoned", "cancelled"
        case "queued" | "in_progress":
            return "deferred", None
        case _:
            return None, None


def is_known_end(status: object, envelope: JsonObject) -> bool:
    """Whether a status is one that a response ends with; an answer of a compaction has none."""
    if status is None:
        return envelope.get("object") == COMPACTION
    return status in ("completed", "incomplete", "failed", "cancelled", "queued", "in_progress")


def error_code(error: Any) -> str | None:
    """Return the code or type of an error, which names no content."""
    known = members_of(error)
    codes = (known.get("code"), known.get("type"))
    return next((named(code) for code in codes if isinstance(code, str)), None)


def variants(
    items: Mapping[int, JsonObject],
    begun: Mapping[int, JsonObject],
    final: Mapping[int, JsonObject],
) -> JsonObject:
    """Return what other tellings of whole items say otherwise, as it stands in the envelope."""
    differences: JsonObject = {}
    for index in sorted(items):
        differing = {
            "added": taken_back(begun.get(index), items[index]),
            "final": _otherwise(final.get(index), items[index]),
        }
        variant = {name: members for name, members in differing.items() if members}
        if variant:
            differences[str(index)] = variant
    return differences


def taken_back(earlier: JsonObject | None, later: JsonObject) -> JsonObject:
    """Return what an earlier telling says that a later one does not.

    What is empty at first is yet to be filled, and a status changes: neither is taken back.
    """
    differing = _otherwise(earlier, later)
    return {
        key: value
        for key, value in differing.items()
        if key != "status" and not _is_filled(value, later.get(key))
    }


def closed(answer: Answer) -> Answer:
    """Return an answer with what its items and its envelope say of it.

    A call that did not become whole is none: a response that is incomplete says so of its items.
    """
    tools: object = answer.envelope.get("tools")
    ran = ran_by_provider((block.value for block in answer.blocks), tools)
    broken = [block for block in answer.blocks if _is_broken_call(block.value, ran)]
    whole = tuple(block for block in answer.blocks if not _is_broken_call(block.value, ran))
    usage = members_of(answer.envelope.get("usage"))
    return replace(
        answer,
        blocks=whole,
        unfinished=_in_order([*answer.unfinished, *map(_unfinished, broken)]),
        stop_reason=_stop_reason(answer.envelope),
        input_tokens=token_count(usage.get("input_tokens")),
        output_tokens=token_count(usage.get("output_tokens")),
        awaits_results=answer.is_complete and any(is_call(block.value, ran) for block in whole),
        ran=ran,
    )


def gaps(indexes: Iterable[int]) -> list[Anomaly]:
    """Return what is to be said of output indexes below the last at which no item is."""
    known = set(indexes)
    missing = max(known, default=-1) + 1 - len(known)
    if not missing:
        return []
    first = next(index for index in range(len(known) + 1) if index not in known)
    return [Anomaly(f"no item at {missing} of the indexes, {first} the first of them")]


def _stop_reason(envelope: JsonObject) -> str | None:
    reasons = (members_of(envelope.get("incomplete_details")).get("reason"), envelope.get("status"))
    return next((reason for reason in reasons if isinstance(reason, str)), None)


def _otherwise(other: JsonObject | None, item: JsonObject) -> JsonObject:
    """Return the members of another telling of an item that are not the item's own."""
    if other is None or other == item:
        return {}
    return {key: value for key, value in other.items() if key not in item or item[key] != value}


def _is_filled(value: Any, later: Any) -> bool:
    """Whether a later value says all that an earlier one did, with what was empty there."""
    match value, later:
        case dict(), dict():
            members, filled = cast("JsonObject", value), cast("JsonObject", later)
            return all(_is_filled(inner, filled.get(name)) for name, inner in members.items())
        case list(), list():
            items, others = cast("list[Any]", value), cast("list[Any]", later)
            return len(items) <= len(others) and all(map(_is_filled, items, others))
        case _:
            return not value or bool(value == later)


def _is_broken_call(item: JsonObject, ran: frozenset[str]) -> bool:
    return item.get("status") == "incomplete" and is_call(item, ran)


def _unfinished(block: AnswerBlock) -> Unfinished:
    return Unfinished(index=block.index, value=block.value, partial="")


def _in_order(unfinished: Iterable[Unfinished]) -> tuple[Unfinished, ...]:
    return tuple(sorted(unfinished, key=lambda block: block.index))


# The answers of OpenAI's Responses API, read from the bytes of a JSON body.
#
# So are the answers to /responses/compact, and what is read of a response that went on in the
# background.


def _answer_of(response: JsonObject) -> Answer:
    output, error, envelope = response.get("output"), response.get("error"), envelope_of(response)
    if isinstance(output, list):
        return _response(response, cast("list[Any]", output))
    if error is not None:
        code = error_code(error)
        return Answer(API, envelope=envelope, interruption="error", error=error, detail=code)
    why = "a response without a list of output"
    return Answer(API, envelope=envelope, interruption="malformed", detail=why)


def _response(response: JsonObject, output: list[Any]) -> Answer:
    blocks, broken = whole_blocks(output)
    status, envelope = response.get("status"), envelope_of(response)
    interruption, detail = ended(status, envelope)
    if broken:
        interruption, detail = "malformed", f"{broken} of the output is no item"
    is_odd = not is_known_end(status, envelope)
    answer = Answer(
        api=API,
        blocks=blocks,
        envelope=envelope,
        interruption=interruption,
        detail=detail,
        error=envelope.get("error") if interruption == "error" else None,
        anomalies=(Anomaly("a response of no known status"),) if is_odd else (),
    )
    return closed(answer)


read_body: Final = body_reader(API, _answer_of)
