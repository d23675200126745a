"""What a response said, whatever the API: its blocks as they came, its envelope, and how it ended.

An answer is what the reading of one response comes to. Nothing in it is a guess: a block that did
not arrive whole is unfinished, and what was not understood is an anomaly, with its own bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

from onrecord.adapters.wire.raw_bytes import Content
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import (
    Event,
    Unfinished,
)
from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject, read_bounded_object

Loss = Literal["cut", "abandoned", "malformed"]
"""Why no more bytes come: the wire ended, the caller stopped reading, or bytes went bad."""

Interruption = Loss | Literal["error", "deferred", "oversized"]
"""Why a response did not end as its API says it must: see `ResponseInterrupted`."""


_LONGEST_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Block:
    """A whole block: its place in the response, and its JSON as it came.

    `call` is the id under which a call, or a result, is recorded where its JSON has none.
    """

    index: int
    value: JsonObject
    call: str | None = None


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
    blocks: tuple[Block, ...] = ()
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


def token_count(value: object) -> int | None:
    """Return a count of tokens from the wire; None for what can be none, such as a fraction."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS:
        return value
    return None


def token_sum(usage: JsonObject, counted: str, *cached: str) -> int | None:
    """Return a count of tokens with those of the cache, which stand beside it.

    Where one can be no count (a fraction, less than none, more than `MOST_TOKENS`) none is known;
    the envelope has it as it came.
    """
    beside = (0 if usage.get(name) is None else usage[name] for name in cached)
    counts = [token_count(value) for value in (usage.get(counted), *beside)]
    known = [count for count in counts if count is not None]
    return min(sum(known), MOST_TOKENS) if len(known) == len(counts) else None


def members_of(value: object) -> JsonObject:
    """Return the members of an object; none of what is no object."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


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


def whole_blocks(values: Iterable[Any]) -> tuple[tuple[Block, ...], int]:
    """Return the blocks of a list, and how many of its items are none."""
    items = list(enumerate(values))
    blocks = tuple(
        Block(index, cast("JsonObject", item)) for index, item in items if isinstance(item, dict)
    )
    return blocks, len(items) - len(blocks)


# What is recorded of it.

Recording: TypeAlias = tuple[tuple[Event, ...], dict[str, bytes]]
"""Events, and by digest the blobs that they refer to: store these first."""


Conclusion: TypeAlias = tuple[tuple[Event, ...], Mapping[str, Content]]
"""The same of an answer, or a failure; the bytes of a long answer are in a file."""
