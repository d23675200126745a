"""Answers on their way into the log: where each is recorded, and whose request each is of.

A request may be overtaken while it is out: its stream is left unread, a second tab goes on. Then
its answer is kept on a side branch, else it is history. The log decides, so that threads and
processes agree.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final, Generic, TypeVar
from uuid import UUID

from onrecord.adapters.recording.state import OpenRequest
from onrecord.adapters.streams.event_reading import closing_of, line_of
from onrecord.adapters.streams.lineage import last_pointed, lineage
from onrecord.adapters.streams.stream import Done, append_to
from onrecord.adapters.wire.answer import is_still_made
from onrecord.domain.encoding import Unrecognised, decode, encode
from onrecord.domain.errors import IdempotencyMismatch, VersionConflict
from onrecord.domain.events import Event, ResponseCompleted, ResponseInterrupted
from onrecord.domain.head import effect_of
from onrecord.domain.log import Append, Log, NewEvent, RecordedEvent

_TRIES: Final = 16


def record_answer(log: Log, answer: Append, request: UUID, version: int) -> Done:
    """Record what a request of the main branch was answered; on a side branch if it was overtaken.

    `version` is the last one of the conversation, as far as the caller knows. Others may append
    meanwhile; where they are quicker each time, the answer goes aside rather than missing. What
    was recorded before stays as it is. Raises IdempotencyMismatch, and what the log raises.
    """
    for _ in range(_TRIES):
        try:
            return append_to(log, answer._replace(expected_version=version))
        except VersionConflict as exc:
            version = exc.current
        except IdempotencyMismatch:
            break  # It may be aside already: the reply of the log was lost, and it is tried again.
        last = last_pointed(log, answer.conversation_id, "request", version)
        if last is None or last.event_id != request or _is_given_up(log, last, version):
            break
    beside = tuple(_on_line(event, request) for event in answer.events)
    return append_to(log, answer._replace(events=beside, expected_version=None))


def _is_given_up(log: Log, request: RecordedEvent, version: int) -> bool:
    """Whether the main branch went on from an earlier place, with no other request as yet."""
    own = request.conversation_id
    adopted = last_pointed(log, own, "adopted", version)
    if adopted is None or adopted.version < request.version:
        return False
    on_main = (s for s in lineage(log, own, version) if s.conversation_id == own and s.line is None)
    return not any(segment.has(request.version) for segment in on_main)


def _on_line(drafted: NewEvent, line: UUID) -> NewEvent:
    event = decode(drafted.type, drafted.schema_version, drafted.body)
    if isinstance(event, Unrecognised) or event.line is not None:
        return drafted
    aside = event.model_copy(update={"line": line})
    return drafted._replace(body=encode(aside), effect=effect_of(aside))


# Answers that the provider goes on with after its reply, and that a later call reads.
#
# A response in the background is asked for by its id, again and again, until it is over; a stream
# that broke off may be read from where it did. Either way it is the answer of the request that
# made it: recorded under that one, once, when all of it is there.

RequestT = TypeVar("RequestT")


class DeferredAnswers(Generic[RequestT]):
    """The requests that await such an answer, by its provider's id; safe for threads."""

    def __init__(self, most: int) -> None:
        """Await none; of more than so many the oldest are forgotten."""
        self._most = most
        self._lock = threading.Lock()
        self._awaiting: OrderedDict[str, RequestT] = OrderedDict()

    def note(self, request: RequestT, events: Iterable[Event]) -> None:
        """Take note of what a request was answered: more is to come, or that was all."""
        for event in events:
            if isinstance(event, ResponseCompleted | ResponseInterrupted) and event.provider_id:
                self.claim(event.provider_id)
                if is_still_made(event):
                    self.keep(event.provider_id, request)

    def keep(self, provider_id: str, request: RequestT) -> None:
        """Take note that a request awaits a response."""
        with self._lock:
            self._awaiting[provider_id] = request
            while len(self._awaiting) > self._most:
                self._awaiting.popitem(last=False)

    def find(self, provider_id: str) -> RequestT | None:
        """Return the request that awaits a response; None where none does that is known here."""
        with self._lock:
            return self._awaiting.get(provider_id)

    def claim(self, provider_id: str) -> bool:
        """Await a response no longer; return whether this call was the first to say so."""
        with self._lock:
            return self._awaiting.pop(provider_id, None) is not None


def find_among(recorded: Sequence[RecordedEvent], provider_id: str) -> OpenRequest | None:
    """Return the request that awaits the rest of a response, by what is recorded of it."""
    for event in reversed(recorded):
        closing = closing_of(event)
        if closing is None or closing.provider_id != provider_id or closing.request is None:
            continue
        if not is_still_made(closing):
            return None
        return OpenRequest(closing.request, line_of(event), recorded[-1].version)
    return None
