"""A short body that is read beside its caller once all of it came, and handed on after that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from onrecord.adapters.capture.answer import Loss
from onrecord.adapters.capture.compression import Unpacking
from onrecord.adapters.capture.latch import Latch
from onrecord.adapters.capture.raw_bytes import LIMITS, Limits

logger = logging.getLogger("onrecord")

_ANSWERED: Final = range(200, 300)


class WholeBody:
    """Holds a body until it is whole, and has it recorded; one that is not is asked for again."""

    def __init__(self, record: Callable[[bytes], None], limits: Limits = LIMITS) -> None:
        """Begin to wait for a body; `record` takes one that came whole."""
        self._record = record
        self._limits = limits
        self._latch = Latch()
        self._unpacking: Unpacking | None = None
        self._held: list[bytes] = []
        self._size = 0
        self.endings = 0

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is taken in."""
        return self._latch.is_closed

    @property
    def must_write(self) -> bool:
        """Nothing, before the end."""
        return False

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of the answer in: an error says nothing."""
        if status in _ANSWERED:
            self._unpacking = Unpacking(headers.get("content-encoding"))

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; their end alone tells that all have come."""
        if self._unpacking is None or self.is_closed:
            return False
        self.endings += 1
        for piece in self._unpacking.feed(chunk):
            self._size += len(piece)
            if self._size > self._limits.read:
                self._held.clear()
                return False
            self._held.append(piece)
        return False

    def write_out(self) -> None:
        """Write nothing, before the end."""

    def finish(self) -> None:
        """Have the body recorded."""
        unpacking = self._unpacking
        if not self._latch.close() or unpacking is None:
            return
        body, self._held = b"".join(self._held), []
        try:
            if self._size > self._limits.read or unpacking.failure is not None:
                logger.warning("how a batch stands could not be read: it is not recorded")
            else:
                self._record(body)
        except Exception:
            # A fault of ours is not the caller's: the provider still has it.
            logger.exception("how a batch stands could not be recorded: ask for it again")

    def lose(self, loss: Loss) -> None:
        """Record nothing: it can be asked for again."""
        if self._latch.close():
            self._held = []

    def fail(self, error: BaseException) -> None:
        """Record nothing: nothing came."""
        self._latch.close()
