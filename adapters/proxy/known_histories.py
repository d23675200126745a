"""The conversations of a tenant by what was said in them, for requests that name none.

All is read from the log: what another process of the proxy recorded is found as well, and so is what
was recorded before this one began. The catalogue of the tenant is listed for the first request that
needs it, and after that only the end of the log is read: a lookup costs what came since the last one,
however many conversations there are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.recording.plan import has_answers
from onrecord.adapters.recording.tenancy import Tenancy
from onrecord.adapters.streams.event_reading import line_of
from onrecord.adapters.streams.lineage import beginning_of
from onrecord.adapters.wire.requests import WireRequest
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import StaleCursor
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
    ServerToolCallRecorded,
    ToolCallRecorded,
)
from onrecord.domain.log import Cursor, RecordedEvent
from onrecord.projections.matching.units import Piece, Unit, digests_of, unit_of, unit_of_piece

_LATEST: Final = 256
"""How many of the conversations that moved last are looked at, and events of each."""

_PAGE: Final = 100
_MOST_PAGES: Final = 40
"""How much of the log is read for one lookup; behind more than that the catalogue is listed again."""

_KEPT: Final = 16 * 1024
"""How many answers, and responses, are kept in mind."""

_Answer: TypeAlias = tuple[str, str]
"""What an answer is known by: the digest of what was said before it, and of a block of it."""


class KnownHistories:
    """Finds the conversation that a request goes on from; safe to share between threads."""

    def __init__(self, tenancy: Tenancy) -> None:
        """Look among the conversations of a tenant."""
        self._tenancy = tenancy
        self._lock = threading.Lock()
        # Each call notes where it records, and waits for no lookup of others.
        self._noting = threading.Lock()
        self._ends: list[Cursor] = []
        self._is_own: Newest[UUID, bool] = Newest(_KEPT)
        self._read_until: Newest[UUID, int] = Newest(_KEPT)
        self._asked: Newest[tuple[UUID, UUID | None], str] = Newest(_KEPT)
        self._moved: Newest[UUID, None] = Newest(_LATEST)
        self._by_answer: Newest[_Answer, UUID] = Newest(_KEPT)
        self._by_response: Newest[str, UUID] = Newest(_KEPT)

    def note(self, conversation_id: UUID) -> None:
        """Take note that something is being said in a conversation: it is looked at first."""
        with self._noting:
            self._moved[conversation_id] = None

    def of_response(self, provider_id: str) -> str | None:
        """Return the key of the conversation of a response, by the provider's id; None for none."""
        with self._lock:
            for read in (self._read_moved, self._read_latest):
                read()
                key = self._key(self._by_response.get(provider_id))
                if key is not None:
                    return key
        return None

    def of_history(self, sent: WireRequest) -> str | None:
        """Return the key of the conversation that has the longest beginning of a request.

        That is one up to an answer, for others may begin with the same words. None where no
        conversation has such a beginning, or where the model said nothing yet.
        """
        if not has_answers(sent.pieces):
            return None
        with self._lock:
            for read in (self._read_moved, self._read_latest):
                read()
                for answer in _answers_in(sent):
                    key = self._key(self._by_answer.get(answer))
                    if key is not None:
                        return key
        return None

    def _read_moved(self) -> None:
        """Read what came in the conversations that this process recorded in."""
        with self._noting:
            moved = list(self._moved)
            self._moved.clear()
        for conversation_id in moved:
            if not self._read(conversation_id, self._read_until.get(conversation_id, 0)):
                self.note(conversation_id)

    def _read_latest(self) -> None:
        """Read what came in the conversations that moved last, whoever recorded it."""
        backend, ends = self._tenancy.backend, self._ends
        try:
            moved = self._moved_since(ends) if ends else None
        except StaleCursor:
            moved = None
        if moved is not None:
            for conversation_id in moved:
                self._read_new(conversation_id, backend.head(conversation_id).version)
            return
        # Before the list: what comes meanwhile is read once more.
        self._ends = backend.cursors()
        for entry in list(islice(backend.conversations(self._tenancy.tenant), _LATEST)):
            self._read_new(entry.conversation_id, entry.head.version)

    def _read_new(self, conversation_id: UUID, version: int) -> None:
        """Read what came in a conversation, at most its last events."""
        known = self._read_until.get(conversation_id, 0)
        if version > known:
            self._read(conversation_id, max(known, version - _LATEST))

    def _moved_since(self, ends: list[Cursor]) -> list[UUID] | None:
        """Return the tenant's conversations that moved behind places of the log; None for too many."""
        moved: dict[UUID, None] = {}
        reached: list[Cursor] = []
        pages = 0
        for place in ends:
            cursor = place
            while page := self._tenancy.backend.read_log(cursor, _PAGE):
                pages += 1
                if pages > _MOST_PAGES:
                    return None
                moved.update(dict.fromkeys(recorded.conversation_id for recorded in page))
                cursor = replace(cursor, position=page[-1].position)
            reached.append(cursor)
        self._ends = reached
        return [conversation_id for conversation_id in moved if self._owns(conversation_id)]

    def _owns(self, conversation_id: UUID) -> bool:
        """Whether a conversation is the tenant's; who began one keeps it."""
        is_own = self._is_own.get(conversation_id)
        if is_own is None:
            is_own = self._tenancy.backend.owner(conversation_id) == self._tenancy.tenant
            self._is_own[conversation_id] = is_own
        return is_own

    def _read(self, conversation_id: UUID, after: int) -> bool:
        """Take in what came in a conversation; return whether an answer came last."""
        is_answered = False
        for recorded in self._tenancy.backend.read(conversation_id, after=after):
            event = recorded.event()
            if not isinstance(event, Unrecognised | Erased):
                is_answered = self._take(recorded, event)
            self._read_until[conversation_id] = recorded.version
        return is_answered

    def _take(self, recorded: RecordedEvent, event: Event) -> bool:
        """Take in an event; return whether it ends an answer."""
        conversation_id = recorded.conversation_id
        place = conversation_id, line_of(recorded)
        if isinstance(event, RequestSent):
            self._asked[place] = event.history or ""
            return False
        history = self._asked.get(place)
        if history:
            for unit in _units_of(event):
                for name in _names(unit):
                    self._by_answer[(history, name)] = conversation_id
        if not isinstance(event, ResponseCompleted | ResponseInterrupted):
            return False
        if event.provider_id is not None:
            self._by_response[event.provider_id] = conversation_id
        self._asked.pop(place, None)
        return True

    def _key(self, conversation_id: UUID | None) -> str | None:
        """Return the key of a conversation; None where it was forgotten."""
        if conversation_id is None:
            return None
        return beginning_of(self._tenancy.backend, conversation_id).key


def _answers_in(sent: WireRequest) -> Iterator[_Answer]:
    """Yield what the answers in a request are known by, the last one first."""
    digests, begins = digests_of(sent.pieces), 0
    places: list[tuple[int, Piece]] = []
    for place, piece in enumerate(sent.pieces):
        if piece.role == "assistant":
            places.append((begins, piece))
        else:
            begins = place + 1
    for begin, piece in reversed(places):
        for name in _names(unit_of_piece(sent.api, piece)):
            yield digests[begin], name


def _units_of(event: Event) -> Iterable[Unit]:
    """Return the units of an event that the model said; none of any other."""
    match event:
        case MessageRecorded(role="assistant"):
            return [unit_of("assistant", content) for content in event.content]
        case ToolCallRecorded():
            return [unit_of("assistant", event.content, event.call_id)]
        case ReasoningRecorded() | ServerToolCallRecorded() | OpaqueRecorded():
            return [unit_of("assistant", event.content)]
        case _:
            return ()


def _names(unit: Unit) -> tuple[str, ...]:
    return () if unit.is_blank else (unit.says, *unit.ids)
