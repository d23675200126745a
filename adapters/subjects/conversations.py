"""Which conversations are under the key of a subject: the headers of their first events say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final
from uuid import UUID

from onrecord.adapters.upkeep.known_forks import TenantEvents
from onrecord.domain.encryption.bodies import keys_looked_for
from onrecord.domain.log import Backend, RecordedEvent

_FIRST: Final = 1
_PAGE: Final = 256


class ConversationsUnder:
    """The conversations of a tenant under a key: looked up at first, and followed in the log from there on.

    A conversation that was erased still has its headers, and is among them. Memory holds an id of each
    that the tenant has during the first look, then of each under the key.
    """

    def __init__(self, stored: Backend, tenant: UUID, key: str) -> None:
        """Begin without a look. `stored` is the log as it is stored: no key is needed."""
        self.key: Final = key
        self._stored = stored
        self._tenant = tenant
        self._later: TenantEvents | None = None
        self._found: dict[UUID, int] = {}

    def all(self) -> list[UUID]:
        """Return those that have begun by now: in the order of their ids, those behind a look as they came."""
        if self._later is None:
            self._later = TenantEvents(self._stored, self._tenant)
            self._look()
        self._note(event for event in self._later.more() if event.version == _FIRST)
        return list(self._found)

    def others(self) -> Mapping[UUID, int]:
        """Return the same, and how many other subjects each of them is about."""
        self.all()
        return self._found

    def _look(self) -> None:
        listed = self._stored.conversations(self._tenant)
        ids = iter(sorted(one.conversation_id for one in listed))
        while page := list(islice(ids, _PAGE)):
            self._note(self._stored.first_events(page))

    def _note(self, firsts: Iterable[RecordedEvent]) -> None:
        for first in firsts:
            keys = keys_looked_for(first.header)
            if self.key in keys:
                self._found[first.conversation_id] = len(keys) - 1
