"""The sessions of one framework in a store: the outer ids that callers choose, and their conversations.

The key of a session's conversation is a JSON array, the framework's name before the parts of the outer
id: `["claude-agent-sdk","project","session"]`. No part can pretend to be two, whatever it holds. A
session that is deleted goes on in the same conversation, behind `stream.cleared`. One that was forgotten
begins anew as another conversation.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Final, NamedTuple, cast
from uuid import UUID

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.frameworks.session import ItemSession
from onrecord.adapters.inputs.arguments import kind_of, text_given
from onrecord.adapters.store import Store, tenancy_of
from onrecord.adapters.streams.listing import listed
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput, MalformedJson

_MOST_HELD: Final = 1024
"""Sessions that a process keeps at hand: another one is found again by its key."""

LONGEST_ID: Final = 4096
"""Characters of one part of an outer id."""

_IN_NO_ID: Final = re.compile(r"[\x00\ud800-\udfff]")
"""NUL, and half a surrogate pair."""


class SessionEntry(NamedTuple):
    """A session as a list shows it: its outer id, its conversation, its last version, and when it last moved.

    `recorded_at` is in microseconds since 1970-01-01 UTC, by the log's clock.
    """

    outer_id: tuple[str, ...]
    conversation_id: UUID
    version: int
    recorded_at: int


class Sessions:
    """The sessions of a framework in a store; safe to share between threads."""

    def __init__(self, store: Store, framework: str) -> None:
        """Find the sessions of a framework by their outer ids; InvalidInput for what is no store."""
        self.framework = framework
        self._tenancy = tenancy_of(_store_given(store))
        self._held: Newest[tuple[str, ...], ItemSession] = Newest(_MOST_HELD)
        self._lock = threading.Lock()

    def session(self, *outer_id: str) -> ItemSession:
        """Return the session of an outer id; it begins with its first event.

        InvalidInput for a part that is blank, holds NUL, or has more than `LONGEST_ID` characters.
        """
        for part in outer_id:
            must_be_an_id("the id of a session", part)
        with self._lock:
            if (held := self._held.get(outer_id)) is None:
                stream = self._tenancy.stream(self.key(*outer_id))
                held = self._held[outer_id] = ItemSession(stream, self.framework)
            self._held.move_to_end(outer_id)
        return held

    def listed(self, *scope: str, parts: int = 1) -> Iterator[SessionEntry]:
        """Yield the sessions whose outer id is a scope and so many parts, the one that moved last first.

        What was deleted and holds nothing since is not among them. This reads the catalogue of the
        tenant once, and the end of each session that it yields.
        """
        backend, tenant = self._tenancy.backend, self._tenancy.tenant
        for entry in backend.conversations(tenant):
            line = listed(backend, entry)
            outer_id = None if line.key is None else self._outer_id(line.key)
            if outer_id is None or len(outer_id) != len(scope) + parts:
                continue
            if outer_id[: len(scope)] != scope:
                continue
            if self.session(*outer_id).holds_anything():
                yield SessionEntry(
                    outer_id, entry.conversation_id, entry.head.version, entry.recorded_at
                )

    def key(self, *outer_id: str) -> str:
        """Return the key of the conversation that a session is."""
        return jsontext.write([self.framework, *outer_id]).decode()

    def _outer_id(self, key: str) -> tuple[str, ...] | None:
        """Return the outer id of a conversation's key; None where it is no session of the framework."""
        if not key.startswith("["):
            return None
        try:
            parts = jsontext.read(key)
        except MalformedJson:
            return None
        outer_id = _texts(parts)[1:]
        # A key that somebody else wrote, in another spelling, is of another conversation.
        if key != self.key(*outer_id) or not all(_is_an_id(part) for part in outer_id):
            return None
        return outer_id


def _store_given(value: object) -> Store:
    if isinstance(value, Store):
        return value
    raise InvalidInput(
        f"a store of a framework takes what onrecord.connect gives, not {kind_of(value)}"
    )


def must_be_an_id(what: str, value: object) -> None:
    """Raise InvalidInput for a text that is blank, holds NUL, or has more than `LONGEST_ID` characters.

    InvalidContent for what is no text.
    """
    if not _is_an_id(text_given(what, value)):
        raise InvalidInput(
            f"{what} is a text of 1 to {LONGEST_ID:,} characters without NUL, and not blank"
        )


def _is_an_id(text: str) -> bool:
    return bool(text.strip()) and len(text) <= LONGEST_ID and not _IN_NO_ID.search(text)


def _texts(value: object) -> tuple[str, ...]:
    """Return the members of a list that are texts."""
    if not isinstance(value, list):
        return ()
    return tuple(part for part in cast("list[object]", value) if isinstance(part, str))
