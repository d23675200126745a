"""Where a conversation stands when a request goes out, read from the log; no more than it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol
from uuid import UUID
from weakref import WeakValueDictionary

from typing_extensions import TypeIs

from hansard.adapters.lineage import Stretch
from hansard.adapters.reading import blob_among, in_force, since_request
from hansard.adapters.recording import Standing
from hansard.domain.content import Blob
from hansard.domain.draft import blobs_of
from hansard.domain.errors import ConversationClosed
from hansard.domain.events import (
    Event,
    InstructionsSet,
    RequestSent,
    ResponseCompleted,
    ToolsDefined,
)
from hansard.domain.head import Head, Pointer
from hansard.domain.log import Backend, Blobs, Told
from hansard.domain.registry import Erased, Unrecognised
from hansard.projections.continuation import since
from hansard.projections.seen import as_seen, says_something
from hansard.projections.sources import sources_in


class Begun:
    """A request that is recorded and may be answered; in flight for as long as it is held.

    `request` is the id of its event, which has that `version` once it is recorded; `line` the side
    line that it is on, if any.
    """

    __slots__ = ("__weakref__", "line", "request", "version")

    def __init__(self, request: UUID, line: UUID | None) -> None:
        """Hold a request that is about to be recorded."""
        self.request = request
        self.line = line
        self.version = 0


IN_FLIGHT: WeakValueDictionary[UUID, Begun] = WeakValueDictionary()
"""The requests that are in flight in this process, by id: a conversation may have many holders."""


class Conversation(Protocol):
    """What is asked of a conversation to tell where it stands; a `Talk` has it."""

    backend: Backend

    def head(self) -> Head:
        """Return where the conversation stands."""
        ...

    def lineage(self, version: int, head: Head | None = None) -> tuple[Stretch, ...]:
        """Return what the conversation is made of at a version."""
        ...


class Standings:
    """Tells where one conversation stands; keeps in mind what is in force."""

    def __init__(self, talk: Conversation) -> None:
        """Tell of a conversation; one thread at a time."""
        self._talk = talk
        self._in_force: dict[Pointer, tuple[int, Event | Unrecognised | Erased | None]] = {}

    def now(self) -> Standing:
        """Read the head, and what came after the last request; ConversationClosed if it is over."""
        head = self._talk.head()
        if head.closed:
            raise ConversationClosed("the conversation is closed: start another, or fork it")
        stretches = self._talk.lineage(head.version, head)
        backend = self._talk.backend
        told = [recorded.told() for recorded in since_request(backend, stretches)]
        ordered = [item for item in as_seen(told)[0] if isinstance(item, Told)]
        known = [(item, event) for item in ordered for event in [item.event()] if _is_known(event)]
        place, last = _last_request(known)
        after = known[place:]
        last_id = UUID(bytes=known[place - 1][0].event_id) if last else None
        instructions = self._pointed("instructions", head.instructions, stretches)
        tools = self._pointed("tools", head.tools, stretches)
        pointed = [event for event in (instructions, tools) if event and _is_known(event)]
        blobs = (blob for event in (*(e for _, e in known), *pointed) for blob in blobs_of(event))
        here = stretches[-1].conversation_id
        own = [(i, e) for i, e in after if e.line is None and i.conversation_id == here]
        return Standing(
            head=head,
            last=last,
            last_id=last_id,
            since=since(event for _, event in after),
            in_flight=last_id is not None and last_id in IN_FLIGHT,
            answered=_last_version(i for i, e in own if isinstance(e, ResponseCompleted)),
            said=_last_version(item for item, event in own if says_something(event)),
            instructions=instructions if isinstance(instructions, InstructionsSet) else None,
            tools=tools if isinstance(tools, ToolsDefined) else None,
            blobs=_Stored(backend, stretches, {blob.sha256: blob for blob in blobs}),
            sources=sources_in(told),
        )

    def _pointed(
        self, pointer: Pointer, version: int, stretches: tuple[Stretch, ...]
    ) -> Event | Unrecognised | Erased | None:
        """Return what is in force; it is read again only when another version sets it."""
        known = self._in_force.get(pointer)
        if known is not None and known[0] == version:
            return known[1]
        recorded = in_force(self._talk.backend, stretches, pointer)
        event = None if recorded is None else recorded.event()
        self._in_force[pointer] = (version, event)
        return event


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


def _last_request(known: list[tuple[Told, Event]]) -> tuple[int, RequestSent | None]:
    """Return the main line's last request, and the place after it; 0 if there is none."""
    for place in range(len(known), 0, -1):
        event = known[place - 1][1]
        if isinstance(event, RequestSent) and event.line is None:
            return place, event
    return 0, None


def _last_version(told: Iterable[Told]) -> int:
    return max((item.version for item in told), default=0)


def _is_known(event: Event | Unrecognised | Erased) -> TypeIs[Event]:
    return not isinstance(event, Unrecognised | Erased)
