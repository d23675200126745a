"""What reads the bytes that a request is answered beside its caller, and records what they say."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

from onrecord.adapters.wire.answer import Loss


class AnswerRecorder(Protocol):
    """Takes one answer in as it comes. Nothing that it does raises into the caller.

    `Attempt` is that of a turn, `ResultLines` that of a batch's results.
    """

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is taken in."""
        ...

    @property
    def endings(self) -> int:
        """How often all may have come, which only the end of the body tells; 0 where more must."""
        ...

    @property
    def must_write(self) -> bool:
        """Whether there is something to write: call `write_out`, where it is no harm to wait."""
        ...

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of the answer in; its body follows."""
        ...

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether they end the answer, which is not closed yet."""
        ...

    def write_out(self) -> None:
        """Write what is to be written, before the bytes that were taken in last go on."""
        ...

    def finish(self) -> None:
        """Record what is left: the last bytes have come."""
        ...

    def lose(self, loss: Loss) -> None:
        """Record as much as came: nothing more will come."""
        ...

    def fail(self, error: BaseException) -> None:
        """Record that there was no answer at all."""
        ...


# What is to happen once, though several may begin it.


class Latch:
    """Closes once; safe for threads."""

    def __init__(self) -> None:
        """Begin open."""
        self._lock = threading.Lock()
        self.is_closed = False

    def close(self) -> bool:
        """Close; tell one caller, of all that want to, that it was the first."""
        with self._lock:
            first, self.is_closed = not self.is_closed, True
        return first
