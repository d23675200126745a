"""Following a log over HTTP: its end is asked for, and the service answers once something follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.adapters.storage.subscription import PAGE, PollingSubscription
from onrecord.domain.log import Cursor, RecordedEvent

if TYPE_CHECKING:
    from onrecord.adapters.storage.http.http import Http

_WAIT_SECONDS: Final = 1.0
"""How long the service waits for what follows: who stops a subscription waits no longer."""


class HttpSubscription(PollingSubscription):
    """The events of a shard after a cursor, those to come included, in order of position."""

    def __init__(self, log: Http, after: Cursor, is_wanted: Callable[[UUID], bool]) -> None:
        """Follow a log from a cursor, where the conversation is wanted."""
        super().__init__(log.read_log, after, log.wakeups, is_wanted)
        self._log = log

    def _fetch(self) -> None:
        # The service waits: a read that brings nothing took its moment.
        self._read_page()

    def _look(self) -> tuple[list[RecordedEvent], Cursor]:
        # Other tenants' events are passed over there, and not again.
        return self._log.tail(self._after, PAGE, _WAIT_SECONDS)
