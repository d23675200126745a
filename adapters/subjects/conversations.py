"""Which conversations are under the key of a subject: the headers of their first events say so."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final
from uuid import UUID

from onrecord.adapters.upkeep.known_forks import PAGE, heads
from onrecord.domain.erasure.destroyed import keys_looked_for
from onrecord.domain.log import Backend, RecordedEvent

_FIRST: Final = 1


class ConversationsUnder:
    """The conversations of a tenant under a key: looked up at first, and followed in the log from there on.

    A conversation that was erased still has its headers, and is among them. Memory holds an id of each.
    """

    def __init__(self, stored: Backend, tenant: UUID, key: str) -> None:
        """Begin without a look. `stored` is the log as it is stored: no key is needed."""
        self._stored = stored
        self._tenant = tenant
        self._key = key
        self._ends: dict[int, int] | None = None
        self._found: dict[UUID, None] = {}

    def all(self) -> list[UUID]:
        """Return those that have begun by now."""
        if self._ends is None:
            self._ends = {last.shard: last.position for last in self._stored.cursors()}
            self._look()
        for shard in self._ends:
            self._follow(shard, self._ends)
        return list(self._found)

    def _look(self) -> None:
        begun = (head.conversation_id for head in heads(self._stored, self._tenant))
        while some := list(islice(begun, PAGE)):
            self._note(self._stored.first_events(some))

    def _follow(self, shard: int, ends: dict[int, int]) -> None:
        while page := self._stored.inventory().log(shard, ends[shard], PAGE):
            own = (each for each in page if each.tenant in (None, self._tenant))
            self._note(each.event for each in own if each.event.version == _FIRST)
            ends[shard] = page[-1].event.position

    def _note(self, firsts: Iterable[RecordedEvent]) -> None:
        for first in firsts:
            if self._key in keys_looked_for(first.header):
                self._found[first.conversation_id] = None
