"""What a conversation's main line is made of: stretches of events, of several lines maybe.

A conversation may go on from another one (a fork), and its main line may go on from an earlier
place, with what a side line said there (`LineAdopted`). Both are settled facts: they are read once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from onrecord.domain.events import ConversationForked, LineAdopted
from onrecord.domain.head import Head
from onrecord.domain.log import Log

FIRST: Final = 1
"""The version that a conversation begins with: its name, before it says anything."""

BEGINNING: Final = 2
"""How many events a conversation begins with, at the most, before it says anything.

Whether it goes on from another is among them, and so known for good once they are there.
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a lineage: the events of one line of a conversation, after < version <= until.

    `line` is None for what was recorded on the main line. `head` is where the conversation stood
    at `until`, or later, if that is known: it saves looking.
    """

    conversation_id: UUID
    until: int
    head: Head | None = None
    after: int = 0
    line: UUID | None = None


@dataclass(frozen=True, slots=True)
class Adoption:
    """A `LineAdopted` and the version that it has."""

    version: int
    event: LineAdopted


class Lineages:
    """The lineages of one conversation; what was read stays known."""

    def __init__(self, log: Log, conversation_id: UUID) -> None:
        """Tell of a conversation."""
        self._log = log
        self._id = conversation_id
        self._origin: tuple[Stretch, ...] | None = None
        self._adoptions: dict[int, Adoption | None] = {}

    def at(self, version: int, head: Head | None = None) -> tuple[Stretch, ...]:
        """Return the stretches of the main line at a version, the oldest first.

        `head` is where the conversation stands, if that is known.
        """
        known = head if head is not None and head.version == version else None
        stretches = [*self._origins(version), *self._own(version, version, known)]
        return (*stretches[:-1], replace(stretches[-1], head=known))

    def whole(self, version: int) -> tuple[Stretch, ...]:
        """Return all that was recorded up to a version, on any line, and in what it goes on from."""
        return (*self._origins(version), Stretch(self._id, version))

    def up_to(self, after: int, as_of: int | None = None) -> tuple[Stretch, ...]:
        """Return the stretches of the main line as it stood at `as_of`, up to version `after`."""
        return (*self._origins(after), *self._own(as_of or after, after, None))

    def _own(self, as_of: int, cut: int, head: Head | None) -> list[Stretch]:
        stretches: list[Stretch] = []
        while (adoption := self._last_adoption(as_of, head)) is not None:
            version, event = adoption.version, adoption.event
            if cut >= version:
                stretches.append(Stretch(self._id, cut, after=version - 1))
                cut = version - 1
            if event.begun is not None and cut >= event.begun:
                side = Stretch(self._id, cut, after=event.begun - 1, line=event.adopted)
                stretches.append(side)
            cut = min(cut, event.after)
            as_of, head = event.as_of or event.after, None
        stretches.append(Stretch(self._id, cut))
        stretches.reverse()
        return stretches

    def _last_adoption(self, as_of: int, head: Head | None) -> Adoption | None:
        if head is not None:
            if not head.adopted:
                return None
            as_of = head.adopted
        if as_of not in self._adoptions:
            self._adoptions[as_of] = self._read_adoption(as_of)
        return self._adoptions[as_of]

    def _read_adoption(self, as_of: int) -> Adoption | None:
        recorded = self._log.latest(self._id, "adopted", as_of)
        event = None if recorded is None else recorded.event()
        if recorded is None or not isinstance(event, LineAdopted):
            return None
        return Adoption(recorded.version, event)

    def _origins(self, version: int) -> tuple[Stretch, ...]:
        if self._origin is not None:
            return self._origin
        origin: tuple[Stretch, ...] = ()
        for recorded in self._log.read(self._id, until=min(version, BEGINNING)):
            event = recorded.event()
            if isinstance(event, ConversationForked):
                origin = Lineages(self._log, event.origin).at(event.version)
        if version >= BEGINNING:
            self._origin = origin
        return origin


def lineage(log: Log, conversation_id: UUID, until: int) -> tuple[Stretch, ...]:
    """Return the stretches that a conversation's main line is made of at a version."""
    return Lineages(log, conversation_id).at(until)
