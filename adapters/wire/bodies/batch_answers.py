"""What is read of a batch beside its caller: how it stands, its results, the first line of a file."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from onrecord.adapters.wire.answer import Answer, Loss
from onrecord.adapters.wire.api import BatchResult, ResultsWire
from onrecord.adapters.wire.bodies.answer_body import LIMITS, Limits
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.bodies.unpacking import Unpacking

logger = logging.getLogger("onrecord")

_ANSWERED: Final = range(200, 300)
_LONGEST_LINE: Final = 64 * 1024


class _BatchBody(AnswerRecorder):
    """Reads a body that the provider can be asked for again; that of an error says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._unpacking: Unpacking | None = None

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of the answer in."""
        if status in _ANSWERED:
            self._unpacking = Unpacking(headers.get("content-encoding"))

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; their end alone tells that all have come."""
        if self._unpacking is not None and not self.is_closed:
            self._read(self._unpacking.feed(chunk))
        return False

    def _read(self, pieces: Iterator[bytes]) -> None:
        """Read what the next bytes unpack to."""


class FirstLine(_BatchBody):
    """Has the first line of a body looked at, if it is short; nothing of it is recorded."""

    def __init__(self, look: Callable[[bytes], None]) -> None:
        """Begin to wait for a body; `look` takes its first line."""
        super().__init__()
        self._look = look
        self._line = b""

    def _read(self, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            self._line += piece[: _LONGEST_LINE + 1]
            if b"\n" in self._line or len(self._line) > _LONGEST_LINE:
                self.finish()
                break

    def finish(self) -> None:
        """Have the line looked at: no more of it comes."""
        if not self._close_once() or self._unpacking is None:
            return
        line, self._line = self._line.partition(b"\n")[0], b""
        if len(line) <= _LONGEST_LINE:
            try:
                self._look(line)
            except Exception:
                # Warnings may be errors; the caller reads on.
                logger.exception("the content of a file could not be looked at")


class WholeBody(_BatchBody):
    """Holds a body until it is whole, and has it recorded before its end is handed on."""

    def __init__(self, record: Callable[[bytes], None], limits: Limits = LIMITS) -> None:
        """Begin to wait for a body; `record` takes one that came whole."""
        super().__init__()
        self._record = record
        self._limits = limits
        self._pieces: list[bytes] = []
        self._size = self._chunks = 0

    @property
    def endings(self) -> int:
        """How many chunks came: each may be the last."""
        return self._chunks

    def _read(self, pieces: Iterator[bytes]) -> None:
        self._chunks += 1
        for piece in pieces:
            self._size += len(piece)
            if self._size > self._limits.read:
                self._pieces.clear()
                return
            self._pieces.append(piece)

    def finish(self) -> None:
        """Have the body recorded."""
        if not self._close_once() or self._unpacking is None:
            return
        body, self._pieces = b"".join(self._pieces), []
        try:
            if self._size > self._limits.read or self._unpacking.failure is not None:
                logger.warning("how a batch stands could not be read: it is not recorded")
            else:
                self._record(body)
        except Exception:
            # A fault of ours is not the caller's: the provider still has it.
            logger.exception("how a batch stands could not be recorded: ask for it again")


# The results of a batch as they come: a line of JSON each, recorded before it is handed on.

_HEAD: Final = 64 * 1024
_MIB: Final = 1024**2

_LINE: Final = re.compile(rb"\S[^\n]*")
"""A line from its first word on: one that is blank is none, and costs nothing."""

_AT_ONCE: Final = 1024
"""How many lines are recorded at once: a few bytes that came may unpack to millions."""

_BAD_AT_MOST: Final = 1000
"""After how many lines that are no results a body is taken for none, if fewer were results."""


class ResultLines(_BatchBody):
    """Reads the lines of a batch's results, and has those that came whole recorded.

    At most one line is held, and those of the last chunk. What was not read is recorded when
    somebody reads it: the provider still has it. A body with many lines that are no results is
    taken for none; the rest of it passes unread.
    """

    def __init__(
        self,
        api: str,
        wire: ResultsWire,
        record: Callable[[Sequence[tuple[BatchResult, bytes]]], None],
        limits: Limits = LIMITS,
    ) -> None:
        """Begin to wait for the results; `record` takes what lines say, and the lines."""
        super().__init__()
        self._api = api
        self._wire = wire
        self._record = record
        self._limits = limits
        self._lock = threading.Lock()
        self._line: list[bytes] = []
        self._size = 0
        self._whole: list[tuple[bytes, bool]] = []
        self._good = self._bad = 0
        self._is_faulty = False

    @property
    def must_write(self) -> bool:
        """Whether lines have come whole that are not recorded."""
        return bool(self._whole)

    def _read(self, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            first, end, more = piece.partition(b"\n")
            self._add(first)
            if end:
                self._end_line()
                lines, _, last = more.rpartition(b"\n")
                self._hold(lines, is_cut=False)
                self._add(last)

    def write_out(self) -> None:
        """Record the lines that have come whole."""
        with self._lock:
            whole, self._whole = self._whole, []
            lines = self._lines(whole)
            while not self._is_none and (some := tuple(islice(lines, _AT_ONCE))):
                self._take(some)
            if self._is_none and self._close_once():
                self._line = []
                self._say_bad()

    def finish(self) -> None:
        """Record the last line, which may have no end, and what is left."""
        if self._close_once():
            self._end_line()
            self._end()
            if self._unpacking is not None and self._unpacking.failure is not None:
                logger.warning("results of a batch could not be unpacked: they are not recorded")

    def lose(self, loss: Loss) -> None:
        """Record what came whole."""
        if self._close_once():
            self._line = []
            self._end()

    def _add(self, part: bytes) -> None:
        """Take a part of a line in; of one that is too long its beginning stays."""
        self._size += len(part)
        if self._size <= self._limits.read:
            self._line.append(part)
        elif len(self._line) != 1 or len(self._line[0]) > _HEAD:
            self._line = [b"".join([*self._line, part])[:_HEAD]]

    def _end_line(self) -> None:
        line, is_cut = b"".join(self._line), self._size > self._limits.read
        self._line, self._size = [], 0
        self._hold(line, is_cut)

    def _hold(self, lines: bytes, is_cut: bool) -> None:
        """Hold lines that came whole, or the beginning of one that is too long."""
        if lines and not lines.isspace():
            self._whole.append((lines, is_cut))

    def _lines(self, whole: Sequence[tuple[bytes, bool]]) -> Iterator[tuple[bytes, bool]]:
        """Yield each line that is held, and whether it is too long to be read."""
        for lines, is_cut in whole:
            if is_cut:
                yield lines, True
                continue
            for line_match in _LINE.finditer(lines):
                yield line_match[0], len(line_match[0]) > self._limits.read

    @property
    def _is_none(self) -> bool:
        """Whether this is taken for no results."""
        return self._bad > max(_BAD_AT_MOST, self._good)

    def _take(self, lines: Sequence[tuple[bytes, bool]]) -> None:
        """Record lines, and count those that are no results."""
        try:
            results = [self._result_in(line, is_long) for line, is_long in lines]
            read_results = [result for result in results if result is not None]
            self._good, self._bad = (
                self._good + len(read_results),
                self._bad + len(lines) - len(read_results),
            )
            if read_results:
                self._record(read_results)
        except Exception:
            # A fault of ours is not the caller's: the provider still has the results.
            logger.exception("results of a batch could not be recorded: read them again")

    def _end(self) -> None:
        self.write_out()
        if self._bad:
            self._say_bad()

    def _say_bad(self) -> None:
        left = "they are not recorded"
        if self._is_none:
            left = "the file is taken for none, and the rest of it is not recorded"
        lines = "line" if self._bad == 1 else "lines"
        text = "%d %s of a batch's results could not be read: %s"
        logger.warning(text, self._bad, lines, left)

    def _read_result(self, line: bytes) -> BatchResult | None:
        try:
            return self._wire.read_result(line)
        except Exception:
            # A fault of ours costs no other line; it is said once a body.
            if not self._is_faulty:
                logger.exception("a line of a batch's results made its reader fail")
            self._is_faulty = True
            return None

    def _result_in(self, line: bytes, is_long: bool) -> tuple[BatchResult, bytes] | None:
        """Return what a line says, None where it is no result; raises nothing."""
        if not is_long:
            result = self._read_result(line)
        else:
            name = self._wire.name_in(line[:_HEAD])
            why = f"longer than {self._limits.read / _MIB:g} MiB; its bytes are not kept"
            unread = Answer(self._api, interruption="oversized", detail=why)
            result, line = None if name is None else BatchResult(name, unread), b""
        return None if result is None else (result, line)
