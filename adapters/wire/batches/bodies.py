"""Files as they are uploaded in a form (RFC 7578), and which of them have the requests of a batch."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, cast

from onrecord.adapters.wire.answer import Loss
from onrecord.adapters.wire.bodies.compression import Unpacking
from onrecord.adapters.wire.bodies.raw_bytes import LIMITS, Limits
from onrecord.adapters.wire.latch import Latch
from onrecord.domain.errors import InvalidContent

_FORM: Final = "multipart/form-data"
_HEAD: Final = 64 * 1024
_LINE: Final = re.compile(rb"\S[^\n]*\n?")
_LONGEST: Final = 256 * 1024**2
"""What is read of a file before it is sent; OpenAI takes 200 MB at most for a batch."""

_OF_A_BATCH: Final = re.compile(rb'name="purpose"\r\n(?:[^\r\n]+\r\n)*\r\nbatch\r\n')
_END: Final = b"\r\n"

_LASTING: Final = {
    (package, kind) for package in ("httpx", "httpx2") for kind in ("ByteStream", "MultipartStream")
}
"""The streams that give the same each time: what the HTTP client makes of bytes, and of a form."""


def is_passing(headers: Mapping[str, str], stream: object) -> bool:
    """Whether this is a form that can be read but once: whoever looks at it takes it from the wire."""
    kind = type(stream)
    return _is_form(headers) and (kind.__module__.split(".")[0], kind.__name__) not in _LASTING


def is_of_batch(headers: Mapping[str, str], stream: object) -> bool:
    """Whether a form that is about to be sent holds the requests of a batch; False if it passes.

    Of its stream no more is read than the fields before the file: that may be anything, of any
    length, and can be read but once. SDKs put fields first.
    """
    length = headers.get("content-length", "")
    if not _is_form(headers) or is_passing(headers, stream):
        return False
    if not length.isdecimal() or int(length) > _LONGEST or not isinstance(stream, Iterable):
        return False
    return _OF_A_BATCH.search(_head(cast("Iterable[bytes]", stream))) is not None


def lines_of(form: bytes) -> Iterator[bytes]:
    """Yield the lines of the file in a form, from their first word on; none that is blank.

    InvalidContent where it has no file.
    """
    return (found[0] for found in _LINE.finditer(form, *_file_in(form)))


def _is_form(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").lower().startswith(_FORM)


def _head(stream: Iterable[bytes]) -> bytes:
    head = b""
    for chunk in stream:
        head += chunk[:_HEAD]
        if b"filename=" in head or len(head) > _HEAD:
            break
    return head


def _file_in(form: bytes) -> tuple[int, int]:
    """Return where the file of a form begins and ends."""
    boundary = form[: form.find(_END)] if form.startswith(b"--") else b""
    at = len(boundary)
    while boundary and form.startswith(_END, at):
        start = form.find(_END + _END, at) + 2 * len(_END)
        end = form.find(_END + boundary, start - len(_END))
        if start < 2 * len(_END) or end < 0:
            break
        if b"filename=" in form[at:start]:
            return start, end
        at = end + len(_END) + len(boundary)
    raise InvalidContent("there is no file in the form: give it as its member `file`")


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
