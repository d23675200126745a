"""Which conversations go on from which, looked up once for many erasures, and followed in the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from onrecord.adapters.streams.lineage import BEGINNING, beginning_of, is_forgotten
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.inventory import StoredHead
from onrecord.domain.log import Backend, RecordedEvent

_PAGE: Final = 256
_FORKED: Final = "conversation.forked"


def heads(backend: Backend, tenant: UUID) -> Iterator[StoredHead]:
    """Yield where each conversation of a tenant stands, in the order of their ids, page by page."""
    after: UUID | None = None
    while True:
        with backend.inventory().moment() as moment:
            page = moment.heads(after, _PAGE)
        if not page:
            return
        after = page[-1].conversation_id
        yield from (head for head in page if head.tenant == tenant)


class TenantEvents:
    """The events of a tenant that come to a log from now on, for who looks at what is there just after that."""

    def __init__(self, backend: Backend, tenant: UUID) -> None:
        """Note where the log ends."""
        self._backend = backend
        self._tenant = tenant
        self._ends = {last.shard: last.position for last in backend.cursors()}

    def more(self) -> Iterator[RecordedEvent]:
        """Yield those that came since they were asked for last, shard by shard."""
        for shard in self._ends:
            while page := self._backend.inventory().log(shard, self._ends[shard], _PAGE):
                yield from (one.event for one in page if one.tenant in (None, self._tenant))
                self._ends[shard] = page[-1].event.position


class KnownForks:
    """The forks of a tenant: looked up at the first question, and followed in the log from there on.

    Memory holds two ids a fork, and nothing of other conversations.
    """

    def __init__(self, backend: Backend, tenant: UUID) -> None:
        """Begin without a look."""
        self._backend = backend
        self._tenant = tenant
        self._later: TenantEvents | None = None
        self._forks: dict[UUID, list[UUID]] = {}
        self._is_damaged = False

    def staying(self, conversation_id: UUID) -> list[UUID] | None:
        """Return the forks of a conversation, and those of them, that were not erased.

        None where another conversation is damaged, so that nobody can tell.
        """
        if self._later is None:
            self._later = TenantEvents(self._backend, self._tenant)
            self._look()
        for event in self._later.more():
            if event.type == _FORKED:
                self._note(event.conversation_id)
        if self._is_damaged:
            return None
        family, at = [conversation_id], 0
        while at < len(family):
            family += [one for one in self._forks.get(family[at], ()) if one not in family]
            at += 1
        return [one for one in family[1:] if not is_forgotten(self._backend, one)]

    def _look(self) -> None:
        for one in self._backend.conversations(self._tenant):
            if one.head.version >= BEGINNING:
                self._note(one.conversation_id)

    def _note(self, conversation_id: UUID) -> None:
        try:
            origin = beginning_of(self._backend, conversation_id).origin
        except CorruptRecord:
            self._is_damaged = True
            return
        if origin is not None and conversation_id not in self._forks.setdefault(origin, []):
            self._forks[origin].append(conversation_id)
