"""Which conversation somebody means: by its key, or by its id."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Final
from uuid import UUID

from onrecord.adapters.store import Store
from onrecord.domain.errors import ConversationNotFound
from onrecord.domain.events import ConversationStarted
from onrecord.domain.head import Head
from onrecord.domain.log import Backend

_KEYS_TO_COMPARE: Final = 1000
_LONGEST_COMPARED: Final = 256
"""To compare two long texts takes as long as the product of their lengths."""


@dataclass(frozen=True, slots=True)
class Named:
    """A conversation that has begun; `key` is None once it was forgotten."""

    key: str | None
    conversation_id: UUID
    head: Head

    def __str__(self) -> str:
        """Return the key, else the id."""
        return self.key or str(self.conversation_id)


def named(store: Store, name: str) -> Named:
    """Return the conversation of a key, or of an id: a forgotten one has no other name.

    ConversationNotFound, with the keys that come close, if there is none.
    """
    backend = store.backend
    found = backend.find(store.tenant, name)
    if found is not None and (head := backend.head(found)).version:
        return Named(name, found, head)
    meant = _id(name)
    if meant is not None and backend.owner(meant) == store.tenant:
        return Named(key_of(backend, meant), meant, backend.head(meant))
    raise ConversationNotFound(f"no conversation has the key {name!r}{_advice(store, name)}")


def key_of(backend: Backend, conversation_id: UUID) -> str | None:
    """Return the key that a conversation began with; None once it was forgotten."""
    for first in backend.read(conversation_id, limit=1):
        event = first.event()
        return event.key if isinstance(event, ConversationStarted) else None
    return None


def _id(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def _advice(store: Store, name: str) -> str:
    listed = islice(store.conversations(), _KEYS_TO_COMPARE)
    keys = [found.key for found in listed if found.key is not None]
    if not keys:
        return f": {store.url} holds none yet"
    near = get_close_matches(name, keys, n=3) if len(name) <= _LONGEST_COMPARED else []
    if near:
        return f": did you mean {' or '.join(map(repr, near))}?"
    return ": `onrecord conversations` lists those there are"
