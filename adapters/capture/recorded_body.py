"""The body of a response, recorded as its caller reads it.

Chunks pass on untouched as they come; the one that ends the response is handed on when that is
durable.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from hansard.adapters.capture.attempt import Attempt

_PATIENCE: Final = 5.0
_OPEN: Final[WeakKeyDictionary[Attempt, int]] = WeakKeyDictionary()
"""The attempts whose bodies somebody may still read, each with the process that made it."""


class Body(Protocol):
    """What comes over the wire, chunk by chunk."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the chunks."""
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


class RecordedBody:
    """A body that is recorded while it is read."""

    def __init__(self, inner: Body, attempt: Attempt) -> None:
        """Read a body for its caller and for the record."""
        keep_open(attempt)
        self._inner = inner
        self._attempt = attempt

    def __iter__(self) -> Iterator[bytes]:
        """Yield the chunks of the body, unchanged."""
        attempt = self._attempt
        held: list[bytes] = []
        try:
            for chunk in self._inner:
                held.append(chunk)
                if attempt.feed(chunk):
                    attempt.finish()
                yield from passing(held, attempt)
            attempt.finish()
            yield from taken(held)
        except Exception:
            attempt.lose("cut")
            yield from taken(held)
            raise
        except BaseException:
            abandon(attempt)
            raise

    def close(self) -> None:
        """Release the connection; what was not read is recorded as abandoned."""
        abandon(self._attempt)
        self._inner.close()


def passing(held: list[bytes], attempt: Attempt) -> list[bytes]:
    """Take out of the chunks that are held back those that go on.

    The end of a body that does not say it is known only when nothing follows. Of one that comes
    whole the last chunk has it; of a stream all may that came since nothing more need come.
    """
    if not attempt.may_be_over:
        return taken(held)
    return [] if attempt.is_stream else taken(held, keep=1)


def taken(held: list[bytes], keep: int = 0) -> list[bytes]:
    """Take all chunks out of those that are held back, but for the last ones."""
    ready = held[: len(held) - keep]
    del held[: len(ready)]
    return ready


def keep_open(attempt: Attempt) -> None:
    """Take note that somebody reads what comes back for an attempt."""
    _OPEN[attempt] = os.getpid()


def abandon(attempt: Attempt) -> None:
    """Record what was not read of a response as abandoned, if it has not ended.

    On a thread of its own: the garbage collector may be calling, amid an append.
    """
    if attempt.is_closed or sys.is_finalizing():
        return  # A thread that is started at the end of the interpreter may never run.
    worker = threading.Thread(target=attempt.lose, args=("abandoned",))
    try:
        worker.start()
    except RuntimeError:  # There is no thread to be had.
        attempt.lose("abandoned")
    else:
        worker.join(_PATIENCE)


@atexit.register
def _abandon_all() -> None:
    """Record what is still open as abandoned, while the interpreter can: nobody will read on."""
    while _OPEN:
        attempt, process = _OPEN.popitem()
        if process == os.getpid():  # What was open before a fork is the parent's.
            attempt.lose("abandoned")
