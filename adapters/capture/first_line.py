"""The first line of a body that passes, looked at beside its caller; nothing of it is recorded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from onrecord.adapters.capture.answer import Loss
from onrecord.adapters.capture.compression import Unpacking

logger = logging.getLogger("onrecord")

_ANSWERED: Final = range(200, 300)
_LONGEST: Final = 64 * 1024


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
            self._held += piece[: _LONGEST + 1]
            if b"\n" in self._held or len(self._held) > _LONGEST:
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
        if len(line) <= _LONGEST:
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
