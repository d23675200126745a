"""Writes what goes over a client's wire into one conversation, as it goes.

A request is durable before it is sent, in one commit with all that it says for the first time; an
answer in one commit with its blocks. What cannot be stored after a request was sent is spooled.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from typing_extensions import TypeIs

from hansard.adapters.capture.anthropic_events import Recording
from hansard.adapters.capture.anthropic_requests import Sent, read_request
from hansard.adapters.capture.nesting import read_object
from hansard.adapters.capture.spool import Spool
from hansard.adapters.capture.unstored import Unstored
from hansard.adapters.reading import Stretch, blob_among, in_force, since_request
from hansard.adapters.recording import Outgoing, Plan, Rendered, Standing, matching, plan
from hansard.adapters.writing import Done
from hansard.domain import conversation
from hansard.domain.content import Blob
from hansard.domain.draft import blobs_of
from hansard.domain.errors import (
    ConversationClosed,
    HansardError,
    IdempotencyMismatch,
    InvalidContent,
    NotRecorded,
    VersionConflict,
)
from hansard.domain.events import Event, InstructionsSet, RequestSent, ToolsDefined
from hansard.domain.head import Head, Pointer
from hansard.domain.log import Append, Backend, Blobs, NewEvent
from hansard.domain.registry import Erased, Unrecognised
from hansard.projections.continuation import since
from hansard.projections.sources import Source, sources_in
from hansard.projections.template import Parent, split

if TYPE_CHECKING:
    from hansard.adapters.asking import Asked

logger = logging.getLogger("hansard")

_TRIES: Final = 8
_REMEMBERED: Final = 8


class Conversation(Protocol):
    """What a journal needs of the conversation that it writes; a `Talk` has it."""

    backend: Backend
    tenant: UUID
    key: str

    @property
    def conversation_id(self) -> UUID:
        """The conversation's id."""
        ...

    def head(self) -> Head:
        """Return where the conversation stands."""
        ...

    def lineage(self, version: int, head: Head | None = None) -> tuple[Stretch, ...]:
        """Return what the conversation is made of at a version."""
        ...

    def draft(
        self, event: Event, causation_id: UUID | None = None, *, event_id: UUID | None = None
    ) -> NewEvent:
        """Return an event of this conversation ready for the log."""
        ...

    def append_drafted(
        self, drafted: tuple[NewEvent, ...], expected_version: int | None = None
    ) -> Done:
        """Record drafted events; VersionConflict or IdempotencyMismatch where it cannot be."""
        ...


class Begun:
    """A request that is recorded and may be answered; in flight for as long as it is held."""

    __slots__ = ("__weakref__", "line", "request")

    def __init__(self, request: UUID, line: UUID | None) -> None:
        """Hold a request, by the id of its event, and the side line it is on, if any."""
        self.request = request
        self.line = line


class Journal:
    """The wire's side of one conversation; safe to share between threads and clients.

    It knows the requests that are in flight in this process, the latest that were rendered here,
    and the body of the last one.
    """

    def __init__(self, talk: Conversation, spool: Spool) -> None:
        """Write into a conversation; what its store cannot take waits in the spool."""
        self.talk = talk
        self.spool = spool
        self._lock = threading.Lock()
        self._in_flight: weakref.WeakSet[Begun] = weakref.WeakSet()
        self._rendered: deque[Rendered] = deque(maxlen=_REMEMBERED)
        self._last: Parent | None = None
        self._in_force: dict[Pointer, tuple[int, Event | Unrecognised | Erased | None]] = {}

    def remember(self, asked: Asked) -> None:
        """Take note of a request that was rendered here: it may go out next."""
        self._rendered.append(Rendered(asked.recipe, asked.request.body_parts, asked.sources))

    def digest(self, text: str) -> bytes:
        """Return the store's keyed digest of a text."""
        return self.talk.backend.digest(text)

    def begin(self, outgoing: Outgoing) -> Begun:
        """Make a request durable, and all that it says for the first time.

        Raises a HansardError where that cannot be done: then nothing is recorded.
        """
        try:
            asked, is_readable = read_request(outgoing.body), True
        except InvalidContent:
            asked, is_readable = _unread(outgoing.body), False
        with self._lock:
            self.spool.take_in(self.talk.backend)
            decided = self._record(outgoing, asked, aside=not is_readable)
            self._last = Parent(decided.request, outgoing.body)
            begun = Begun(decided.request, decided.line)
            self._in_flight.add(begun)
        return begun

    def resume(self, begun: Begun) -> None:
        """Take note that another attempt of a request is in flight."""
        self._in_flight.add(begun)

    def conclude(self, begun: Begun, recording: Recording) -> None:
        """Make an answer, or a failed attempt, durable; spool it where the store cannot take it.

        Raises nothing of its own: the answer is on its way to the caller.
        """
        events, blobs = recording
        talk = self.talk
        try:
            drafted = tuple(talk.draft(event, begun.request) for event in events)
        except HansardError:
            logger.critical(
                "an answer cannot be recorded: a value in it has no form", exc_info=True
            )
            return
        finally:
            self._in_flight.discard(begun)
        try:
            self._store(drafted, blobs)
        except BaseException as exc:
            # Interrupted or not, the log may have it: what is spooled is recorded once.
            append = Append(talk.tenant, talk.conversation_id, drafted)
            self.spool.put(Unstored(append, blobs), exc)
            if not isinstance(exc, Exception):
                raise

    def _record(self, outgoing: Outgoing, asked: Sent, *, aside: bool) -> Plan:
        """Record a request where it belongs; decide again when another writer was quicker."""
        rendered = matching(outgoing.body, self._rendered)
        for tries_left in reversed(range(_TRIES)):
            aside = aside or not tries_left
            standing = self._standing()
            decided = plan(outgoing, asked, standing, rendered=rendered, aside=aside)
            version = standing.head.version
            expected = None if aside and version else version
            drafted, blobs = self._drafted(decided, standing, outgoing, rendered)
            try:
                self._store(drafted, blobs, expected)
            except VersionConflict:
                continue
            except IdempotencyMismatch:
                # It says something else under an id that is recorded: a view of its own.
                aside = True
                continue
            return decided
        raise NotRecorded("other writers of the conversation were quicker each time: call again")

    def _drafted(
        self, decided: Plan, standing: Standing, outgoing: Outgoing, rendered: Rendered | None
    ) -> tuple[tuple[NewEvent, ...], Mapping[str, bytes]]:
        """Draft what a plan records; the request last, as a template of what is stored then."""
        start = conversation.start(standing.head, self.talk.key)
        before = [self.talk.draft(event) for event in (*start, *decided.events)]
        known = [*standing.sources, *(Source(event.event_id, event.body) for event in before)]
        if self._last is None and rendered is not None:
            known = [*rendered.sources(), *known]
        template, spans = split(outgoing.body, known=known, parent=self._last, cut=outgoing.cut)
        sent = self.talk.draft(decided.sent(template), event_id=decided.request)
        return (*before, sent), {**decided.blobs, **spans}

    def _store(
        self,
        drafted: tuple[NewEvent, ...],
        blobs: Mapping[str, bytes],
        expected_version: int | None = None,
    ) -> None:
        talk = self.talk
        for data in blobs.values():
            talk.backend.put_blob(talk.tenant, talk.conversation_id, (data,))
        talk.append_drafted(drafted, expected_version)

    def _standing(self) -> Standing:
        """Read where the conversation stands: its head, and what came after its last request."""
        head = self.talk.head()
        if head.closed:
            raise ConversationClosed("the conversation is closed: start another, or fork it")
        stretches = self.talk.lineage(head.version, head)
        recorded = since_request(self.talk.backend, stretches)
        known = [event for event in (item.event() for item in recorded) if _is_known(event)]
        last = known[0] if known and isinstance(known[0], RequestSent) else None
        instructions = self._pointed("instructions", head.instructions, stretches)
        tools = self._pointed("tools", head.tools, stretches)
        blobs = (blob for event in (*known, instructions, tools) for blob in _blobs(event))
        return Standing(
            head=head,
            last=last,
            last_id=recorded[0].event_id if last else None,
            since=since(known[1:] if last else known),
            in_flight=last is not None and self._is_in_flight(recorded[0].event_id),
            instructions=instructions if isinstance(instructions, InstructionsSet) else None,
            tools=tools if isinstance(tools, ToolsDefined) else None,
            blobs=_Stored(self.talk.backend, stretches, {blob.sha256: blob for blob in blobs}),
            sources=sources_in(event.told() for event in recorded),
        )

    def _pointed(
        self, pointer: Pointer, version: int, stretches: tuple[Stretch, ...]
    ) -> Event | Unrecognised | Erased | None:
        """Return what is in force; it is read again only when another version sets it."""
        known = self._in_force.get(pointer)
        if known is not None and known[0] == version:
            return known[1]
        recorded = in_force(self.talk.backend, stretches, pointer)
        event = None if recorded is None else recorded.event()
        self._in_force[pointer] = (version, event)
        return event

    def _is_in_flight(self, request: UUID) -> bool:
        return any(begun.request == request for begun in list(self._in_flight))


class _Stored(Mapping[str, bytes]):
    """The bytes of blobs by digest, read when they are asked for."""

    def __init__(
        self, blobs: Blobs, stretches: tuple[Stretch, ...], known: Mapping[str, Blob]
    ) -> None:
        self._store = blobs
        self._stretches = stretches
        self._blobs = known

    def __getitem__(self, digest: str) -> bytes:
        return blob_among(self._store, self._stretches, self._blobs[digest])

    def __contains__(self, digest: object) -> bool:
        return digest in self._blobs

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)


def _is_known(event: Event | Unrecognised | Erased) -> TypeIs[Event]:
    return not isinstance(event, Unrecognised | Erased)


def _blobs(event: Event | Unrecognised | Erased | None) -> tuple[Blob, ...]:
    return blobs_of(event) if event is not None and _is_known(event) else ()


def _unread(body: bytes) -> Sent:
    """Return a request that does not make sense: its body is all that is known of it."""
    return Sent(
        body=read_object(body),
        model=None,
        stream=False,
        system=None,
        tools=None,
        messages=[],
        max_tokens=None,
    )
