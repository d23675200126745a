"""Following a log over HTTP: its end is asked for, and the service answers once something follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Self
from uuid import UUID

from onrecord.adapters.storage.subscription import PAGE
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import Cursor, RecordedEvent

if TYPE_CHECKING:
    from onrecord.adapters.storage.http.http import Http

_WAIT_SECONDS: Final = 1.0
"""How long the service waits for what follows: who stops a subscription waits no longer."""


class HttpSubscription:
    """The events of a shard after a cursor, those to come included, in order of position."""

    def __init__(self, log: Http, after: Cursor, is_wanted: Callable[[UUID], bool]) -> None:
        """Follow a log from a cursor, where the conversation is wanted."""
        self._log = log
        self._after = after
        self._is_wanted = is_wanted
        self._ready: deque[RecordedEvent] = deque()
        self._stopped = False

    def __iter__(self) -> Self:
        """Return itself."""
        return self

    def __next__(self) -> RecordedEvent:
        """Return the next event, waiting for it; end the iteration once stopped."""
        while not self.is_over:
            if (event := self.poll()) is not None:
                return event
        raise StopIteration

    @property
    def is_over(self) -> bool:
        """Whether it was stopped, or the store was closed."""
        return self._stopped or self._log.wakeups.closed

    def poll(self) -> RecordedEvent | None:
        """Return the next event; None where a moment's wait brought none, or it is over."""
        if not self._ready and not self.is_over:
            self._fetch()
        return self._ready.popleft() if self._ready and not self.is_over else None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def stop(self) -> None:
        """End the iteration, from any thread."""
        self._stopped = True

    def _fetch(self) -> None:
        try:
            # The wait costs nothing where something follows, and nothing is read twice.
            page, end = self._log.tail(self._after, PAGE, _WAIT_SECONDS)
            wanted = [event for event in page if self._is_wanted(event.conversation_id)]
        except StorageUnavailable:
            if self.is_over:  # The backend was closed while this thread was reading.
                return
            raise
        self._ready.extend(wanted)
        self._after = end
