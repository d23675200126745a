"""Where a conversation stands when a request goes out, read from the log; no more than it takes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final, Generic, TypeAlias, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from typing_extensions import TypeIs

from onrecord.adapters.recording.paths import closing_of, line_of
from onrecord.adapters.recording.plan import ConversationState
from onrecord.adapters.streams.event_reading import in_force, since_request
from onrecord.adapters.streams.lineage import BEGINNING, Stretch
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.wire.answer_events import is_still_made
from onrecord.domain.admission import error_of
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import (
    Event,
    InstructionsSet,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
    ToolsDeclared,
)
from onrecord.domain.head import Head, Pointer
from onrecord.domain.log import RecordedEvent, Told
from onrecord.projections.history.amendments import as_seen, says_something
from onrecord.projections.matching.recorded_units import recorded_units
from onrecord.projections.matching.sources import sources_in

_LATEST: Final = 64
"""How many of the last events are looked at for what a request of a side branch repeats."""

_Where: TypeAlias = tuple[int, tuple[tuple[UUID, int, UUID | None], ...]]
"""What was asked for: the version of the head's pointer, and the lineage."""


class OpenRequest:
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


IN_FLIGHT: WeakValueDictionary[UUID, OpenRequest] = WeakValueDictionary()
"""The requests that are in flight in this process, by id: a conversation may have many holders."""


class StateReader:
    """Tells where one conversation stands; keeps in mind what is in force."""

    def __init__(self, stream: Stream) -> None:
        """Tell of a conversation; one thread at a time."""
        self._stream = stream
        self._in_force: dict[Pointer, tuple[_Where, Event | Unrecognised | Erased | None]] = {}

    def now(self) -> ConversationState:
        """Read the head, and what came after the last request; ConversationClosed if it is over."""
        head = self._stream.head()
        if head.closed:
            raise error_of("open")
        stretches = self._stream.lineage(head.version, head)
        backend = self._stream.backend
        recorded = since_request(backend, stretches)
        # What other lines say has no part in it, however much that is; the next request repeats it.
        items = [event.told() for event in recorded if line_of(event) is None]
        latest = [event.told() for event in recorded[-_LATEST:] if line_of(event) is not None]
        ordered = [item for item in as_seen(items)[0] if isinstance(item, Told)]
        events = [(item, event) for item in ordered for event in [item.event()] if _is_known(event)]
        place, last = _last_request(events)
        here = stretches[-1].conversation_id
        own = [(i, e) for i, e in events[place:] if e.line is None and i.conversation_id == here]
        sent = events[place - 1][0] if last else None
        last_id = UUID(bytes=sent.event_id) if sent else None
        instructions, tools = self.in_force(head, stretches)
        return ConversationState(
            head=head,
            last=last,
            last_id=last_id,
            last_version=_version_here(sent, here) if sent else 0,
            since=tuple(recorded_units(_since(events, place, here))),
            in_flight=last_id is not None and last_id in IN_FLIGHT,
            answered=_last_version(i for i, e in own if isinstance(e, ResponseCompleted)),
            said=_last_version(item for item, event in own if says_something(event)),
            instructions=instructions,
            tools=tools,
            sources=sources_in([*items, *latest]),
        )

    def in_force(
        self, head: Head, stretches: tuple[Stretch, ...]
    ) -> tuple[InstructionsSet | None, ToolsDeclared | None]:
        """Return the instructions and the tools in force at the end of a lineage."""
        instructions = self._pointed("instructions", head.instructions, stretches)
        tools = self._pointed("tools", head.tools, stretches)
        return (
            instructions if isinstance(instructions, InstructionsSet) else None,
            tools if isinstance(tools, ToolsDeclared) else None,
        )

    def _pointed(
        self, pointer: Pointer, version: int, stretches: tuple[Stretch, ...]
    ) -> Event | Unrecognised | Erased | None:
        """Return what is in force; it is read again only when another version sets it."""
        place = (version, tuple((s.conversation_id, s.after, s.line) for s in stretches))
        in_memory = self._in_force.get(pointer)
        if in_memory is not None and in_memory[0] == place:
            return in_memory[1]
        recorded = in_force(self._stream.backend, stretches, pointer)
        event = None if recorded is None else recorded.event()
        self._in_force[pointer] = (place, event)
        return event


def _last_request(events: list[tuple[Told, Event]]) -> tuple[int, RequestSent | None]:
    """Return the main branch's last request, and the place after it; 0 if there is none."""
    for place in range(len(events), 0, -1):
        event = events[place - 1][1]
        if isinstance(event, RequestSent) and event.line is None:
            return place, event
    return 0, None


def _since(events: list[tuple[Told, Event]], place: int, own: UUID) -> Iterable[tuple[int, Event]]:
    """Return what was said since the main branch's last request, itself included."""
    since = events[max(0, place - 1) :]
    return ((_version_here(item, own), event) for item, event in since if event.line is None)


def _version_here(item: Told, own: UUID) -> int:
    """Return the version of this conversation that a cut behind an event leaves."""
    return item.version if item.conversation_id == own else BEGINNING


def _last_version(items: Iterable[Told]) -> int:
    return max((item.version for item in items), default=0)


def _is_known(event: Event | Unrecognised | Erased) -> TypeIs[Event]:
    return not isinstance(event, Unrecognised | Erased)


# Answers that the provider goes on with after its reply, and that a later call reads.
#
# A response in the background is asked for by its id, again and again, until it is over; a stream
# that broke off may be read from where it did. Either way it is the answer of the request that
# made it: recorded under that one, once, when all of it is there.

RequestT = TypeVar("RequestT")


class DeferredAnswers(Generic[RequestT]):
    """The requests that await such an answer, by its provider's id; safe for threads."""

    def __init__(self, most: int) -> None:
        """Await none; of more than so many the oldest are forgotten."""
        self._most = most
        self._lock = threading.Lock()
        self._awaiting: OrderedDict[str, RequestT] = OrderedDict()

    def note(self, request: RequestT, events: Iterable[Event]) -> None:
        """Take note of what a request was answered: more is to come, or that was all."""
        for event in events:
            if isinstance(event, ResponseCompleted | ResponseInterrupted) and event.provider_id:
                self.claim(event.provider_id)
                if is_still_made(event):
                    self.keep(event.provider_id, request)

    def keep(self, provider_id: str, request: RequestT) -> None:
        """Take note that a request awaits a response."""
        with self._lock:
            self._awaiting[provider_id] = request
            while len(self._awaiting) > self._most:
                self._awaiting.popitem(last=False)

    def find(self, provider_id: str) -> RequestT | None:
        """Return the request that awaits a response; None where none does that is known here."""
        with self._lock:
            return self._awaiting.get(provider_id)

    def claim(self, provider_id: str) -> bool:
        """Await a response no longer; return whether this call was the first to say so."""
        with self._lock:
            return self._awaiting.pop(provider_id, None) is not None


def find_among(recorded: Sequence[RecordedEvent], provider_id: str) -> OpenRequest | None:
    """Return the request that awaits the rest of a response, by what is recorded of it."""
    for event in reversed(recorded):
        closing = closing_of(event)
        if closing is None or closing.provider_id != provider_id or closing.request is None:
            continue
        if not is_still_made(closing):
            return None
        return open_request(closing.request, line_of(event), recorded[-1].version)
    return None


def open_request(request: UUID, line: UUID | None, version: int) -> OpenRequest:
    """Return a request that was recorded at a version."""
    opened_request = OpenRequest(request, line)
    opened_request.version = version
    return opened_request
