"""Which conversation somebody means: by its key, or by its id."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Final
from uuid import UUID

from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.lineage import key_of
from onrecord.domain.errors import ConversationForgotten, ConversationNotFound, InvalidInput
from onrecord.domain.head import Head
from onrecord.domain.log import Backend

_KEYS_TO_COMPARE: Final = 1000
_LONGEST_COMPARED: Final = 256
"""To compare two long texts takes as long as the product of their lengths."""


@dataclass(frozen=True, slots=True)
class NamedConversation:
    """A conversation that has begun; `key` is None once it was forgotten."""

    key: str | None
    conversation_id: UUID
    head: Head

    @classmethod
    def of_id(cls, backend: Backend, conversation_id: UUID) -> NamedConversation:
        """Return the conversation of an id, which is in the log."""
        key = key_of(backend, conversation_id)
        return cls(key, conversation_id, backend.head(conversation_id))

    def __str__(self) -> str:
        """Return the key, else the id."""
        return self.key or str(self.conversation_id)

    def require_key(self) -> str:
        """Return the key; ConversationForgotten for a conversation that has none any more."""
        if self.key is None:
            raise ConversationForgotten
        return self.key

    def version_at(self, at: int | None) -> int:
        """Return the version `at`, or the last; InvalidInput if there is no such version yet."""
        last = self.head.version
        if at is not None and at > last:
            raise InvalidInput(f"there is no version {at}: the conversation is at {last}")
        return last if at is None else at


def require_conversation(store: Store, name: str) -> NamedConversation:
    """Return the conversation of a key, or of an id: a forgotten one has no other name.

    ConversationNotFound, with the keys that come close, if there is none.
    """
    found = find_conversation(store, name)
    if found is None:
        raise ConversationNotFound(f"no conversation has the key {name!r}{_advice(store, name)}")
    return found


def find_conversation(store: Store, name: str) -> NamedConversation | None:
    """Return the conversation of a key, or of an id; None if there is none."""
    backend = backend_of(store)
    of_key = backend.find(store.tenant, name)
    if of_key is not None and (head := backend.head(of_key)).version:
        return NamedConversation(name, of_key, head)
    conversation_id = _id(name)
    if conversation_id is not None and backend.owner(conversation_id) == store.tenant:
        return NamedConversation.of_id(backend, conversation_id)
    return None


def _id(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def _advice(store: Store, name: str) -> str:
    listed = islice(store.conversations(), _KEYS_TO_COMPARE)
    keys = [entry.key for entry in listed if entry.key is not None]
    if not keys:
        return f": {store.url} holds none yet"
    near = get_close_matches(name, keys, n=3) if len(name) <= _LONGEST_COMPARED else []
    if near:
        return f": did you mean {' or '.join(map(repr, near))}?"
    return ": `onrecord conversations` lists them"
