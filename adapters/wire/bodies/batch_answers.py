"""What is read of a batch beside its caller: how it stands, its results, the first line of a file."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from onrecord.adapters.wire.answer import Loss
from onrecord.adapters.wire.bodies.compression import Unpacking
from onrecord.adapters.wire.bodies.raw_bytes import LIMITS, Limits
from onrecord.adapters.wire.latch import Latch

# The first line of a body that passes, looked at beside its caller; nothing of it is recorded.

logger = logging.getLogger("onrecord")

_ANSWERED: Final = range(200, 300)
_LONGEST_LINE: Final = 64 * 1024


class FirstLine:
    """Has the first line of a body looked at, if it is short; any file may come here."""

    def __init__(self, look: Callable[[bytes], None]) -> None:
        """Begin to wait for a body; `look` takes its first line."""
        self._look = look
        self._unpacking: Unpacking | None = None
        self._held = b""
        self.is_closed = False

    @property
    def endings(self) -> int:
        """Zero: nothing is held back."""
        return 0

    @property
    def must_write(self) -> bool:
        """Nothing, ever."""
        return False

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of the answer in: an error has no lines."""
        self.is_closed = status not in _ANSWERED
        self._unpacking = Unpacking(headers.get("content-encoding"))

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in, until a line has come, or too much for one."""
        if self._unpacking is None or self.is_closed:
            return False
        for piece in self._unpacking.feed(chunk):
            self._held += piece[: _LONGEST_LINE + 1]
            if b"\n" in self._held or len(self._held) > _LONGEST_LINE:
                self.finish()
                break
        return False

    def write_out(self) -> None:
        """Write nothing."""

    def finish(self) -> None:
        """Have the line looked at: no more of it comes."""
        if self.is_closed:
            return
        self.is_closed = True
        line, self._held = self._held.partition(b"\n")[0], b""
        if len(line) <= _LONGEST_LINE:
            try:
                self._look(line)
            except Exception:
                # Warnings may be errors; the caller reads on.
                logger.exception("the content of a file could not be looked at")

    def lose(self, loss: Loss) -> None:
        """Look at nothing more."""
        self.is_closed = True

    def fail(self, error: BaseException) -> None:
        """Look at nothing: nothing came."""
        self.is_closed = True


# A short body that is read beside its caller once all of it came, and handed on after that.


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
