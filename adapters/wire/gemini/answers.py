"""The candidates of a response of Gemini's as an answer: the first one, and its alternatives.

What a reason to finish means: ai.google.dev, "Generating content", `FinishReason`. Candidates are
samples of the same request; only one of them can be history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.blocks import AnswerBlock
from onrecord.adapters.wire.gemini.calls import PartialCall, TurnIds, begins_in_pieces
from onrecord.adapters.wire.gemini.parts import (
    API,
    goes_on,
    grounding_blocks,
    is_text,
    kind_of,
    object_in,
    text_in,
    told_beside,
)
from onrecord.adapters.wire.stream_reader import in_whole_characters
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.members import (
    list_of,
    members_of,
    nonempty_text,
    objects,
    token_count,
)

_BROKEN: Final = frozenset(
    {
        *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
        *("MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE"),
    }
)
"""Reasons to finish that say that the turn is broken: results of its calls would be refused."""

_STOP: Final = "STOP"
_UNSAID: Final = "FINISH_REASON_UNSPECIFIED"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate: its parts, its other members, and whether its last part is amid a call."""

    parts: list[JsonObject]
    members: JsonObject
    is_amid_call: bool = False

    @property
    def stop(self) -> str | None:
        """Why it finished; None where it did not say."""
        return finish_reason(self.members)


def completed(answer: Answer, candidates: Sequence[Candidate]) -> Answer:
    """Return an answer with what its candidates say; the first is the answer.

    Without one it is a prompt that was blocked, and says why.
    """
    envelope = answer.envelope
    first, *others = [_read(candidate, answer) for candidate in candidates] or [answer]
    read, written = _tokens(members_of(envelope.get("usageMetadata")))
    return replace(
        answer,
        blocks=first.blocks,
        unfinished=first.unfinished,
        provider_id=nonempty_text(envelope.get("responseId")),
        model=nonempty_text(envelope.get("modelVersion")),
        stop_reason=first.stop_reason or block_reason(envelope),
        input_tokens=read,
        output_tokens=written,
        awaits_results=first.awaits_results,
        alternatives=tuple(others),
    )


def block_reason(envelope: JsonObject) -> str | None:
    """Return why a prompt was blocked; None where it was not."""
    return nonempty_text(members_of(envelope.get("promptFeedback")).get("blockReason"))


def finish_reason(candidate: JsonObject) -> str | None:
    """Return why a candidate finished; None where it did not say."""
    reason = nonempty_text(candidate.get("finishReason"))
    return None if reason == _UNSAID else reason


def envelopes_of(candidates: Iterable[Candidate]) -> list[JsonObject]:
    """Return what an envelope says of candidates."""
    return [told_beside(candidate.members) for candidate in candidates]


def _read(candidate: Candidate, answer: Answer) -> Answer:
    """Return what a candidate says; one that did not say why it finished ends as the answer did."""
    came_whole = answer.is_complete or candidate.stop is not None
    parts = _blocks(candidate)
    broken = _broken(candidate, came_whole=came_whole)
    whole = tuple(part for part in parts if part.index != broken)
    calls = any(kind_of(part.value) == "call" for part in whole)
    return Answer(
        api=API,
        blocks=whole,
        unfinished=tuple(
            Unfinished(index=part.index, value=part.value, partial="")
            for part in parts
            if part.index == broken
        ),
        stop_reason=candidate.stop,
        awaits_results=calls and answer.is_complete and candidate.stop not in _BROKEN,
        interruption=None if came_whole else answer.interruption,
        detail=None if came_whole else answer.detail,
    )


def _blocks(candidate: Candidate) -> list[AnswerBlock]:
    """Return the parts, and behind them what the candidate says of its grounding."""
    ids = TurnIds()
    values = [*candidate.parts, *grounding_blocks(candidate.members)]
    return [AnswerBlock(index, value, ids.of(value)) for index, value in enumerate(values)]


def _broken(candidate: Candidate, *, came_whole: bool) -> int | None:
    """Return the index of the part amid which a candidate ended, if there is one.

    Parts come whole, but for a text, and a call that comes piece by piece.
    """
    last = len(candidate.parts) - 1
    if candidate.is_amid_call and candidate.stop != _STOP:
        return last
    is_open = not came_whole and last >= 0 and is_text(candidate.parts[-1])
    return last if is_open else None


def _tokens(usage: JsonObject) -> tuple[int | None, int | None]:
    """Return the tokens that the model read, its tools' included, and those that it wrote."""
    return (
        _sum(usage, "promptTokenCount", "toolUsePromptTokenCount"),
        _sum(usage, "candidatesTokenCount", "thoughtsTokenCount"),
    )


def _sum(usage: JsonObject, *names: str) -> int | None:
    counts = [count for name in names if (count := token_count(usage.get(name))) is not None]
    return token_count(sum(counts)) if counts else None


# A content of Gemini's that grows while the chunks of a stream come.

_MEMBERS: Final = frozenset({"role", "parts"})


class GrowingContent:
    """The parts of one content, in order; a text goes on with the text that ended the last chunk.

    `odd` names what was not understood of it.
    """

    __slots__ = ("_call", "_parts", "_texts", "odd")

    def __init__(self) -> None:
        """Begin with no part."""
        self._parts: list[JsonObject | PartialCall] = []
        self._texts: list[str] = []
        self._call: PartialCall | None = None
        self.odd: set[str] = set()

    @property
    def is_amid_call(self) -> bool:
        """Whether it ended with a call of which more was to follow."""
        return self._call is not None

    def add(self, content: Any) -> None:
        """Take the content of a chunk in."""
        parts, odd = parts_of(content)
        if odd:
            self.odd |= odd
        for place, part in enumerate(parts):
            self._add(part, begins_chunk=place == 0)

    def value(self) -> list[JsonObject]:
        """Return the parts."""
        self._settle()
        return [part.value() if isinstance(part, PartialCall) else part for part in self._parts]

    def _add(self, part: JsonObject, *, begins_chunk: bool) -> None:
        if self._goes_on_call(part):
            return
        last = self._parts[-1] if self._parts else None
        if begins_chunk and isinstance(last, dict) and goes_on(part, last):
            self._texts.append(part["text"])
            return
        self._settle()
        if begins_in_pieces(part):
            call = PartialCall(part)
            self._parts.append(call)
            self._leave(call)
        else:
            self._parts.append(part)

    def _goes_on_call(self, part: JsonObject) -> bool:
        """Whether a part belongs to the call that is open, which takes it in."""
        call = self._call
        if call is None:
            return False
        more = object_in(part, "functionCall")
        if more is None or text_in(more, "name") is not None:
            self._call = None
            return False
        call.add(part)
        self._leave(call)
        return True

    def _leave(self, call: PartialCall) -> None:
        """Note what became of a call: more of it may follow."""
        if call.is_odd:
            self.odd.add("partialArgs")
        self._call = call if call.is_open else None

    def _settle(self) -> None:
        """Put the texts that have come since into the part that they go on with."""
        if self._texts and isinstance(last := self._parts[-1], dict):
            text = in_whole_characters("".join((last["text"], *self._texts)))
            self._parts[-1] = {**last, "text": text}
            self._texts = []


def parts_of(content: Any) -> tuple[list[JsonObject], set[str]]:
    """Return the parts of a content, and the names of what it has beside that says something."""
    if not isinstance(content, dict):
        return [], {"content"} if content is not None else set()
    members = cast("JsonObject", content)
    odd = members.keys() - _MEMBERS
    if members.get("role") not in (None, "model"):
        odd.add("role")
    parts = members.get("parts")
    listed = list_of(parts)
    known = objects(listed)
    if len(known) < len(listed) or not isinstance(parts, list | None):
        odd.add("parts")
    return known, odd
