"""What comes back for a request, read from the wire beside the caller: one attempt of it."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.telemetry.model_calls import UNOBSERVED, CallObserver
from onrecord.adapters.wire.answer import Answer, Conclusion, Loss, events_of, shortened
from onrecord.adapters.wire.api import AnswerStream, Wire, attempt_failed
from onrecord.adapters.wire.blob_bytes import BlobBytes, Scratch, beginning
from onrecord.adapters.wire.bodies.answer_body import LIMITS, AnswerBody, Limits
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.secrets import secrets_of
from onrecord.adapters.wire.stream_reader import BOM, EVENT_STREAM, begins_a_stream
from onrecord.domain.encoding import encode, name_of
from onrecord.domain.events import AttemptFailed
from onrecord.projections.api import FOLDERS

_ANSWERED: Final = range(200, 300)
_REDIRECTED: Final = range(300, 400)
_ERROR_AT_MOST: Final = 1024**2
"""How many bytes of an error are read: it is no answer, and an event holds it."""

_REQUEST_IDS: Final = ("request-id", "x-request-id", "x-amzn-requestid")

logger = logging.getLogger("onrecord")


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


class Attempt(AnswerRecorder):
    """Reads what a request is answered, and records it once: whole, cut or abandoned.

    Nothing that it does raises into the caller. `close` takes what is to be recorded, and whether
    the attempt failed so that the SDK may make another: where it was sent elsewhere it goes on, or
    is over (RFC 9110, 15.4).
    """

    def __init__(
        self,
        wire: Wire,
        request: UUID,
        line: UUID | None,
        credentials: Callable[[], Credentials],
        close: Callable[[Conclusion, bool], None],
        scratch: Scratch,
        limits: Limits = LIMITS,
        observer: CallObserver = UNOBSERVED,
    ) -> None:
        """Begin to wait for what the request is answered.

        What it went out with is asked for where it may come back: not in what a model says. What
        is too long to be held goes to files in `scratch`. `observer` is told of chunks and the end.
        """
        super().__init__()
        self._wire = wire
        self._request = request
        self._line = line
        self._credentials = credentials
        self._close = close
        self._status = 0
        self._request_id: str | None = None
        self._scratch = scratch
        self._limits = limits
        self._observer = observer
        self._body = AnswerBody(scratch, limits)
        self._stream: AnswerStream | None = None
        self._is_stream = self._may_be_stream = self._is_unreadable = False

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of a response in; its body follows."""
        self._status = status
        self._request_id = next((headers[name] for name in _REQUEST_IDS if name in headers), None)
        encoding = headers.get("content-encoding")
        self._body = AnswerBody(self._scratch, self._limits, encoding)
        content_type = headers.get("content-type", "").lower()
        if status not in _ANSWERED:
            return
        try:
            self._begin_stream(content_type)
        except Exception:
            logger.exception("the reader of a response could not be made")
            self._give_up_reading()
            return
        self._may_be_stream = not self._is_stream

    def _begin_stream(self, content_type: str) -> None:
        """Read a body of this type as a stream from now on, unless it comes whole."""
        streams = self._wire.streams.items()
        reader = next((read for kind, read in streams if content_type.startswith(kind)), None)
        # Noted before the reader is made: where that fails, the body is a stream all the same.
        self._is_stream = reader is not None
        self._stream = None if reader is None else reader()

    @property
    def is_stream(self) -> bool:
        """Whether the body says by itself where it ends."""
        return self._is_stream

    @property
    def endings(self) -> int:
        """How often all may have come, which only the end of the body tells; 0 where more must."""
        stream = self._stream
        if stream is None:
            return 0 if self._is_stream else self._body.raw.chunks
        try:
            # Only where no event says that it is the last one.
            endings: int = getattr(stream, "endings", 0)
            return endings
        except Exception:
            logger.exception("where a response may end could not be told")
            self._give_up_reading()
            return 0

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether they end the response, which is not closed yet."""
        if self.is_closed:
            return False
        self._observer.chunk()
        is_over = False
        try:
            for read in self._body.feed(chunk):
                is_over = self._take(read)
        except Exception:
            logger.exception("a chunk of a response could not be read")
            self._give_up_reading()
        return is_over

    def _give_up_reading(self) -> None:
        """Read no more of an answer whose reader failed: what it says next may lack what failed.

        The fault is not the caller's: the bytes are kept, and the call goes on.
        """
        self._stream, self._may_be_stream, self._is_unreadable = None, False, True

    def _take(self, read: bytes) -> bool:
        """Take the next bytes of an answer in; return whether they end it."""
        if self._may_be_stream:
            read = self._begun()
        return self._stream is not None and bool(self._stream.feed(read))

    def _begun(self) -> bytes:
        """Look whether a body is a stream that is not said to be one; return what came of it."""
        head = self._body.head()
        begins = begins_a_stream(head)
        self._may_be_stream = begins is None
        if begins:
            self._begin_stream(EVENT_STREAM)
        return head

    @property
    def must_write(self) -> bool:
        """Whether more came than is to be held: call `write_out`, where it is no harm to wait."""
        return self._body.raw.must_write

    def write_out(self) -> None:
        """Write what came to the disk, if that is more than is to be held."""
        self._body.raw.write_out()

    def finish(self) -> None:
        """Record the response: its last bytes have come."""
        self._end("cut" if self.is_stream else "malformed")

    def lose(self, loss: Loss) -> None:
        """Record as much as came of the response, unless all did: nothing more will come."""
        self._end(loss)

    def fail(self, error: BaseException) -> None:
        """Record that there was no response at all."""
        reason = type(error).__name__
        failed = AttemptFailed(request=self._request, reason=reason, line=self._line)
        if self._close_once():
            self._hand_over(((failed,), {}), failed=True)

    def _end(self, loss: Loss) -> None:
        if not self._close_once():
            return
        try:
            recording, failed = self._ending(loss)
            if self._wire.api not in FOLDERS:  # What the six say is JSON that was read.
                must_have_form(recording)
        except Exception:
            logger.exception("a response could not be read: its bytes are kept")
            recording, failed = self._unread(), True
        self._release()
        self._hand_over(recording, failed=failed)

    def _hand_over(self, recording: Conclusion, *, failed: bool) -> None:
        """Have a recording stored. The request was sent: no error of that goes into its call."""
        observing = self._observer.answered(recording[0], is_stream=self.is_stream)
        try:
            with observing:
                self._close(recording, failed)
        except Exception:
            logger.critical("an answer could not be recorded", exc_info=True)

    def _ending(self, loss: Loss) -> tuple[Conclusion, bool]:
        if self._status not in _ANSWERED:
            return ((self._error(),), {}), self._status not in _REDIRECTED
        if self._is_unreadable:
            return self._unread(), True
        answer = self._answer(loss)
        if not self._body.is_held:
            give_back()
        return self._recording(answer), not answer.is_complete

    def _release(self) -> None:
        """Let go of what came: a response may be held long after it was read."""
        self._stream, self._may_be_stream = None, False
        self._body = AnswerBody(self._scratch, self._limits)

    def _error(self) -> AttemptFailed:
        body = beginning(self._body.unpacked(), _ERROR_AT_MOST)
        if not body:  # A client that tries again does not read it.
            return AttemptFailed(request=self._request, status=self._status, line=self._line)
        secret = self._credentials()
        failed = attempt_failed(
            self._status, secret.out_of_bytes(body), request=self._request, line=self._line
        )
        return failed.model_copy(update={"error": secret.out_of_error(failed.error)})

    def _answer(self, loss: Loss) -> Answer:
        """Return what was said; what put it together is let go of, with all its pieces."""
        body = self._body
        stream, self._stream = self._stream, None
        if body.is_oversized or (stream is None and body.is_lost):
            answer = Answer(api=self._wire.api) if stream is None else stream.finish()
            return shortened(replace(answer, interruption="oversized"))
        failure = body.failure
        if failure is not None:
            loss = "malformed"
        if stream is not None:
            return shortened(stream.finish(loss, failure))
        read = b"".join(body.unpacked()).removeprefix(BOM)
        return shortened(self._wire.read_body(read, loss, failure))

    def _unread(self) -> Conclusion:
        """Return that the response could not be read, and its bytes, where they can be kept."""
        why = "the recorder could not read it"
        answer = Answer(api=self._wire.api, interruption="malformed", detail=why)
        try:
            return self._recording(answer)
        except Exception:
            # What failed before may fail again: the request is closed all the same.
            logger.exception("the bytes of a response could not be kept")
            return self._conclusion(answer, None)

    def _recording(self, answer: Answer) -> Conclusion:
        raw = None
        if answer.needs_raw or secrets_of(answer.envelope, self._wire):
            secret = self._credentials()
            raw = self._raw(secret) if answer.needs_raw else None
            if answer.interruption == "oversized":
                answer = replace(answer, detail=self._body.why_unread())
            answer = without_secrets(secret, answer, self._wire)
        return self._conclusion(answer, raw)

    def _conclusion(self, answer: Answer, raw: BlobBytes | None) -> Conclusion:
        return events_of(
            answer,
            self._wire.event_of,
            response=uuid7(),
            request=self._request,
            request_id=self._request_id,
            line=self._line,
            raw=raw,
        )

    def _raw(self, secret: Credentials) -> BlobBytes | None:
        """Return the bytes of the answer without secrets; None where the disk does not take them."""
        try:
            return self._body.clean(secret, streamed=self.is_stream)
        except OSError as exc:
            logger.critical("the bytes of a response could not be kept (%s)", exc.strerror)
            return None


def must_have_form(recording: Conclusion) -> None:
    """Raise where the log cannot take an event, while the bytes of the answer are still there.

    What a package makes of an answer may be no event, or hold values that are no JSON.
    """
    for event in recording[0]:
        name_of(event)
        encode(event)


def without_secrets(secret: Credentials, answer: Answer, wire: Wire) -> Answer:
    """Return an answer without secrets in what is not said; what is said is the record."""
    return replace(
        answer,
        envelope=secret.out_of_envelope(answer.envelope, wire),
        detail=None if answer.detail is None else secret.out_of_text(answer.detail),
        error=secret.out_of_error(answer.error),
    )


# Memory that was freed, given back to the system.
#
# glibc keeps what many small allocations left behind, and takes large ones elsewhere: of a long
# answer its pieces stayed, beside its text and the bytes of that (measured: 43 MB of 128).

_NOTHING: Final = 0


def give_back() -> None:
    """Give freed memory back, where the C library can be told to (glibc)."""
    trim = _trim()
    if trim is not None:
        trim(_NOTHING)


@cache
def _trim() -> Callable[[int], object] | None:
    if sys.platform != "linux":
        return None
    import ctypes

    trim: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
