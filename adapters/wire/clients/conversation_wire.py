"""A conversation's side of the wire, as one of its holders has it."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from onrecord.adapters.recording.tenancy import REMEMBERED, Recorders
from onrecord.adapters.streams.stream import Stream

if TYPE_CHECKING:
    from onrecord.adapters.recording.recorder import Recorder
    from onrecord.adapters.wire.clients.binding import Scope
    from onrecord.projections.matching.template import RenderedRequest

ClientT = TypeVar("ClientT")


class ConversationWire:
    """Records clients and scopes into one conversation; safe to share between threads.

    The recorder is made when it is first needed: most holders of a conversation need none, and
    recording a client writes nothing.
    """

    def __init__(self, stream: Stream, recorders: Recorders) -> None:
        """Record into a conversation, by its recorder among these."""
        self.stream = stream
        self._recorders = recorders
        self._recorder: Recorder | None = None
        self._rendered: deque[RenderedRequest] = deque(maxlen=REMEMBERED)
        self._accounts: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def recorder(self) -> Recorder:
        """Return the recorder; what was rendered and expected before there was one, it knows."""
        with self._lock:
            recorder = self._recorder = self._recorders.of(self.stream)
            while self._rendered:
                recorder.remember(self._rendered.popleft())
            while self._accounts:
                recorder.expect(*self._accounts.pop())
        return recorder

    def expect(self, api: str, key: str) -> None:
        """Take note of the key under which a client sends requests of an API."""
        with self._lock:
            self._accounts.add((api, key))

    def account(self, api: str) -> str | None:
        """Return the account that an API's requests go out under, if only one is known."""
        recorder = self.recorder() if self._accounts else self._known()
        return None if recorder is None else recorder.account(api)

    def remember(self, rendered: RenderedRequest) -> None:
        """Take note of a request that was rendered: it may go out next, by whatever client."""
        with self._lock:
            recorder = self._known()
            if recorder is None:
                self._rendered.append(rendered)
        if recorder is not None:
            recorder.remember(rendered)

    def record(self, client: ClientT, after: int | None, *, splice: bool = False) -> ClientT:
        """Return a client of the same type whose wire is recorded; UnsupportedClient for others."""
        from onrecord.adapters.wire.clients import record
        from onrecord.adapters.wire.clients.binding import Binding

        return record.record(client, Binding(self._recorders, self, after=after, splice=splice))

    def headers(self) -> dict[str, str]:
        """Return the header that binds a call to the conversation."""
        self.recorder()  # Kept: its first event may be the call's.
        return self._recorders.header(self.stream)

    def scope(self) -> Scope:
        """Return a new scope of the conversation."""
        from onrecord.adapters.wire.clients import unwrapped
        from onrecord.adapters.wire.clients.binding import Binding, Scope
        from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder

        unwrapped.record_in_scopes()
        return Scope(ExchangeRecorder(Binding(self._recorders, self)))

    def _known(self) -> Recorder | None:
        return self._recorder or self._recorders.known(self.stream.conversation_id)
