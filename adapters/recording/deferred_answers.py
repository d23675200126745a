"""Answers that the provider goes on with after its reply, and that a later call reads.

A response in the background is asked for by its id, again and again, until it is over; a stream
that broke off may be read from where it did. Either way it is the answer of the request that
made it: recorded under that one, once, when all of it is there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.recording.state import OpenRequest
from onrecord.adapters.streams.event_reading import closing_of, line_of
from onrecord.adapters.wire.answer import is_still_made
from onrecord.domain.events import Event, ResponseCompleted, ResponseInterrupted
from onrecord.domain.log import RecordedEvent
from onrecord.domain.new_events import attribution_of

RequestT = TypeVar("RequestT")


class DeferredAnswers(Generic[RequestT]):
    """The requests that await such an answer, by its provider's id; safe for threads."""

    def __init__(self, most: int) -> None:
        """Await none; of more than so many the oldest are forgotten."""
        self._lock = threading.Lock()
        self._awaiting: Newest[str, RequestT] = Newest(most)

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
        by = attribution_of(event.client_header())
        return OpenRequest(closing.request, line_of(event), recorded[-1].version, by)
    return None
