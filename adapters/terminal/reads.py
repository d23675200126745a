"""Which commands show what conversations say, and how it is recorded that a person reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.store import Store

CONVERSATION_COMMANDS: Final = frozenset(
    (
        *("approvals", "context", "conversations", "diff", "documents", "evidence", "export"),
        *("replay", "request", "share", "show", "tail", "tools", "why"),
    )
)
"""They show one conversation, or all: that is recorded as they open the store."""

PAGE_COMMANDS: Final = frozenset(
    ("access", "audit", "calls", "in-force", "overview", "search", "usage", "window")
)
"""They show a page of entries: that is recorded once it is known how many."""

_NO_QUESTION: Final = frozenset(
    ("url", "as_json", "by_id", "limit", "after", "key", "conversation")
)


def record_conversation(
    store: Store, command: str, options: Mapping[str, object], actor: str
) -> None:
    """Record that somebody opens a store by a command that shows a conversation; others pass."""
    key, subject = options.get("key"), options.get("subject")
    if command == "audit" and (options.get("request") or options.get("report")):
        key = options.get("conversation")
    elif command not in CONVERSATION_COMMANDS:
        return
    which = None if key is None else require_conversation(store, str(key))
    is_export = command == "export" and subject is not None
    exported = store.subjects.conversations(str(subject)) if is_export else []
    store.access.record(
        f"onrecord {command}",
        which=None if which is None else which.conversation_id,
        asked={} if subject is None else {"subject": subject},
        entries=None if which is None else which.head.version,
        conversations=[each.conversation_id for each in exported],
        actor=actor,
    )


def record_page(
    store: Store,
    command: str,
    options: Mapping[str, object],
    entries: int,
    conversations: Iterable[UUID],
    actor: str,
) -> None:
    """Record that somebody is shown a page of entries of conversations, and which options asked for it."""
    key = options.get("key") or options.get("conversation")
    asked = {
        name.rstrip("_"): value
        for name, value in options.items()
        if name not in _NO_QUESTION and value not in (None, False)
    }
    store.access.record(
        f"onrecord {command}",
        which=None if key is None else require_conversation(store, str(key)).conversation_id,
        asked=asked,
        entries=entries,
        conversations=conversations if key is None else (),
        actor=actor,
    )
