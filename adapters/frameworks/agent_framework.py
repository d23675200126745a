"""Histories of Microsoft's Agent Framework: what its `HistoryProvider` asks for, over one log.

The interface is `agent_framework.HistoryProvider`, and docs/frameworks-agent-framework.md says how it is used. A
session of a provider is a conversation, a message is an item.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

from onrecord.adapters.frameworks.awaiting import settled
from onrecord.adapters.frameworks.session import ItemSession, NewItem, until_first
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import CorruptRecord, NotInstalled
from onrecord.projections.frameworks.agent_framework import AGENT_FRAMEWORK
from onrecord.projections.frameworks.current_items import HeldItem

try:
    from agent_framework import HistoryProvider, Message

    # The rule by which the framework's own providers tell what is new of a transcript.
    from agent_framework._sessions import filter_new_messages
except ImportError as exc:
    raise NotInstalled("the history provider", "agent_framework", "agent-framework") from exc

_EXCLUDED: Final = "_excluded"


class OnrecordHistoryProvider(HistoryProvider):
    """A history provider for `context_providers=[...]` of an agent; safe to share between tasks.

    With `load_messages=False` it only records, beside the provider that an agent loads from. What is
    refused raises an `OnrecordError`, and nothing of it is recorded.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "onrecord"

    def __init__(
        self,
        store: Store,
        source_id: str = DEFAULT_SOURCE_ID,
        *,
        load_messages: bool = True,
        store_inputs: bool = True,
        store_context_messages: bool = False,
        store_context_from: set[str] | None = None,
        store_outputs: bool = True,
        skip_excluded: bool = False,
    ) -> None:
        """Keep histories in a store; close that when done.

        `source_id` is part of a session's key, so that two providers of an agent keep apart.
        `skip_excluded` leaves out messages that compaction has marked; the others are as in the
        framework's own providers.
        """
        super().__init__(
            source_id,
            load_messages=load_messages,
            store_inputs=store_inputs,
            store_context_messages=store_context_messages,
            store_context_from=store_context_from,
            store_outputs=store_outputs,
        )
        self.skip_excluded = skip_excluded
        self._store = store
        self._sessions = Sessions(store, AGENT_FRAMEWORK.name)

    def conversation_key(self, session_id: str | None) -> str:
        """Return the key of the conversation that a session is: `Store` and the commands take it."""
        return self._sessions.key(*self._outer_id(session_id))

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return the messages of a session, in order."""
        session = self._session(session_id)
        loaded = await settled(self._store, session.load)
        messages = [_message_of(item) for item in loaded.items]
        if not self.skip_excluded:
            return messages
        return [each for each in messages if not each.additional_properties.get(_EXCLUDED)]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Record what is new of messages: a transcript that begins with what is there adds its end."""
        session = self._session(session_id)
        await settled(self._store, partial(_save, session, list(messages)))

    def _session(self, session_id: str | None) -> ItemSession:
        return self._sessions.session(*self._outer_id(session_id))

    def _outer_id(self, session_id: str | None) -> tuple[str, ...]:
        return (self.source_id,) if session_id is None else (self.source_id, session_id)


def _message_of(item: HeldItem) -> Message:
    """Return a message; CorruptRecord for an item that is none: another program recorded it."""
    try:
        return Message.from_dict(item.item)
    except (LookupError, TypeError, ValueError) as exc:
        raise CorruptRecord(f"the item at version {item.version} is no message") from exc


def _save(session: ItemSession, messages: list[Message]) -> None:
    if not messages:
        return

    def save() -> None:
        # Of a longer history the overlap is with its end, and one message more tells that it is longer.
        loaded = session.load(last=len(messages) + 1)
        existing = [_message_of(item) for item in loaded.items]
        new = [NewItem(each.to_dict()) for each in filter_new_messages(existing, messages)]
        session.record(new, expected_version=loaded.version)

    until_first(save)
