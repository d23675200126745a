"""Which conversations go on from which, looked up once for many erasures."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from onrecord.adapters.streams.lineage import beginning_of, is_forgotten
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.inventory import StoredHead
from onrecord.domain.log import Backend

PAGE = 256
_FORKED = "conversation.forked"


def heads(backend: Backend, tenant: UUID) -> Iterator[StoredHead]:
    """Yield where each conversation of a tenant stands, in the order of their ids, page by page."""
    after: UUID | None = None
    while True:
        with backend.inventory().moment() as moment:
            page = moment.heads(after, PAGE)
        if not page:
            return
        after = page[-1].conversation_id
        yield from (head for head in page if head.tenant == tenant)


class KnownForks:
    """The forks of a tenant: looked up at the first question, and followed in the log from there on.

    Memory holds two ids a fork, and nothing of other conversations.
    """

    def __init__(self, backend: Backend, tenant: UUID) -> None:
        """Begin without a look."""
        self._backend = backend
        self._tenant = tenant
        self._ends: dict[int, int] | None = None
        self._forks: dict[UUID, list[UUID]] = {}
        self._is_damaged = False

    def staying(self, conversation_id: UUID) -> list[UUID] | None:
        """Return the forks of a conversation, and those of them, that were not erased.

        None where another conversation is damaged, so that nobody can tell.
        """
        if self._ends is None:
            self._ends = {last.shard: last.position for last in self._backend.cursors()}
            self._look()
        for shard in self._ends:
            self._follow(shard)
        if self._is_damaged:
            return None
        family, at = [conversation_id], 0
        while at < len(family):
            family += [one for one in self._forks.get(family[at], ()) if one not in family]
            at += 1
        return [one for one in family[1:] if not is_forgotten(self._backend, one)]

    def _look(self) -> None:
        for head in heads(self._backend, self._tenant):
            if not head.forgotten:
                self._note(head.conversation_id)

    def _follow(self, shard: int) -> None:
        ends = self._ends or {}
        while page := self._backend.inventory().log(shard, ends[shard], PAGE):
            for stored in page:
                if stored.event.type == _FORKED and stored.tenant in (None, self._tenant):
                    self._note(stored.event.conversation_id)
            ends[shard] = page[-1].event.position

    def _note(self, conversation_id: UUID) -> None:
        try:
            origin = beginning_of(self._backend, conversation_id).origin
        except CorruptRecord:
            self._is_damaged = True
            return
        if origin is not None and conversation_id not in self._forks.setdefault(origin, []):
            self._forks[origin].append(conversation_id)
