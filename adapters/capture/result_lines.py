"""The results of a batch as they come: a line of JSON each, recorded before it is handed on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from onrecord.adapters.capture.answer import Answer, Loss
from onrecord.adapters.capture.compression import Unpacking
from onrecord.adapters.capture.raw_bytes import LIMITS, Limits
from onrecord.adapters.capture.wire import BatchResult, ResultsWire

logger = logging.getLogger("onrecord")

_ANSWERED: Final = range(200, 300)
_HEAD: Final = 64 * 1024
_MIB: Final = 1024**2


class ResultLines:
    """Reads the lines of a batch's results, and has those that came whole recorded.

    At most one line is held, and those of the last chunk. What was not read is recorded when
    somebody reads it: the provider still has it.
    """

    def __init__(
        self,
        api: str,
        wire: ResultsWire,
        record: Callable[[Sequence[tuple[BatchResult, bytes]]], None],
        limits: Limits = LIMITS,
    ) -> None:
        """Begin to wait for the results; `record` takes what lines say, and the lines."""
        self._api = api
        self._wire = wire
        self._record = record
        self._limits = limits
        self._lock = threading.Lock()
        self._unpacking: Unpacking | None = None
        self._line: list[bytes] = []
        self._size = 0
        self._whole: list[tuple[bytes, int]] = []
        self.is_closed = False

    @property
    def endings(self) -> int:
        """Zero: each line is recorded before it goes on, so none is held back."""
        return 0

    @property
    def must_write(self) -> bool:
        """Whether lines have come whole that are not recorded."""
        return bool(self._whole)

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of the answer in: an error has no results."""
        if status in _ANSWERED:
            self._unpacking = Unpacking(headers.get("content-encoding"))

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; their end alone tells that all have come."""
        if self._unpacking is None or self.is_closed:
            return False
        for piece in self._unpacking.feed(chunk):
            *ends, rest = piece.split(b"\n")
            for end in ends:
                self._add(end)
                self._end_line()
            self._add(rest)
        return False

    def write_out(self) -> None:
        """Record the lines that have come whole."""
        with self._lock:
            whole, self._whole = self._whole, []
            try:
                results = [self._read(line, size) for line, size in whole]
                told = [result for result in results if result is not None]
                if told:
                    self._record(told)
            except Exception:
                # A fault of ours is not the caller's: the provider still has the results.
                logger.exception("results of a batch could not be recorded: read them again")

    def finish(self) -> None:
        """Record the last line, which may have no end, and what is left."""
        if self._is_first():
            self._end_line()
            self.write_out()
            if self._unpacking is not None and self._unpacking.failure is not None:
                logger.warning("results of a batch could not be unpacked: they are not recorded")

    def lose(self, loss: Loss) -> None:
        """Record what came whole."""
        if self._is_first():
            self._line = []
            self.write_out()

    def fail(self, error: BaseException) -> None:
        """Record nothing: nothing came."""
        self._is_first()

    def _is_first(self) -> bool:
        with self._lock:
            first, self.is_closed = not self.is_closed, True
        return first

    def _add(self, part: bytes) -> None:
        """Take a part of a line in; of one that is too long its beginning stays."""
        self._size += len(part)
        if self._size <= self._limits.read:
            self._line.append(part)
        elif len(self._line) != 1 or len(self._line[0]) > _HEAD:
            self._line = [b"".join([*self._line, part])[:_HEAD]]

    def _end_line(self) -> None:
        line, size = b"".join(self._line), self._size
        self._line, self._size = [], 0
        if line.strip():
            self._whole.append((line, size))

    def _read(self, line: bytes, size: int) -> tuple[BatchResult, bytes] | None:
        if size <= self._limits.read:
            result = self._wire.read_result(line)
        else:
            name = self._wire.name_of(line)
            why = f"longer than {self._limits.read / _MIB:g} MiB; its bytes are not kept"
            unread = Answer(self._api, interruption="oversized", detail=why)
            result, line = None if name is None else BatchResult(name, unread), b""
        if result is None:
            logger.warning("a line of a batch's results could not be read: it is not recorded")
        return None if result is None else (result, line)
