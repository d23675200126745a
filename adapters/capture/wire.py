"""What is to be known of an API to record its wire: how requests and answers are read.

One value an API; `wires.py` finds them. What they share (attempts, retries, secrets, lines) is
written once, against this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

from onrecord.adapters.capture.answer import Answer, Loss
from onrecord.adapters.capture.place import EventOf, Recording
from onrecord.adapters.capture.sent import Sent
from onrecord.projections.continuation import Piece


class AnswerStream(Protocol):
    """Reads one streamed answer, chunk by chunk; nothing that arrives makes it raise."""

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the answer's last event has been seen."""
        ...

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the answer said; `loss` is why, if its last event has not been seen."""
        ...


@runtime_checkable
class OpenEnded(Protocol):
    """Reads a streamed answer of which no event says that it is the last one."""

    @property
    def endings(self) -> int:
        """How often all may have come; 0 where more must. Only the end of the body tells."""
        ...


class ReadRequest(Protocol):
    """Reads the body of a request; some APIs name the model in the path of the URL alone."""

    def __call__(self, body: bytes, path: str = "", /) -> Sent:
        """Return what a request asks."""
        ...


Kind: TypeAlias = Literal["turn", "answer", "later", "none"]
"""A turn is recorded; `answer` reads what an earlier turn was answered in the background; `later`
is answered by another call, one day; none is no conversation."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What requests to an end of a path are for; `*` is any text within one segment of it.

    `compacts` says of a turn that it asks for a summary of what it says, and for nothing else.
    """

    method: str
    path: str
    kind: Kind
    compacts: bool = False


def no_family() -> type[Exception] | None:
    """Return none: an API without an SDK of its own."""
    return None


@dataclass(frozen=True, slots=True)
class Wire:
    """How an API's wire is read.

    `streams` gives for a content type what reads a streamed answer, the usual one first;
    `read_body` reads a whole one (`loss` and a detail say why it may
    not be whole; neither raises). `event_of` tells which event records a block. `read_request` raises MalformedJson for what is
    no JSON, InvalidContent for what is no request of this API. `said` gives the events of pieces
    of a request that are new: an assistant's message takes the next of the responses' ids;
    `instructions` and `tools` the events that put those of a request in force. The UUID or None at
    the end is the line.

    `endpoints` are the ends of paths that it is spoken at, the longest first. `told` are the parts
    of a request that tell the model something, as JSON pointers with `*` for any place in a list:
    they are kept word for word, all else is searched for secrets. `defined` is where definitions of
    tools stand amid what was said. `headers` are those that change what a request means. `family`
    returns the error that its SDK's errors descend from, once something imported that.
    """

    api: str
    streams: Mapping[str, Callable[[], AnswerStream]]
    read_body: Callable[[bytes, Loss, str | None], Answer]
    event_of: EventOf
    read_request: ReadRequest
    said: Callable[[Sent, Sequence[Piece], Iterator[UUID], UUID | None], Recording]
    instructions: Callable[[Sent, UUID | None], Recording]
    tools: Callable[[Sent, UUID | None], Recording]
    endpoints: tuple[Endpoint, ...]
    told: frozenset[str]
    defined: str | None = None
    headers: tuple[str, ...] = ()
    family: Callable[[], type[Exception] | None] = no_family

    def stream(self) -> AnswerStream:
        """Return what reads a streamed answer of the usual content type."""
        return next(iter(self.streams.values()))()
