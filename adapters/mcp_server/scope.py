"""Which conversations a server shows, and what of them was redacted."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from onrecord.adapters.conversation.conversation import Conversation, stream_of
from onrecord.adapters.conversation.history_queries import main_branch
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.lineage import LineSegment, amendments, beginning_of
from onrecord.domain.errors import ConversationNotFound, InvalidInput
from onrecord.projections.history.responses import Place


@dataclass(frozen=True, slots=True)
class Scope:
    """What of a tenant is shown: a conversation and what it was forked from, or all.

    `own` is the key of that conversation; None shows all of the tenant.
    """

    store: Store
    own: str | None

    def conversation(self, key: str | None) -> Conversation:
        """Return the conversation of a key, by default the server's own.

        ConversationNotFound for a key that nothing has, and for one out of the scope: the two look alike.
        """
        if self.own is None:
            if key is None:
                raise InvalidInput(
                    "name a conversation by its key: this server has none of its own"
                )
            return self._of_tenant(key)
        wanted = self.own if key is None else key
        if wanted not in self.conversations():
            raise ConversationNotFound("this server shows no conversation of that key")
        return self.store.get(wanted)

    def _of_tenant(self, key: str) -> Conversation:
        try:
            return self.store.get(key)
        except ConversationNotFound:
            raise ConversationNotFound(
                "no conversation has that key: search_history finds some"
            ) from None

    def conversations(self) -> dict[str, UUID]:
        """Return the ids of the own conversation and of its ancestors by their keys, the own one first.

        Nothing where all of the tenant is shown, or where the own one has not begun.
        """
        if self.own is None:
            return {}
        backend = backend_of(self.store)
        following = backend.find(self.store.tenant, self.own)
        keys, seen = dict[str, UUID](), set[UUID]()
        while following is not None and following not in seen:
            seen.add(following)
            beginning = beginning_of(backend, following)
            if beginning.key is not None and backend.owner(following) == self.store.tenant:
                keys[beginning.key] = following
            following = beginning.origin
        return keys

    def searched(self, key: str | None) -> tuple[UUID | None, ...]:
        """Return the ids of the conversations to search, one after the other; None stands for all.

        ConversationNotFound as `conversation` has it.
        """
        if key is not None:
            return (self.conversation(key).conversation_id,)
        if self.own is None:
            return (None,)
        found = tuple(self.conversations().values())
        if not found:
            raise ConversationNotFound("the conversation of this server has not begun")
        return found

    def redacted(self, conversation: Conversation) -> frozenset[Place]:
        """Return what was redacted of a conversation and of its ancestors, up to now."""
        segments = main_branch(stream_of(conversation), None)
        of = {part.conversation_id for part in segments}
        return frozenset[Place]().union(*map(self._redacted_in, of))

    def _redacted_in(self, conversation_id: UUID) -> frozenset[Place]:
        """Return what a conversation itself redacted, up to now."""
        backend = backend_of(self.store)
        whole = LineSegment(conversation_id, backend.head(conversation_id).version)
        return amendments(backend, (whole,)).redacted

    def hidden(self, conversation: Conversation, at: int | None) -> frozenset[Place]:
        """Return what was redacted, and what a history told at a version still has."""
        segments = main_branch(stream_of(conversation), at)
        applied = amendments(backend_of(self.store), segments).redacted
        return self.redacted(conversation) - applied
