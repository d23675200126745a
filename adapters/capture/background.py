"""Answers that the provider goes on with after its reply, and that a later call reads.

A response in the background is asked for by its id, again and again, until it is over; a stream
that broke off may be read from where it did. Either way it is the answer of the request that made
it: recorded under that one, once, when all of it is there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, Generic, TypeVar
from urllib.parse import unquote

from onrecord.adapters.capture.place import Conclusion
from onrecord.domain.events import ResponseCompleted, ResponseInterrupted

RequestT = TypeVar("RequestT")

_AT_MOST: Final = 1024
_GOES_ON: Final = ("queued", "in_progress")


class Background(Generic[RequestT]):
    """Knows which requests await an answer that is read later, by the provider's id of it."""

    def __init__(self) -> None:
        """Await none."""
        self._lock = threading.Lock()
        self._awaiting: OrderedDict[str, RequestT] = OrderedDict()

    def note(self, request: RequestT, recording: Conclusion) -> None:
        """Take note of how a request was answered: it awaits the rest, or its answer is over."""
        closing = closing_of(recording)
        if closing is None or closing.provider_id is None:
            return
        with self._lock:
            self._awaiting.pop(closing.provider_id, None)
            if is_still_made(closing):
                self._keep(closing.provider_id, request)

    def found(self, provider_id: str, request: RequestT) -> None:
        """Take note that a request awaits a response, as the log says."""
        with self._lock:
            self._keep(provider_id, request)

    def awaiting(self, provider_id: str) -> RequestT | None:
        """Return the request that awaits a response; None where none does that is known here."""
        with self._lock:
            return self._awaiting.get(provider_id)

    def claim(self, provider_id: str, recording: Conclusion) -> bool:
        """Whether a reading of a response is to be recorded: it is over, and no other was yet."""
        closing = closing_of(recording)
        if closing is None or not _is_over(closing):
            return False
        with self._lock:
            return self._awaiting.pop(provider_id, None) is not None

    def _keep(self, provider_id: str, request: RequestT) -> None:
        self._awaiting[provider_id] = request
        while len(self._awaiting) > _AT_MOST:
            self._awaiting.popitem(last=False)


def is_still_made(closing: ResponseCompleted | ResponseInterrupted) -> bool:
    """Whether the provider was still at a response when its recording ended."""
    return isinstance(closing, ResponseInterrupted) and closing.envelope.get("status") in _GOES_ON


def response_id(path: str) -> str:
    """Return the provider's id of the response that a path names."""
    return unquote(path.rstrip("/").rpartition("/")[2])


def closing_of(recording: Conclusion) -> ResponseCompleted | ResponseInterrupted | None:
    """Return the event that closes a response; None where there was none, but a failure."""
    events, _ = recording
    last = events[-1] if events else None
    return last if isinstance(last, ResponseCompleted | ResponseInterrupted) else None


def is_oversized(recording: Conclusion) -> bool:
    """Whether an answer was too long to be read."""
    closing = closing_of(recording)
    return isinstance(closing, ResponseInterrupted) and closing.reason == "oversized"


def _is_over(closing: ResponseCompleted | ResponseInterrupted) -> bool:
    """Whether the provider says nothing more: what is cut, or still being made, is read again."""
    if isinstance(closing, ResponseCompleted):
        return True
    return "status" in closing.envelope and not is_still_made(closing)
