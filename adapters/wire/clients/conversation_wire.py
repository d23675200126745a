"""A conversation's side of the wire, as one of its holders has it."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from onrecord.adapters.conversation.requests import Asked
    from onrecord.adapters.recording.recorder import Journal
    from onrecord.adapters.recording.recorders import Journals
    from onrecord.adapters.streams.stream import Stream
    from onrecord.adapters.wire.clients.binding import Scope

ClientT = TypeVar("ClientT")

_REMEMBERED: Final = 8
"""How many rendered requests are kept in mind, to know them again on the wire."""


class TalkWire:
    """Records clients and scopes into one conversation; safe to share between threads.

    The journal is made when it is first needed: most holders of a conversation need none, and
    recording a client writes nothing.
    """

    def __init__(self, talk: Stream, journals: Journals) -> None:
        """Record into a conversation, by its journal among these."""
        self.talk = talk
        self._journals = journals
        self._journal: Journal | None = None
        self._asked: deque[Asked] = deque(maxlen=_REMEMBERED)
        self._accounts: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def journal(self) -> Journal:
        """Return the journal; what was rendered and expected before there was one, it knows."""
        with self._lock:
            journal = self._journal = self._journals.of(self.talk)
            while self._asked:
                journal.remember(self._asked.popleft())
            while self._accounts:
                journal.expect(*self._accounts.pop())
        return journal

    def expect(self, api: str, key: str) -> None:
        """Take note of the key under which a client sends requests of an API."""
        with self._lock:
            self._accounts.add((api, key))

    def account(self, api: str) -> str | None:
        """Return the account that an API's requests go out under, if only one is known."""
        journal = self.journal() if self._accounts else self._known()
        return None if journal is None else journal.account(api)

    def remember(self, asked: Asked) -> None:
        """Take note of a request that was rendered: it may go out next, by whatever client."""
        with self._lock:
            journal = self._known()
            if journal is None:
                self._asked.append(asked)
        if journal is not None:
            journal.remember(asked)

    def record(self, client: ClientT, after: int | None, *, splice: bool = False) -> ClientT:
        """Return a client of the same type whose wire is recorded; UnsupportedClient for others."""
        from onrecord.adapters.wire.clients import record
        from onrecord.adapters.wire.clients.binding import Binding

        return record.record(client, Binding(self._journals, self, after=after, splice=splice))

    def headers(self) -> dict[str, str]:
        """Return the header that binds a call to the conversation."""
        self.journal()
        return self._journals.header(self.talk)

    def scope(self) -> Scope:
        """Return a new scope of the conversation."""
        from onrecord.adapters.wire.clients import unwrapped
        from onrecord.adapters.wire.clients.binding import Binding, Scope
        from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder

        unwrapped.record_in_scopes()
        return Scope(ExchangeRecorder(Binding(self._journals, self)))

    def _known(self) -> Journal | None:
        return self._journal or self._journals.known(self.talk.conversation_id)
