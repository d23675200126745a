"""What a response said, whatever the API, and the events that record it.

An answer is what the reading of one response comes to: its blocks as they came, its envelope, and
how it ended. Nothing in it is a guess: a block that did not arrive whole is unfinished, and what was
not understood is an anomaly, with its own bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import Any, Final, Literal, Protocol, TypeAlias, cast
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.wire.blob_bytes import BlobBytes, reference_to
from onrecord.adapters.wire.blocks import AnswerBlock, EventOf, recorded
from onrecord.domain.content import Blob
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import (
    Event,
    ResponseCompleted,
    ResponseInterrupted,
    Unfinished,
)
from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject, read_bounded_object
from onrecord.projections.members import token_count

Loss = Literal["cut", "abandoned", "malformed"]
"""Why no more bytes come: the wire ended, the caller stopped reading, or bytes went bad."""

Interruption = Loss | Literal["error", "deferred", "oversized"]
"""Why a response did not end as its API says it must: see `ResponseInterrupted`."""


_LONGEST_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that the API's rules do not know: what it was, and the bytes that said so.

    `what` names kinds and places, never content: it may be logged.
    """

    what: str
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """One response, as far as it is known.

    `interruption` is None where the API's terminal event (or a whole body) came and all of it was
    understood, a block included that the response stopped amid and said why; else `detail` says
    more, and `error` holds what the provider said amid the stream.
    `envelope` is the body without what its blocks say; where it calls the response's id and model
    otherwise than `id` and `model`, `provider_id` and `model` name them. `awaits_results` says that the caller is to
    answer the calls in it. `alternatives` are further samples of the same request: blocks, how each
    ended, and nothing that all of them share. `ran` are the ids of calls that look like the
    caller's, but whose results the provider itself gave, or takes no more: they await none.
    """

    api: str
    blocks: tuple[AnswerBlock, ...] = ()
    envelope: JsonObject = field(default_factory=dict[str, Any])
    provider_id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    awaits_results: bool = False
    alternatives: tuple[Answer, ...] = ()
    ran: frozenset[str] = frozenset()
    unfinished: tuple[Unfinished, ...] = ()
    interruption: Interruption | None = None
    detail: str | None = None
    error: Any = None
    anomalies: tuple[Anomaly, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the response ended as its API says it must."""
        return self.interruption is None

    @property
    def needs_raw(self) -> bool:
        """Whether the bytes hold something that this answer does not say: keep them."""
        if self.interruption == "deferred":
            return bool(self.anomalies)
        return not self.is_complete or bool(self.anomalies)

    def text(self, member: str) -> str | None:
        """Return a member of the envelope that is a string, such as `id` or `model`."""
        value = self.envelope.get(member)
        return value if isinstance(value, str) else None


def named(kind: object) -> str:
    """Return a type from the wire as it may stand in a message: short, and none of the content."""
    if not isinstance(kind, str):
        return "none"
    return kind if len(kind) <= _LONGEST_NAME else f"{kind[:_LONGEST_NAME]}..."


def token_sum(usage: JsonObject, counted: str, *cached: str) -> int | None:
    """Return a count of tokens with those of the cache, which stand beside it.

    Where one can be no count (a fraction, less than none, more than `MOST_TOKENS`) none is known;
    the envelope has it as it came.
    """
    beside = (0 if usage.get(name) is None else usage[name] for name in cached)
    counts = [token_count(value) for value in (usage.get(counted), *beside)]
    known = [count for count in counts if count is not None]
    return min(sum(known), MOST_TOKENS) if len(known) == len(counts) else None


def text_or_none(value: object) -> str | None:
    """Return a value that is a text; None for any other."""
    return value if isinstance(value, str) else None


# Answers that came whole, as one JSON body.


class ReadBody(Protocol):
    """Reads a whole JSON body; nothing in it makes it raise."""

    def __call__(self, body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
        """Return what the body said; `loss` and a detail say why it may not be whole."""
        ...


def body_reader(api: str, answer_of: Callable[[JsonObject], Answer]) -> ReadBody:
    """Return what reads a JSON body, which is an object.

    It never raises: a body that cannot be read is an answer without blocks that says so. Of one that
    is not whole it is told why: a loss and a detail.
    """

    def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
        try:
            members = read_bounded_object(body)
        except MalformedJson as exc:
            return Answer(api, interruption=loss, detail=detail or str(exc))
        return answer_of(members)

    return read_body


def whole_blocks(values: Iterable[Any]) -> tuple[tuple[AnswerBlock, ...], int]:
    """Return the blocks of a list, and how many of its items are none."""
    items = list(enumerate(values))
    blocks = tuple(
        AnswerBlock(index, cast("JsonObject", item))
        for index, item in items
        if isinstance(item, dict)
    )
    return blocks, len(items) - len(blocks)


def with_content(
    answer: Answer,
    content: object,
    closed: Callable[[Answer], Answer],
    *,
    what: str,
    has_stopped: bool,
) -> Answer:
    """Return an answer whose blocks are the objects in a list, which `closed` completes.

    `what` names it where the list is none, or where it has not said why it stopped.
    """
    if not isinstance(content, list):
        why = f"{what} without a list of content"
        return replace(answer, interruption="malformed", detail=why)
    blocks, broken = whole_blocks(cast("list[Any]", content))
    if broken:
        why = f"{broken} of the content is no block"
        answer = replace(answer, interruption="malformed", detail=why)
    odd = () if has_stopped else (Anomaly(f"{what} without a stop reason"),)
    return closed(replace(answer, blocks=blocks, anomalies=odd))


Conclusion: TypeAlias = tuple[tuple[Event, ...], Mapping[str, BlobBytes]]
"""A `Recording` of an answer, or a failure; the bytes of a long answer are in a file."""


# An answer as the events that record it, whatever its API.


def events_of(
    answer: Answer,
    event_of: EventOf,
    *,
    response: UUID,
    request: UUID | None = None,
    request_id: str | None = None,
    line: UUID | None = None,
    raw: BlobBytes | None = None,
) -> Conclusion:
    """Return the events of an answer, each block's first, then the closing one.

    `event_of` tells which event records a block of its API. `raw` is what to keep of the wire: give
    it where `answer.needs_raw`. Results are awaited only of an answer that awaits them. Each
    alternative follows, on a line of its own: history holds one of them, and which one only a later
    request can tell.
    """
    events, blobs = recorded(
        answer.blocks,
        event_of,
        answer.api,
        response,
        line,
        awaited=answer.awaits_results,
        ran=answer.ran,
    )
    spilled: dict[str, BlobBytes] = {**blobs}
    raw_blob = None
    if raw is not None:
        raw_blob = reference_to(raw)
        spilled[raw_blob.sha256] = raw
    every = (*events, _closing(answer, response, request, request_id, line, raw_blob))
    for alternative in answer.alternatives:
        others, more = events_of(
            alternative, event_of, response=uuid7(), request=request, line=uuid7()
        )
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
    members: dict[str, Any] = {
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
        return ResponseCompleted(stop_reason=answer.stop_reason, **members)
    return ResponseInterrupted(
        reason=answer.interruption, detail=answer.detail, error=answer.error, **members
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


def closing_event(recording: Conclusion) -> ResponseCompleted | ResponseInterrupted | None:
    """Return the event that closes a response; None where there was none, but a failure.

    Its alternatives, which come after it, have closing events of their own.
    """
    closing = (
        event
        for event in recording[0]
        if isinstance(event, ResponseCompleted | ResponseInterrupted)
    )
    return next(closing, None)


def is_oversized(recording: Conclusion) -> bool:
    """Whether an answer was too long to be read."""
    closing = closing_event(recording)
    return isinstance(closing, ResponseInterrupted) and closing.reason == "oversized"


def is_still_made(closing: ResponseCompleted | ResponseInterrupted) -> bool:
    """Whether the provider was still at a response when its recording ended."""
    return isinstance(closing, ResponseInterrupted) and closing.envelope.get("status") in _GOES_ON
