"""History surgery: an answer asked for again, a prompt said otherwise, a summary for a beginning.

Nothing that was recorded changes: an event says what the history is from here on. What is decided
holds for where the conversation stands; where that has moved meanwhile it is decided again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from onrecord.adapters.conversation.tails import tail_of
from onrecord.adapters.inputs.document_inputs import UnstoredPart, stored_prompt
from onrecord.adapters.streams.lineage import LineSegment, parted
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain import conversation
from onrecord.domain.content import Document, Native, Text
from onrecord.domain.errors import (
    IdempotencyMismatch,
    InvalidContent,
    NothingToSend,
    VersionConflict,
)
from onrecord.domain.events import Event, MessageRecorded
from onrecord.domain.head import Head
from onrecord.domain.log import Duplicate

Decide: TypeAlias = Callable[[Stream, Head], tuple[Event, ...]]
"""Decides, from where a conversation stands, what to record."""

_TRIES: Final = 32


class Settled(NamedTuple):
    """What the log did, and the events that it did it to: none where nothing was left to record."""

    done: Done
    events: tuple[Event, ...]


def settle(stream: Stream, decide: Callable[[Head], tuple[Event, ...]]) -> Settled:
    """Record what is decided from where a conversation stands; decide again where it moved on."""
    for tries_left in reversed(range(_TRIES)):
        head = stream.head()
        events = decide(head)
        if not events:
            return Settled(Duplicate(head.version, head.version), ())
        try:
            return Settled(stream.append(*events, expected_version=head.version), events)
        except (VersionConflict, IdempotencyMismatch):
            if not tries_left:
                raise
    raise AssertionError("the last try returns or raises")


def retell(stream: Stream, decide: Decide, expected_version: int | None) -> Done:
    """Record what is decided, if the conversation stands still where it was decided for.

    VersionConflict if it does not stand at the version that is expected, or moves each time.
    """

    def decided(head: Head) -> tuple[Event, ...]:
        if head.version == 0:
            raise NothingToSend("nothing was said in this conversation yet: say something first")
        if expected_version is not None and expected_version != head.version:
            raise VersionConflict(expected_version, head.version)
        return decide(stream, head)

    return settle(stream, decided).done


def edit(
    stream: Stream,
    version: int,
    parts: Sequence[UnstoredPart],
    expected_version: int | None,
) -> Done:
    """Store documents, and record a prompt with them in the place of another one, as `retell` does."""
    content = stored_prompt(parts, stream)
    return retell(stream, partial(edited, version=version, content=content), expected_version)


def retracted(stream: Stream, head: Head) -> tuple[Event, ...]:
    """Return what gives up the last answer: all behind what was said, or what tools gave, before."""
    segments = stream.lineage(head.version, head)
    tail = tail_of(stream.backend, segments)
    unanswered = tail.unanswered or (None if tail.answer else tail.prompt)
    if unanswered is not None:
        raise InvalidContent(
            f"version {unanswered.version} is not answered yet: there is no answer to give up"
        )
    if tail.answer is None:
        raise InvalidContent("nothing was said yet: there is no answer to give up")
    if tail.answer.conversation_id != stream.conversation_id:
        raise InvalidContent(
            "the last answer was given before this conversation was forked: fork "
            f"{tail.answer.conversation_id} at version {tail.answer.version - 1} instead"
        )
    return _back_before(stream, segments, tail.answer.version, head)


def edited(
    stream: Stream, head: Head, version: int, content: Iterable[Text | Document | Native]
) -> tuple[Event, ...]:
    """Return what puts another prompt in the place of the one at a version."""
    segments = stream.lineage(head.version, head)
    _must_be_prompt(stream, segments, version, head)
    back = _back_before(stream, segments, version, head)
    return (*back, *conversation.say(head, content))


def compacted(stream: Stream, head: Head, summary: str, until: int | None) -> tuple[Event, ...]:
    """Return what lets a summary stand for all up to a version; None: all exchanges that are over."""
    segments = stream.lineage(head.version, head)
    if until is None:
        until = _over(stream, segments, head)
    else:
        conversation.must_exist(head, until)
        _must_be_between_rounds(stream, segments, until)
    return conversation.compact(head, summary, until)


def _back_before(
    stream: Stream, segments: Sequence[LineSegment], version: int, head: Head
) -> tuple[Event, ...]:
    """Return what lets the main branch go on from what stands before a version of it."""
    own = [segment for segment in segments if segment.conversation_id == stream.conversation_id]
    segment = next(segment for segment in reversed(own) if segment.after < version - 1)
    after = min(version - 1, segment.until)
    return conversation.go_back(head, after, None if segment.line is None else head.version)


def _must_be_prompt(
    stream: Stream, segments: Sequence[LineSegment], version: int, head: Head
) -> None:
    conversation.must_exist(head, version)
    segment = _segment_of(stream, segments, version)
    for recorded in stream.backend.read(stream.conversation_id, after=version - 1, until=version):
        event = recorded.event()
        if not isinstance(event, MessageRecorded) or event.role != "user":
            whose = f" of the {event.role}" if isinstance(event, MessageRecorded) else ""
            raise InvalidContent(f"version {version} is no prompt, but {recorded.type}{whose}")
        if segment is None or event.line != segment.line:
            raise InvalidContent(
                f"version {version} is not on the main branch: `onrecord show KEY --lines` says why"
            )


def _segment_of(
    stream: Stream, segments: Sequence[LineSegment], version: int
) -> LineSegment | None:
    own = (segment for segment in segments if segment.conversation_id == stream.conversation_id)
    return next((segment for segment in own if segment.has(version)), None)


def _over(stream: Stream, segments: tuple[LineSegment, ...], head: Head) -> int:
    """Return the version up to which all exchanges are over: answered, and no call open."""
    until = head.version
    before = segments
    tail = tail_of(stream.backend, before)
    is_over = tail.is_over
    while not is_over:
        prompt = tail.prompt
        if prompt is None:
            raise InvalidContent("no exchange is over yet: there is nothing to sum up")
        if prompt.conversation_id != stream.conversation_id:
            raise InvalidContent(
                "the exchange that is open was begun before this conversation was forked: wait "
                "until it is answered"
            )
        until = prompt.version - 1
        before, _ = parted(segments, stream.conversation_id, until)
        tail = tail_of(stream.backend, before)
        # What came of an exchange that others followed is all that will come.
        is_over = tail.prompt is not None and not (tail.open_calls or tail.is_out)
    return until


def _must_be_between_rounds(stream: Stream, segments: tuple[LineSegment, ...], until: int) -> None:
    if _segment_of(stream, segments, until) is None:
        raise InvalidContent(
            f"version {until} is not on the main branch: `onrecord show KEY --lines` says why"
        )
    before, _ = parted(segments, stream.conversation_id, until)
    tail = tail_of(stream.backend, before)
    if tail.open_calls:
        raise InvalidContent(
            f"version {until} is amid a round of tool calls, of which {len(tail.open_calls)} have "
            "no result by then: name a version before the calls, or behind the results"
        )
    if tail.is_out:
        raise InvalidContent(
            f"version {until} is amid an answer: name a version before its request, or behind it"
        )
    if tail.prompt is None:
        raise InvalidContent(f"nothing was said up to version {until}: there is nothing to sum up")
