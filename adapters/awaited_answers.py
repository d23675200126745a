"""Answers of which the rest is read later: the request that awaits each, by the provider's id."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from onrecord.adapters.capture.background import is_still_made
from onrecord.adapters.side_lines import closing_of, line_of
from onrecord.adapters.standing import Begun
from onrecord.domain.events import Event, ResponseCompleted, ResponseInterrupted
from onrecord.domain.log import RecordedEvent

_REMEMBERED: Final = 64


class AwaitedAnswers:
    """What this process knows of them; safe to share between threads."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        # Not the requests themselves: one is in flight for as long as it is held.
        self._awaiting: OrderedDict[str, tuple[UUID, UUID | None, int]] = OrderedDict()

    def note(self, begun: Begun, events: Iterable[Event]) -> None:
        """Take note of what a request was answered: more is to come, or that was all."""
        for event in events:
            if isinstance(event, ResponseCompleted | ResponseInterrupted) and event.provider_id:
                self._note(begun, event, event.provider_id)

    def find(self, provider_id: str) -> Begun | None:
        """Return the request that awaits the rest of a response."""
        with self._lock:
            known = self._awaiting.get(provider_id)
        return _begun(*known) if known else None

    def _note(
        self, begun: Begun, event: ResponseCompleted | ResponseInterrupted, provider_id: str
    ) -> None:
        with self._lock:
            self._awaiting.pop(provider_id, None)
            if is_still_made(event):
                self._awaiting[provider_id] = begun.request, begun.line, begun.version
                while len(self._awaiting) > _REMEMBERED:
                    self._awaiting.popitem(last=False)


def find_among(recorded: Sequence[RecordedEvent], provider_id: str) -> Begun | None:
    """Return the request that awaits the rest of a response, by what is recorded of it."""
    for event in reversed(recorded):
        closing = closing_of(event)
        if closing is None or closing.provider_id != provider_id or closing.request is None:
            continue
        if not is_still_made(closing):
            return None
        return _begun(closing.request, line_of(event), recorded[-1].version)
    return None


def _begun(request: UUID, line: UUID | None, version: int) -> Begun:
    begun = Begun(request, line)
    begun.version = version
    return begun
