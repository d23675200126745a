"""The choices of a completion as an answer: the first one, and its alternatives.

`n` choices are samples of the same request; only one of them can be history (platform.openai.com,
"Create chat completion").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from onrecord.adapters.capture.answer import Answer, Block, token_count
from onrecord.adapters.capture.failures import error_kind
from onrecord.adapters.capture.openai_chat_blocks import blocks_of, called, is_call
from onrecord.adapters.capture.openai_chat_calls import is_whole
from onrecord.adapters.capture.openai_chat_merging import says
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject

API: Final = "openai-chat"
"""The name of this wire format, in events and requests."""

_AMID_A_CALL: Final = ("length", "content_filter")
"""Reasons to stop that may come at any moment, amid a call too; results are refused then."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice: its message, its other members, and whether all of it came."""

    message: JsonObject
    members: JsonObject
    came_whole: bool = True

    @property
    def stop(self) -> str | None:
        """Why it stopped; None where it did not say."""
        reason = self.members.get("finish_reason")
        return reason if isinstance(reason, str) and reason else None


def completed(answer: Answer, choices: Sequence[Choice]) -> Answer:
    """Return an answer with what its choices say; the first is the answer, unless it has none."""
    read = [_read(choice, answer) for choice in choices]
    first, *others = read or [answer]
    taken, given = _tokens(answer.envelope)
    return replace(
        first,
        envelope=answer.envelope,
        anomalies=answer.anomalies,
        interruption=answer.interruption or first.interruption,
        detail=answer.detail if answer.interruption else first.detail,
        error=first.error if answer.error is None else answer.error,
        awaits_results=first.awaits_results and answer.is_complete,
        input_tokens=taken,
        output_tokens=given,
        alternatives=tuple(others),
    )


def _read(choice: Choice, answer: Answer) -> Answer:
    """Return what a choice says, and how it ended; one that was not whole, as the answer did."""
    parts = [Block(index, value) for index, value in enumerate(blocks_of(choice.message))]
    whole = tuple(part for part in parts if _is_whole(part, choice, last=part is parts[-1]))
    read = Answer(
        api=API,
        blocks=whole,
        stop_reason=choice.stop,
        unfinished=tuple(
            Unfinished(index=part.index, value=part.value, partial="")
            for part in parts
            if part not in whole
        ),
    )
    if not choice.came_whole:
        return replace(read, interruption=answer.interruption, detail=answer.detail)
    return _ended(read, choice.members.get("error"))


def _ended(read: Answer, error: Any) -> Answer:
    """Return a whole choice with what its end means: an error, a call that is none, or calls."""
    stop = read.stop_reason
    if says(error) or stop == "error":
        return replace(read, interruption="error", error=error, detail=error_kind(error))
    if stop in _AMID_A_CALL:
        return read
    if read.unfinished:
        why = "ended with a call that is not whole"
        return replace(read, interruption="malformed", detail=why)
    return replace(read, awaits_results=any(called(block.value) for block in read.blocks))


def _is_whole(part: Block, choice: Choice, *, last: bool) -> bool:
    """Whether a block came whole: nobody says where a call ends but the reason to stop."""
    if not choice.came_whole:
        return False
    stopped_there = choice.stop is None or choice.stop in _AMID_A_CALL
    if not (stopped_there and is_call(part.value)):
        return True
    match part.value:
        case {"function": function} | {"function_call": function}:
            return is_whole(_object(function).get("arguments", ""))
        case {"custom": _}:
            return not last
        case _:
            return True


def _tokens(envelope: JsonObject) -> tuple[int | None, int | None]:
    """Return the tokens that the model read and wrote; Groq's streams have them apart."""
    for usage in (envelope.get("usage"), _object(envelope.get("x_groq")).get("usage")):
        if isinstance(usage, dict):
            counted = cast("JsonObject", usage)
            read, written = counted.get("prompt_tokens"), counted.get("completion_tokens")
            return token_count(read), token_count(written)
    return None, None


def _object(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}
