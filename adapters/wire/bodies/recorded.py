"""The body of a response, recorded as its caller reads it.

Chunks pass on untouched as they come; the one that ends the response is handed on when that is
durable.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from onrecord.adapters.wire.answer import Loss


class AnswerRecorder:
    """Takes one answer in as it comes, beside its caller. Nothing that it does raises into the caller.

    This one reads nothing. `Attempt` is that of a turn, `ResultLines` that of a batch's results.
    """

    def __init__(self) -> None:
        """Begin to wait for an answer."""
        self._closing = threading.Lock()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is taken in."""
        return self._is_closed

    @property
    def endings(self) -> int:
        """How often all may have come, which only the end of the body tells; 0 where more must."""
        return 0

    @property
    def must_write(self) -> bool:
        """Whether there is something to write: call `write_out`, where it is no harm to wait."""
        return False

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of the answer in; its body follows."""

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether they end the answer, which is not closed yet."""
        return False

    def write_out(self) -> None:
        """Write what is to be written, before the bytes that were taken in last go on."""

    def finish(self) -> None:
        """Record what is left: the last bytes have come."""
        self._close_once()

    def lose(self, loss: Loss) -> None:
        """Record as much as came: nothing more will come."""
        self._close_once()

    def fail(self, error: BaseException) -> None:
        """Record that there was no answer at all."""
        self._close_once()

    def _close_once(self) -> bool:
        """Close; return whether this call was the first that did.

        The caller's thread ends an answer, the garbage collector's may abandon it at the same time,
        and the end of the interpreter does: one of them records it.
        """
        with self._closing:
            first, self._is_closed = not self._is_closed, True
        return first


_PATIENCE: Final = 5.0
_OPEN: Final[WeakKeyDictionary[AnswerRecorder, int]] = WeakKeyDictionary()
"""The recorders whose bodies somebody may still read, each with the process that made it."""


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

    def __init__(self, inner: Body, recorder: AnswerRecorder) -> None:
        """Read a body for its caller and for the record."""
        keep_open(recorder)
        self._inner = inner
        self._recorder = recorder

    def __iter__(self) -> Iterator[bytes]:
        """Yield the chunks of the body, unchanged."""
        recorder = self._recorder
        held = HeldBack()
        try:
            for chunk in self._inner:
                if recorder.feed(chunk):
                    recorder.finish()
                recorder.write_out()
                yield from held.take(chunk, recorder.endings)
            recorder.finish()
            yield from held.rest()
        except Exception:
            recorder.lose("cut")
            yield from held.rest()
            raise
        except BaseException:
            abandon(recorder)
            raise

    def close(self) -> None:
        """Release the connection; what was not read is recorded as abandoned."""
        abandon(self._recorder)
        self._inner.close()


class HeldBack:
    """The chunks that are not handed on yet, because all may have come with them.

    The end of a body that does not say it is known only when nothing follows. What came since the
    last time that all may have come is held; what came before goes on.
    """

    __slots__ = ("_endings", "_held")

    def __init__(self) -> None:
        """Hold nothing."""
        self._held: list[bytes] = []
        self._endings = 0

    def take(self, chunk: bytes, endings: int) -> list[bytes]:
        """Take a chunk, and how often all may have come by now; return the chunks that go on."""
        is_new, self._endings = endings != self._endings, endings
        if not endings:
            return [*self.rest(), chunk]
        ready = self.rest() if is_new else []
        self._held.append(chunk)
        return ready

    def rest(self) -> list[bytes]:
        """Return all that was held: nothing follows, or what is there is recorded."""
        held, self._held = self._held, []
        return held


def keep_open(recorder: AnswerRecorder) -> None:
    """Take note of a recorder whose body somebody reads."""
    _OPEN[recorder] = os.getpid()


def abandon(recorder: AnswerRecorder) -> None:
    """Record what was not read of a response as abandoned, if it has not ended.

    On a thread of its own: the garbage collector may be calling, amid an append.
    """
    if recorder.is_closed or sys.is_finalizing():
        return  # A thread that is started at the end of the interpreter may never run.
    worker = threading.Thread(target=recorder.lose, args=("abandoned",))
    try:
        worker.start()
    except RuntimeError:  # There is no thread to be had.
        recorder.lose("abandoned")
    else:
        worker.join(_PATIENCE)


@atexit.register
def _abandon_all() -> None:
    """Record what is still open as abandoned, while the interpreter can: nobody will read on."""
    while _OPEN:
        recorder, process = _OPEN.popitem()
        if process == os.getpid():  # What was open before a fork is the parent's.
            recorder.lose("abandoned")
