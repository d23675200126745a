"""The turns of a conversation on an SDK's wire: recorded before they go out, tried until answered."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import deque
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never
from urllib.parse import unquote
from uuid import UUID

from onrecord.adapters.recording.deferred_answers import DeferredAnswers
from onrecord.adapters.recording.plan import respelled
from onrecord.adapters.recording.recorder import Recorder
from onrecord.adapters.recording.state import OpenRequest
from onrecord.adapters.telemetry.model_calls import ModelCall, observed, within_trace
from onrecord.adapters.telemetry.tracing import TRACEPARENT
from onrecord.adapters.wire.answer import Conclusion, closing_event, is_still_made
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder, Attempt
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.clients.batches import Batches, Results
from onrecord.adapters.wire.clients.binding import Binding, CallBinding
from onrecord.adapters.wire.clients.sending import MARK, SPLICED, Sending, outgoing_of, retry_count
from onrecord.adapters.wire.respelling import restored
from onrecord.adapters.wire.wires import WIRES, refusal_of
from onrecord.domain.errors import OnrecordError
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted
from onrecord.domain.jsontext import read_bounded_object
from onrecord.domain.new_events import NOBODY, Attribution

logger = logging.getLogger("onrecord")

_DEFERRED_AT_MOST: Final = 1024
_FAILED_AT_MOST: Final = 1024
"""How many failed requests are kept in mind: nobody tells that an SDK gave one up."""


@dataclass(frozen=True, slots=True)
class _RecordedRequest:
    """A request that is recorded, and the recorder that has it; `caller` is whose call it is."""

    api: str
    recorder: Recorder
    begun: OpenRequest
    caller: _Caller


_Caller: TypeAlias = tuple[UUID | None, Attribution]
"""The conversation that a call names, if it names one, and who made it."""

_AttemptKey: TypeAlias = tuple[_Caller, bytes, int]
"""What an attempt is known by: whose call it is, a digest of its body, and which retry it is."""


class ExchangeRecorder:
    """Opens what records the answer to each request; knows which failed turns a retry repeats."""

    def __init__(self, binding: Binding) -> None:
        """Record what is bound so; a call that cannot be recorded is refused."""
        self.binding = binding
        self._after = binding.after
        self._lock = threading.Lock()
        self._failed: deque[tuple[_AttemptKey, _RecordedRequest]] = deque(maxlen=_FAILED_AT_MOST)
        self._deferred = DeferredAnswers[_RecordedRequest](_DEFERRED_AT_MOST)
        self._batches = Batches()
        self._results = Results()

    def attempt(self, bound: CallBinding, sending: Sending, body: bytes) -> AnswerRecorder | None:
        """Return what records the answer to a request that is about to be sent.

        None where there is nothing to record. Raises the refusal where a turn cannot be made
        durable.
        """
        kind = sending.kind
        match kind:
            case "turn":
                with within_trace(sending.headers.get(TRACEPARENT)):
                    return self._turn(bound, sending, body)
            case "answer":
                return self._reading(bound, sending)
            case "batch" | "upload":
                return self._batches.creation(bound, sending, body)
            case "later":
                return self._results.file_status(bound, sending, body)
            case "status":
                return self._results.status(bound, sending)
            case "results":
                return self._results.lines(bound, sending)
            case "none":
                return None
            case _:
                assert_never(kind)

    def spliced(self, bound: CallBinding, sending: Sending, body: bytes) -> bytes:
        """Return the body to send: as it was rendered where its SDK spells that otherwise.

        One that says something else goes as it is; one that is sent anew, as it went before.
        """
        if not self.binding.splice or not sending.is_turn:
            return body
        spliced_before: tuple[bytes, bytes] | None = sending.extensions.get(SPLICED)
        if spliced_before is None or spliced_before[0] != body:
            spliced_before = sending.extensions[SPLICED] = body, self._spliced(bound, body)
        return spliced_before[1]

    def _spliced(self, bound: CallBinding, body: bytes) -> bytes:
        try:
            recorder = bound.known()
            made = None if recorder is None else respelled(body, recorder.remembered())
        except OnrecordError:
            return body  # Recording it says what is wrong, and refuses it.
        return body if made is None else restored(read_bounded_object(body), made.parts)

    def _turn(self, bound: CallBinding, sending: Sending, body: bytes) -> Attempt:
        """Record a turn's request that is about to be sent."""
        extensions = sending.extensions
        recorded: _RecordedRequest | None = extensions.get(MARK)
        count = retry_count(sending.headers)
        if recorded is None:
            api = sending.purpose.api
            try:
                recorded = self._opened(bound, sending, body, count)
            except Exception as exc:
                raise refusal_of(api)(
                    f"the request was not sent, for it could not be recorded first: {exc}"
                ) from exc
            extensions[MARK] = recorded
        else:
            recorded.recorder.resume(recorded.begun)
        credentials = sending.credentials(body, recorded.api, recorded.recorder.digest)
        call = _model_call(recorded, sending, count)
        return self._attempt(recorded, body, call, credentials, extensions)

    def _reading(self, bound: CallBinding, sending: Sending) -> Attempt | None:
        """Return what records the answer that a request reads; None where nothing awaits it.

        It is the answer of the request that made the response, recorded once all of it is there.
        """
        read = _response_id(sending.path)
        recorded = self._deferred.find(read) or self._request_in_log(bound, sending)
        if recorded is None:
            return None

        def close(recording: Conclusion, failed: bool) -> None:
            closing = closing_event(recording)
            if closing and _is_over(closing) and self._deferred.claim(read):
                recorded.recorder.conclude(recorded.begun, recording)

        request, api, digest = recorded.begun, recorded.api, recorded.recorder.digest
        credentials = sending.credentials(b"", api, digest)
        scratch = recorded.recorder.spool.scratch
        return Attempt(WIRES[api], request.request, request.line, credentials, close, scratch)

    def _request_in_log(self, bound: CallBinding, sending: Sending) -> _RecordedRequest | None:
        """Return the request whose answer is read, if the log of its conversation knows it.

        What cannot be found out keeps nobody from reading.
        """
        read = _response_id(sending.path)
        try:
            recorder = bound.known()
            request = None if recorder is None else recorder.find_response(read)
        except OnrecordError:
            logger.exception("a response is read that may be of a recorded request: it is not kept")
            return None
        if recorder is None or request is None:
            return None
        caller = recorder.stream.conversation_id, request.by
        recorded = _RecordedRequest(sending.purpose.api, recorder, request, caller)
        self._deferred.keep(read, recorded)
        return recorded

    def _opened(
        self, bound: CallBinding, sending: Sending, body: bytes, count: int
    ) -> _RecordedRequest:
        """Return the request that this is a retry of, else a new one, recorded."""
        bound_recorder = bound.known()
        caller = _caller(bound, bound_recorder)
        recorded = self._retried(caller, body, count)
        if recorded is not None:
            recorded.recorder.resume(recorded.begun)
            return recorded
        recorder = bound_recorder or bound.unbound_recorder()
        by = bound.attribution(recorder, sending.headers.get(TRACEPARENT))
        going_out = outgoing_of(sending.purpose.api, sending, body, recorder, by)
        after = self._after if bound.header is None else None
        request = recorder.begin(going_out, after=after)
        if after is not None:
            self._after = None  # What comes next goes on from this.
        return _RecordedRequest(going_out.api, recorder, request, caller)

    def _attempt(
        self,
        recorded: _RecordedRequest,
        body: bytes,
        call: ModelCall,
        credentials: Callable[[], Credentials],
        extensions: MutableMapping[str, Any],
    ) -> Attempt:
        def close(recording: Conclusion, failed: bool) -> None:
            if closing_event(recording) is not None:
                extensions.pop(MARK, None)  # Sent once more, it asks once more.
            if failed:
                self._may_be_retried(recorded, body, call.resends)
            self._deferred.note(recorded, recording[0])
            recorded.recorder.conclude(request, recording)

        request = recorded.begun
        wire, scratch = WIRES[recorded.api], recorded.recorder.spool.scratch
        return Attempt(
            wire,
            request.request,
            request.line,
            credentials,
            close,
            scratch,
            observer=observed(call),
        )

    def _may_be_retried(self, recorded: _RecordedRequest, body: bytes, count: int) -> None:
        with self._lock:
            self._failed.append((_attempt_key(recorded.caller, body, count + 1), recorded))

    def _retried(self, caller: _Caller, body: bytes, count: int) -> _RecordedRequest | None:
        """Return the request that this is another attempt of: same body, next in count."""
        if not count:  # The first attempt, whose body need not be hashed for this.
            return None
        tried = _attempt_key(caller, body, count)
        with self._lock:
            # The newest: an older one may be an attempt that the SDK never made again.
            for place in reversed(range(len(self._failed))):
                if self._failed[place][0] == tried:
                    recorded = self._failed[place][1]
                    del self._failed[place]
                    return recorded
        return None


def conversation_of(sending: Sending) -> UUID | None:
    """Return the conversation that a turn which is being sent is recorded in; None for no turn."""
    recorded: _RecordedRequest | None = sending.extensions.get(MARK)
    return None if recorded is None else recorded.recorder.stream.conversation_id


def _caller(bound: CallBinding, recorder: Recorder | None) -> _Caller:
    if recorder is None:
        return None, NOBODY
    return recorder.stream.conversation_id, bound.attribution(recorder).without_trace()


def _model_call(recorded: _RecordedRequest, sending: Sending, count: int) -> ModelCall:
    """Return what is told of a call whose request is recorded; `count` is which retry it is."""
    begun = recorded.begun
    return ModelCall(
        api=recorded.api,
        path=sending.path,
        conversation=recorded.recorder.stream.key,
        version=begun.version,
        model=begun.model,
        resends=count,
    )


def _attempt_key(caller: _Caller, body: bytes, count: int) -> _AttemptKey:
    return caller, hashlib.sha256(body).digest(), count


def _response_id(path: str) -> str:
    """Return the provider's id of the response that a path names."""
    return unquote(path.rstrip("/").rpartition("/")[2])


def _is_over(closing: ResponseCompleted | ResponseInterrupted) -> bool:
    """Whether the provider says nothing more: what is cut, or still being made, is read again."""
    if isinstance(closing, ResponseCompleted):
        return True
    return "status" in closing.envelope and not is_still_made(closing)
