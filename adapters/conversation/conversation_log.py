"""The log of one conversation, for those who build on it: its events as they are recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.inputs.arguments import version_given, version_if_given
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain.admission import must_refer_back, names_versions
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import ConversationForked, Event
from onrecord.domain.log import RecordedEvent

if TYPE_CHECKING:
    from onrecord.projections.apis.request import Options, Request


class ConversationLog:
    """The events of one conversation: `conversation.log`."""

    def __init__(self, stream: Stream) -> None:
        """Append to a conversation, and read it."""
        self._stream = stream

    def append(
        self, *events: Event, expected_version: int | None = None, causation_id: UUID | None = None
    ) -> Done:
        """Record events, all or none, as one durable commit.

        Raises VersionConflict where `expected_version` was given and is not the last one,
        IdempotencyMismatch where an id stands for other content, and InvalidContent where an event
        names a version that does not come before its own, or goes on from what its tenant does not have.
        """
        self._must_refer_back(events)
        self._must_go_on_from_own(events)
        return self._stream.append(
            *events, expected_version=expected_version, causation_id=causation_id
        )

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events with after < version <= until, in order."""
        return self._stream.read(after=version_given(after), until=version_if_given(until))

    def render(self, version: int, options: Options) -> Request:
        """Return the request that the conversation makes at a version, under these options."""
        from onrecord.adapters.conversation.rendering import request_of

        return request_of(self._stream.backend, self._stream.lineage(version), options)

    def _must_refer_back(self, events: Iterable[Event]) -> None:
        """Raise InvalidContent where an event names a version that does not come before its own.

        The head is read here, after the caller chose the versions: one that is beyond it by now was
        beyond it then. What others append meanwhile only moves these events further on.
        """
        named = [(place, event) for place, event in enumerate(events, 1) if names_versions(event)]
        if named:
            # What begins a conversation comes before all.
            version = max(self._stream.head().version, 1)
            for place, event in named:
                must_refer_back(event, version + place)

    def _must_go_on_from_own(self, events: Iterable[Event]) -> None:
        """Raise InvalidContent for a fork of what is no conversation of its tenant.

        The answer is the same whether another tenant has the origin or nobody does.
        """
        for event in events:
            if isinstance(event, ConversationForked):
                owner = self._stream.backend.owner(event.origin)
                if owner != self._stream.tenant:
                    raise InvalidContent("a fork goes on from a conversation of its own tenant")
