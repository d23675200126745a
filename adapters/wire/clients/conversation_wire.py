"""A conversation's side of the wire, as one of its holders has it, and its verbs that record calls."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from onrecord.adapters.inputs.arguments import version_asked
from onrecord.adapters.recording.tenancy import REMEMBERED, Recorders, Tenancy
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain.new_events import NOBODY, Attribution

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from onrecord.adapters.recording.actor_names import AttributionNames
    from onrecord.adapters.recording.recorder import Recorder
    from onrecord.adapters.streams.scopes import Scope
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
        # Asked before the lock is taken: a step that a loop drives may wait for it.
        _ = self.stream.conversation_id
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
        _ = self.stream.conversation_id  # As in `recorder`.
        with self._lock:
            recorder = self._known()
            if recorder is None:
                self._recorders.note_waiting(self)
                self._rendered.append(rendered)
        if recorder is not None:
            recorder.remember(rendered)

    def drop_texts(self) -> None:
        """Keep nothing that was rendered in mind."""
        with self._lock:
            self._rendered.clear()

    def record(self, client: ClientT, after: int | None, *, splice: bool = False) -> ClientT:
        """Return a client of the same type whose wire is recorded; UnsupportedClient for others."""
        from onrecord.adapters.wire.clients import record
        from onrecord.adapters.wire.clients.binding import Binding

        return record.record(client, Binding(self._recorders, self, after=after, splice=splice))

    def headers(self) -> dict[str, str]:
        """Return the header that binds a call to the conversation."""
        self.recorder()  # Kept: its first event may be the call's.
        return self._recorders.header(self.stream)

    def scope(self, attribution: Attribution = NOBODY) -> Scope:
        """Return a new scope of the conversation, in which somebody acts."""
        from onrecord.adapters.streams.scopes import Scope
        from onrecord.adapters.wire.clients import unwrapped
        from onrecord.adapters.wire.clients.binding import Binding
        from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder

        unwrapped.record_in_scopes()
        exchanges = ExchangeRecorder(Binding(self._recorders, self))
        return Scope(self.stream, exchanges, attribution)

    def _known(self) -> Recorder | None:
        return self._recorder or self._recorders.known(self.stream.conversation_id)


class ConversationRecording:
    """The verbs of a conversation that record calls: `Conversation` has them, with all others."""

    def __init__(
        self, tenancy: Tenancy, key: str, holder: Attribution = NOBODY, subjects: Iterable[str] = ()
    ) -> None:
        """Record into the conversation of a key, in which `holder` acts; InvalidInput for no key."""
        self._tenancy = tenancy
        self._stream = tenancy.stream(key, holder, subjects)
        self._wire = ConversationWire(self._stream, tenancy.recorders)

    def record(self, client: ClientT, *, after: int | None = None, splice: bool = False) -> ClientT:
        """Return a client of the same type; all that crosses its wire is recorded here.

        It shares its connections with the client that was given. A call's own `headers` bind it
        elsewhere; a scope does not. What a request goes on from is told from its messages; where
        you know it, `after` is the version that the first one goes on from, and what came after
        that is history no more. `splice` has what was rendered here sent byte for byte, though the
        SDK spells it otherwise. Raises UnsupportedClient for anything but a client of the
        `anthropic`, `openai`, `google-genai`, `ollama` or `boto3` SDK, sync or async.
        """
        version = None if after is None else version_asked(self._stream.head(), after)
        return self._wire.record(client, version, splice=bool(splice))

    def record_request(
        self, request: Mapping[str, Any] | bytes | str, *, api: str, model: str | None = None
    ) -> Done:
        """Record a request that goes out, or went, by another way than a recorded client.

        `request` is its body as the API has it, as JSON or as bytes. Where the path of the URL names
        the model, and no member of the body, give `model`. Give what is returned, or its `last`, to
        `record_response` as the request. InvalidContent or MalformedJson for what is no such body.
        """
        from onrecord.adapters.wire.clients.offline import record_request

        by = self._stream.attribution()
        return record_request(self._wire.recorder(), request, api, model, by)

    def record_response(
        self,
        native: object,
        *,
        api: str,
        request: Mapping[str, Any] | bytes | str | int | Done | None = None,
        model: str | None = None,
    ) -> Done:
        """Record a provider's answer that you have in hand as if it had crossed a recorded wire.

        `native` is its body (JSON or bytes), an SDK's object, or the chunks of a stream. `request` is
        what it answers: a body, the version of a recorded request, or what `record_request` returned;
        else it is the last one that waits for an answer, or that was rendered (docs/recording.md).
        The same answer again changes nothing. InvalidContent where it is no answer of the API,
        InvalidInput where nothing tells which request it answers: then nothing is recorded.
        """
        from onrecord.adapters.wire.clients.offline import record_response

        by = self._stream.attribution()
        return record_response(self._wire.recorder(), native, api, request, model, by)

    @property
    def headers(self) -> dict[str, str]:
        """What binds one call of a recorded client to this conversation, whatever else does.

        Give it as the call's `extra_headers`. It is taken out before anything is sent.
        """
        return self._wire.headers()

    def recording(self, **names: Unpack[AttributionNames]) -> AbstractContextManager[None]:
        """Return a scope: `with conversation.recording():` records here what is called within.

        That is the calls of clients that nobody recorded, such as a framework makes its own, and
        those of `store.record(client)`; not those of a client that was recorded for a conversation.
        Scopes nest, the innermost holds. Tasks and `asyncio.to_thread` take them along; threads do
        where they run in `contextvars.copy_context()`. In a generator it holds while that runs.
        `actor` is who acts in it, and `on_behalf_of` for whom, by name; `policy` and `deployment`
        are the rules in force (docs/actors.md).
        """
        return self._wire.scope(self._tenancy.names.attribution(**names))
