"""What is to be known of an API to record its wire: how requests and answers are read.

One value an API; `wires.py` lists them. What they share (attempts, retries, secrets, lines) is
written once, against this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from hansard.adapters.capture.answer import Answer, Loss
from hansard.adapters.capture.place import EventOf, Recording
from hansard.adapters.capture.sent import Sent
from hansard.projections.continuation import Piece


class AnswerStream(Protocol):
    """Reads one streamed answer, chunk by chunk; nothing that arrives makes it raise."""

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the answer's last event has been seen."""
        ...

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the answer said; `loss` is why, if its last event has not been seen."""
        ...


@dataclass(frozen=True, slots=True)
class Wire:
    """How an API's wire is read.

    `stream` reads a streamed answer, `read_body` a whole one (`loss` and a detail say why it may
    not be whole; neither raises). `event_of` tells which event records a block. `read_request` raises MalformedJson for what is
    no JSON, InvalidContent for what is no request of this API. `said` gives the events of pieces
    of a request that are new: an assistant's message takes the next of the responses' ids;
    `instructions` and `tools` the events that put those of a request in force. The UUID or None at
    the end is the line.
    """

    api: str
    stream: Callable[[], AnswerStream]
    read_body: Callable[[bytes, Loss, str | None], Answer]
    event_of: EventOf
    read_request: Callable[[bytes], Sent]
    said: Callable[[Sent, Sequence[Piece], Iterator[UUID], UUID | None], Recording]
    instructions: Callable[[Sent, UUID | None], Recording]
    tools: Callable[[Sent, UUID | None], Recording]
