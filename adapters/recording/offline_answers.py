"""Answers that no wire brought here: each is recorded once, whoever hands it over again.

Its ids are made of what it is known by, such as the provider's id of the response. So processes
that record one at the same time write the same events, and the log takes them once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.recording.paths import RECENT
from onrecord.adapters.recording.state import OpenRequest
from onrecord.adapters.streams.event_reading import closing_of
from onrecord.adapters.streams.knowledge import recorded_before
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.wire.answer import Conclusion
from onrecord.adapters.wire.blob_bytes import pieces_of
from onrecord.domain import jsontext
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Blob, Native, NeutralBlock, Text, ToolCall
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import CorruptRecord, IdempotencyMismatch
from onrecord.domain.events import (
    AnswerPart,
    AttemptFailed,
    Event,
    MessageRecorded,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
    ToolCallRecorded,
)
from onrecord.domain.log import Duplicate, NewEvent, RecordedEvent
from onrecord.domain.new_events import attribution_of, lasting_id
from onrecord.projections.api import neutral_of

_UNANSWERED_AT_MOST: Final = 64


class OfflineAnswer:
    """An answer, or a failed attempt, that names no request yet, for one conversation.

    `identity` is what it is known by; None: it is new each time.
    """

    def __init__(self, stream: Stream, recording: Conclusion, identity: str | None) -> None:
        """Hold an answer, whose events name no request of the log."""
        self._stream = stream
        self._events, self.blobs = recording
        self._identity = identity

    def drafted(self, request: OpenRequest) -> tuple[NewEvent, ...]:
        """Return the events, ready for the log, as what a request was answered."""
        ids: Iterable[UUID | None] = self._ids()
        if self._identity is None:
            ids = (None for _ in self._events)
        return tuple(
            self._stream.draft(event, request.request, event_id=event_id, by=request.by)
            for event, event_id in zip(self.events(request), ids, strict=False)
        )

    def events(self, request: OpenRequest) -> Iterator[Event]:
        """Yield the events as what a request was answered; responses under lasting ids."""
        lasting: dict[UUID, UUID] = {}

        def id_of(response: UUID) -> UUID:
            if self._identity is None:
                return response
            return lasting.setdefault(response, lasting_id(self._seed, b"r:%d" % len(lasting)))

        for event in self._events:
            line = request.line if event.line is None else id_of(event.line)
            update: dict[str, object] = {"line": line}
            if isinstance(event, AnswerPart | ResponseCompleted | ResponseInterrupted):
                update["response"] = event.response and id_of(event.response)
            if isinstance(event, ResponseCompleted | ResponseInterrupted | AttemptFailed):
                update["request"] = request.request
            yield event.model_copy(update=update)

    def branch(self) -> UUID:
        """Return the id of the side branch that the answer is on where it is not the first one."""
        return lasting_id(self._seed, b"line")

    def find(self) -> Duplicate | None:
        """Return where the answer was recorded before under its identity; None if it was not."""
        stream = self._stream
        if self._identity is None or stream.head().version == 0:
            return None
        *_, last = self.drafted(OpenRequest(UUID(int=0), None))
        # The log compares the whole event, whose request and spelling are not known to be the same.
        with suppress(IdempotencyMismatch):
            if recorded_before(stream, (last,)) is None:
                return None
        return self._place()

    def says_as(self, recorded: Iterable[RecordedEvent]) -> bool:
        """Whether recorded events say what the answer says: the same words, and the same calls.

        A whole body, its stream and an SDK's object of it do. What was erased of a recorded one is
        not known any more: then it counts as the same, for nothing may come back that was erased.
        """
        events = [each.event() for each in recorded]
        if any(isinstance(event, Erased) for event in events):
            return True
        return _statement_in(events, self._bytes_of) == _statement_in(self._events, self._bytes_of)

    def _bytes_of(self, blob: Blob) -> bytes:
        """Return the bytes of a blob of the answer, or of the conversation."""
        content = self.blobs.get(blob.sha256)
        return self._stream.blob(blob) if content is None else b"".join(pieces_of(content))

    def _place(self) -> Duplicate:
        """Return the versions of an answer that is recorded: among the last events, or wherever.

        CorruptRecord where the conversation has none of its events, though the log knows their ids.
        """
        stream, ids = self._stream, frozenset(self._ids())
        version = stream.head().version
        for after in (max(0, version - RECENT), 0):
            read = stream.backend.read(stream.conversation_id, after=after, until=version)
            if versions := [recorded.version for recorded in read if recorded.event_id in ids]:
                return Duplicate(versions[0], versions[-1])
        raise CorruptRecord(
            "the log knows an answer that its conversation does not hold: verify the log, and restore "
            "a backup"
        )

    def _ids(self) -> Iterator[UUID]:
        """Yield the ids of the events; the last one's tells whether the answer is recorded."""
        yield from (lasting_id(self._seed, b"e:%d" % n) for n in range(len(self._events) - 1))
        yield lasting_id(self._seed, b"closing")

    @cached_property
    def _seed(self) -> bytes:
        stream = self._stream
        named = f"offline answer:{stream.tenant}:{stream.conversation_id}:{self._identity}"
        return stream.backend.digest(named)


class OfflineRequests:
    """The requests that a program recorded itself and that have no answer yet; newest last.

    `lock` is held for as long as one answer is recorded: of two threads that hand over the same one
    the second finds it recorded.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.lock = threading.Lock()
        self._waiting: Newest[UUID, tuple[str, int]] = Newest(_UNANSWERED_AT_MOST)

    def keep(self, api: str, request: OpenRequest) -> None:
        """Take note of a request that was recorded; of too many the oldest are let go of."""
        self._waiting[request.request] = api, request.version

    def last(self, api: str) -> int | None:
        """Return the version of the newest request of an API; None if there is none."""
        # At once: another thread may record a request meanwhile.
        waiting = tuple(self._waiting.values())
        versions = [version for of_api, version in waiting if of_api == api]
        return versions[-1] if versions else None

    def answered(self, request: OpenRequest) -> None:
        """Take note that a request has its answer."""
        self._waiting.pop(request.request, None)


def request_in(recorded: RecordedEvent) -> OpenRequest | None:
    """Return the request that an event is; None where it is none. Its answer is its sender's."""
    event = recorded.event()
    if not isinstance(event, RequestSent):
        return None
    by = attribution_of(recorded.client_header())
    return OpenRequest(recorded.event_id, event.line, recorded.version, by=by)


def closing_known_as(
    recorded: Sequence[RecordedEvent], closing: ResponseCompleted | ResponseInterrupted
) -> tuple[RecordedEvent, ResponseCompleted | ResponseInterrupted] | None:
    """Return the last of recorded events that closes the same response of the provider's."""
    name = provider_name(closing)
    spelled = jsontext.write(name)
    for event in reversed(recorded):
        # Bodies are compact JSON: most are not read.
        found = closing_of(event) if spelled in (event.body or b"") else None
        if found is not None and found.api == closing.api and provider_name(found) == name:
            return event, found
    return None


def is_answered(recorded: Iterable[RecordedEvent], request: UUID) -> bool:
    """Whether a request has a whole answer among recorded events."""
    spelled = str(request).encode()
    closings = (closing_of(event) for event in recorded if spelled in (event.body or b""))
    return any(isinstance(it, ResponseCompleted) and it.request == request for it in closings)


def response_versions(recorded: Iterable[RecordedEvent], response: UUID) -> Duplicate:
    """Return where the events of a response are, among recorded ones that hold its end."""
    versions = [
        each.version
        for each in recorded
        for event in [each.event()]
        if isinstance(event, AnswerPart | ResponseCompleted | ResponseInterrupted)
        and event.response == response
    ]
    return Duplicate(versions[0], versions[-1])


def provider_name(closing: ResponseCompleted | ResponseInterrupted) -> str | None:
    """Return what the provider calls a response: its id, or that of the call where it has none."""
    return closing.provider_id or closing.request_id


class _Statement(NamedTuple):
    """What an answer says, however it is spelled: its words, and its calls as canonical JSON."""

    words: str
    calls: tuple[bytes, ...]


def _statement_in(
    events: Iterable[Event | Unrecognised | Erased], bytes_of: Callable[[Blob], bytes]
) -> _Statement:
    """Return what the first of an answer's alternatives says."""
    words: list[str] = []
    calls: list[bytes] = []
    for event in events:
        match event:
            case ToolCallRecorded(content=Native() as content):
                call = _neutral(content, bytes_of)
                # The id is that of the call's own JSON: where that has none, one was made up.
                value = call.model_dump() if isinstance(call, ToolCall) else content.value
                calls.append(jsontext.write_canonical([event.name, value]))
            case MessageRecorded(role="assistant"):
                blocks = [_neutral(it, bytes_of) for it in event.content if isinstance(it, Native)]
                words += [block.text for block in blocks if isinstance(block, Text)]
            case ResponseCompleted() | ResponseInterrupted():
                break  # What follows are further samples.
            case _:
                continue
    return _Statement("".join(words), tuple(calls))


def _neutral(content: Native, bytes_of: Callable[[Blob], bytes]) -> NeutralBlock:
    """Return a block in neutral form, its long texts in their places."""
    texts = {blob.sha256: bytes_of(blob) for blob in referenced(content.value)}
    return neutral_of(content.api, restore(content.value, texts))
