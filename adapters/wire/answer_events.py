"""An answer as the events that record it, whatever its API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any, Final, cast, overload
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.wire.answer import Anomaly, Answer, Conclusion, Recording
from onrecord.adapters.wire.blocks import recorded
from onrecord.adapters.wire.raw_bytes import Content, reference_to
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain.content import Blob
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted, Unfinished


@overload
def events_of(
    answer: Answer,
    *,
    response: UUID,
    request: UUID | None = None,
    request_id: str | None = None,
    line: UUID | None = None,
    raw: bytes | None = None,
) -> Recording: ...


@overload
def events_of(
    answer: Answer,
    *,
    response: UUID,
    request: UUID | None = None,
    request_id: str | None = None,
    line: UUID | None = None,
    raw: Content | None,
) -> Conclusion: ...


def events_of(
    answer: Answer,
    *,
    response: UUID,
    request: UUID | None = None,
    request_id: str | None = None,
    line: UUID | None = None,
    raw: Content | None = None,
) -> Conclusion:
    """Return the events of an answer, each block's first, the closing one last.

    `raw` is what to keep of the wire: give it where `answer.needs_raw`. Results are awaited only
    of an answer that awaits them. Each alternative follows, on a line of its own: history holds one
    of them, and which one only a later request can tell.
    """
    event_of = WIRES[answer.api].event_of
    events, blobs = recorded(
        answer.blocks,
        event_of,
        answer.api,
        response,
        line,
        awaited=answer.awaits_results,
        ran=answer.ran,
    )
    spilled: dict[str, Content] = {**blobs}
    kept_bytes = None
    if raw is not None:
        kept_bytes = reference_to(raw)
        spilled[kept_bytes.sha256] = raw
    every = (*events, _closing(answer, response, request, request_id, line, kept_bytes))
    for alternative in answer.alternatives:
        others, more = events_of(alternative, response=uuid7(), request=request, line=uuid7())
        every = (*every, *others)
        spilled.update(more)
    return every, spilled


def _closing(
    answer: Answer,
    response: UUID,
    request: UUID | None,
    request_id: str | None,
    line: UUID | None,
    raw: Blob | None,
) -> ResponseCompleted | ResponseInterrupted:
    known: dict[str, Any] = {
        "response": response,
        "request": request,
        "api": answer.api,
        "provider_id": answer.provider_id or answer.text("id"),
        "model": answer.model or answer.text("model"),
        "envelope": answer.envelope,
        "unfinished": answer.unfinished,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "request_id": request_id,
        "raw": raw,
        "line": line,
    }
    if answer.interruption is None:
        return ResponseCompleted(stop_reason=answer.stop_reason, **known)
    return ResponseInterrupted(
        reason=answer.interruption, detail=answer.detail, error=answer.error, **known
    )


# Blocks that broke off, kept as far as an event may hold them.
#
# An event is read with every window. The rest of what broke off is in the bytes that are kept
# then.

_LONGEST: Final = 1024 * 1024
"""How many characters of a text that broke off an event holds, and how many items of a list."""

_IN_ALL: Final = 4 * _LONGEST
"""How many characters it holds of all the blocks that broke off."""

_ITEM: Final = 8
"""What each value counts for beside its characters."""


def shortened(answer: Answer) -> Answer:
    """Return an answer whose unfinished blocks are short enough, and that needs its bytes if not all was."""
    short, longest = _shortened(answer.unfinished, _LONGEST), _LONGEST
    while _is_long(short):
        # The longest parts alone grow shorter: names and kinds stay as they are.
        longest //= 2
        short = _shortened(short, longest)
    if short == answer.unfinished:
        return answer
    odd = Anomaly(f"a block that broke off after more than {longest} characters")
    return replace(answer, unfinished=short, anomalies=(*answer.anomalies, odd))


def _shortened(blocks: Sequence[Unfinished], longest: int) -> tuple[Unfinished, ...]:
    return tuple(
        block.model_copy(
            update={"value": _short(block.value, longest), "partial": block.partial[:longest]}
        )
        for block in islice(blocks, longest)
    )


def _short(value: Any, longest: int) -> Any:
    match value:
        case str():
            return value[:longest]
        case dict():
            members = islice(cast("dict[str, Any]", value).items(), longest)
            return {name: _short(inner, longest) for name, inner in members}
        case list():
            return [_short(inner, longest) for inner in islice(cast("list[Any]", value), longest)]
        case _:
            return value


def _is_long(blocks: Sequence[Unfinished]) -> bool:
    """Whether blocks are too long together; counts no further than that."""
    sizes = (size for block in blocks for size in _sizes([block.partial, block.value]))
    return any(size > _IN_ALL for size in accumulate(sizes))


def _sizes(value: Any) -> Iterator[int]:
    yield _ITEM
    match value:
        case str():
            yield len(value)
        case dict():
            for name, inner in cast("dict[str, Any]", value).items():
                yield len(name)
                yield from _sizes(inner)
        case list():
            for inner in cast("list[Any]", value):
                yield from _sizes(inner)
        case _:
            pass


# How a response ended, by the events that record it.

_GOES_ON: Final = ("queued", "in_progress")


def closing_of(recording: Conclusion) -> ResponseCompleted | ResponseInterrupted | None:
    """Return the event that closes a response; None where there was none, but a failure."""
    events, _ = recording
    last = events[-1] if events else None
    return last if isinstance(last, ResponseCompleted | ResponseInterrupted) else None


def is_oversized(recording: Conclusion) -> bool:
    """Whether an answer was too long to be read."""
    closing = closing_of(recording)
    return isinstance(closing, ResponseInterrupted) and closing.reason == "oversized"


def is_still_made(closing: ResponseCompleted | ResponseInterrupted) -> bool:
    """Whether the provider was still at a response when its recording ended."""
    return isinstance(closing, ResponseInterrupted) and closing.envelope.get("status") in _GOES_ON
